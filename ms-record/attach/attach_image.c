/* SPDX-License-Identifier: MIT
 * The image that is mapped into a running process.
 */
#include "attach_image.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"

#define PAGE 4096u

__asm__(".section .rodata\n"
	".balign 16\n"
	"attach_image_file:\n"
	".incbin \"" MS_IMAGE_FILE "\"\n"
	"attach_image_end:\n"
	".previous\n");
extern const uint8_t attach_image_file[], attach_image_end[];

static uint64_t page_up(uint64_t n)
{
	return (n + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* The build made the file, and the linker its order: only what this build could break is checked.
 */
static const Elf64_Phdr *headers(unsigned *n)
{
	const Elf64_Ehdr *e = (const void *)attach_image_file;
	*n = e->e_phnum;
	return (const void *)(attach_image_file + e->e_phoff);
}

static void lay_out(struct attach_image *im)
{
	unsigned n;
	const Elf64_Phdr *p = headers(&n);
	for (unsigned i = 0; i < n; i++) {
		if (p[i].p_type != PT_LOAD)
			continue;
		if (p[i].p_flags & PF_W)
			im->data = p[i].p_vaddr & ~(uint64_t)(PAGE - 1);
		im->bytes = page_up(p[i].p_vaddr + p[i].p_memsz);
	}
	im->content = ms_xcalloc(im->bytes, 1);
	for (unsigned i = 0; i < n; i++)
		if (p[i].p_type == PT_LOAD)
			memcpy(im->content + p[i].p_vaddr, attach_image_file + p[i].p_offset,
			       p[i].p_filesz);
}

/* Section headers tell where relocations, symbols and notes are. */
static const Elf64_Shdr *section(uint32_t type)
{
	const Elf64_Ehdr *e = (const void *)attach_image_file;
	const Elf64_Shdr *s = (const void *)(attach_image_file + e->e_shoff);
	for (unsigned i = 0; i < e->e_shnum; i++)
		if (s[i].sh_type == type)
			return &s[i];
	return NULL;
}

static void relocate(struct attach_image *im)
{
	const Elf64_Shdr *s = section(SHT_RELA);
	const Elf64_Rela *r = s ? (const void *)(attach_image_file + s->sh_offset) : NULL;
	for (size_t i = 0; s && i < s->sh_size / sizeof *r; i++) {
		uint64_t value = im->base + (uint64_t)r[i].r_addend;
		memcpy(im->content + r[i].r_offset, &value, sizeof value);
	}
}

static bool find_manifest(struct attach_image *im)
{
	const Elf64_Shdr *s = section(SHT_DYNSYM);
	if (!s)
		return false;
	const Elf64_Shdr *all =
		(const void *)(attach_image_file +
			       ((const Elf64_Ehdr *)(const void *)attach_image_file)->e_shoff);
	const Elf64_Sym *sym = (const void *)(attach_image_file + s->sh_offset);
	const char *names = (const char *)attach_image_file + all[s->sh_link].sh_offset;
	for (size_t i = 0; i < s->sh_size / sizeof *sym; i++)
		if (!strcmp(names + sym[i].st_name, MG_MANIFEST_NAME))
			im->manifest = sym[i].st_value;
	return im->manifest != 0;
}

/* The description of the note in [at, at + n), if it is a build-id of 20 bytes. */
static const uint8_t *build_id(const uint8_t *at, size_t n)
{
	Elf64_Nhdr h;
	if (n < sizeof h + 4 + 20)
		return NULL;
	memcpy(&h, at, sizeof h);
	bool good = h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && h.n_descsz == 20;
	return good ? at + sizeof h + 4 : NULL;
}

int attach_image_make(struct attach_image *im, uint64_t base, struct ms_err *err)
{
	const Elf64_Shdr *note = section(SHT_NOTE);
	*im = (struct attach_image){.base = base};
	lay_out(im);
	relocate(im);
	const uint8_t *id =
		note ? build_id(attach_image_file + note->sh_offset, note->sh_size) : NULL;
	if (!id || !im->data || !find_manifest(im)) {
		attach_image_free(im);
		return ms_err_set(err, "this ms-record is broken: the image built into it is not "
				       "usable; install MemScope anew");
	}
	memcpy(im->build_id, id, sizeof im->build_id);
	return 0;
}

void attach_image_free(struct attach_image *im)
{
	free(im->content);
	im->content = NULL;
}

int attach_image_is_ours(const uint8_t *head, size_t n)
{
	const Elf64_Shdr *note = section(SHT_NOTE);
	return note && note->sh_offset + note->sh_size <= n &&
	       !memcmp(head + note->sh_offset, attach_image_file + note->sh_offset, note->sh_size);
}

/* SPDX-License-Identifier: MIT
 * The guest image that is mapped into a running process.
 */
#include "attach_image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"

#define PAGE 4096u

__asm__(".section .rodata\n"
	".balign 16\n"
	"attach_image_file:\n"
	".incbin \"" MS_IMAGE_FILE "\"\n"
	".previous\n");
extern const uint8_t attach_image_file[];

/* Points at the ELF header of the embedded guest image. The image comes from our own build, so
 * checks look only for errors of that build. */
static const Elf64_Ehdr *const image_head = (const void *)attach_image_file;

/* Returns the address of the embedded file's content at `offset`. */
static const void *part(uint64_t offset)
{
	return attach_image_file + offset;
}

static void lay_out(struct attach_image *im)
{
	const Elf64_Phdr *p = part(image_head->e_phoff);
	for (unsigned i = 0; i < image_head->e_phnum; i++) {
		if (p[i].p_type != PT_LOAD)
			continue;
		if (p[i].p_flags & PF_W)
			im->data = p[i].p_vaddr & ~(uint64_t)(PAGE - 1);
		im->bytes = (p[i].p_vaddr + p[i].p_memsz + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	}
	im->content = ms_xcalloc(im->bytes, 1);
	for (unsigned i = 0; i < image_head->e_phnum; i++)
		if (p[i].p_type == PT_LOAD)
			memcpy(im->content + p[i].p_vaddr, part(p[i].p_offset), p[i].p_filesz);
}

/* Returns the first section of a type (relocations, symbols or notes); NULL = none. */
static const Elf64_Shdr *section(uint32_t type)
{
	const Elf64_Shdr *s = part(image_head->e_shoff);
	for (unsigned i = 0; i < image_head->e_shnum; i++)
		if (s[i].sh_type == type)
			return &s[i];
	return NULL;
}

static void relocate(struct attach_image *im)
{
	const Elf64_Shdr *s = section(SHT_RELA);
	const Elf64_Rela *r = s ? part(s->sh_offset) : NULL;
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
	const Elf64_Shdr *all = part(image_head->e_shoff);
	const Elf64_Sym *sym = part(s->sh_offset);
	const char *names = part(all[s->sh_link].sh_offset);
	for (size_t i = 0; i < s->sh_size / sizeof *sym; i++)
		if (!strcmp(names + sym[i].st_name, MG_MANIFEST_NAME))
			im->manifest = sym[i].st_value;
	return im->manifest != 0;
}

/* Tells whether the guest image's note section begins with a build-id, by which an image is
 * recognized. */
static bool has_build_id(void)
{
	const Elf64_Shdr *note = section(SHT_NOTE);
	const Elf64_Nhdr *h = note ? part(note->sh_offset) : NULL;
	return h && h->n_type == NT_GNU_BUILD_ID && h->n_descsz == 20;
}

int attach_image_make(struct attach_image *im, uint64_t base, struct ms_err *err)
{
	*im = (struct attach_image){.base = base};
	lay_out(im);
	relocate(im);
	if (!has_build_id() || !im->data || !find_manifest(im)) {
		attach_image_free(im);
		return ms_err_set(err, "this ms-record is broken: the image built into it is not "
				       "usable; reinstall MemScope");
	}
	return 0;
}

void attach_image_free(struct attach_image *im)
{
	free(im->content);
	im->content = NULL;
}

bool attach_image_is_ours(const uint8_t *first, size_t n)
{
	const Elf64_Shdr *note = section(SHT_NOTE);
	return note && note->sh_offset + note->sh_size <= n &&
	       !memcmp(first + note->sh_offset, part(note->sh_offset), note->sh_size);
}

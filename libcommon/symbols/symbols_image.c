/* SPDX-License-Identifier: MIT
 * Lays sections out as an ELF file in memory and opens it with libdw.
 *
 *   header | contents of section 1, 2, ... | their names | section headers
 */
#include "symbols_image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"

/* More is no debug information of one unit or program, but a claim. */
#define IMAGE_MAX (UINT64_C(8) << 30)

static uint64_t aligned(uint64_t n)
{
	return (n + 15) & ~UINT64_C(15);
}

/* Bytes of the whole, 0 = too large. */
static uint64_t size_of(const struct ms_image_section *s, unsigned n)
{
	uint64_t size = aligned(sizeof(Elf64_Ehdr)) + (n + 2) * sizeof(Elf64_Shdr) + 64;
	for (unsigned i = 0; i < n; i++) {
		if (s[i].size > IMAGE_MAX)
			return 0;
		size += aligned(s[i].size) + strlen(s[i].name) + 1;
	}
	return size > IMAGE_MAX ? 0 : size;
}

static void put_header(uint8_t *image, uint64_t headers, unsigned count, uint16_t machine)
{
	Elf64_Ehdr h = {.e_type = ET_REL,
			.e_machine = machine,
			.e_version = EV_CURRENT,
			.e_shoff = headers,
			.e_ehsize = sizeof h,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = (Elf64_Half)count,
			.e_shstrndx = (Elf64_Half)(count - 1)};
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	memcpy(image, &h, sizeof h);
}

/* Fills `image`, of size_of bytes. */
static void lay_out(uint8_t *image, const struct ms_image_section *s, unsigned n, uint16_t machine)
{
	Elf64_Shdr *h = ms_xcalloc(n + 2, sizeof *h);
	unsigned count = 1;
	uint64_t at = aligned(sizeof(Elf64_Ehdr)), name = 1;
	for (unsigned i = 0; i < n; i++) {
		if (!s[i].size)
			continue;
		h[count++] = (Elf64_Shdr){.sh_name = (Elf64_Word)name,
					  .sh_type = SHT_PROGBITS,
					  .sh_offset = at,
					  .sh_size = s[i].size,
					  .sh_addralign = 1};
		if (!s[i].from)
			memcpy(image + at, s[i].data, s[i].size);
		else if (!ms_elf_unpack(s[i].from, image + at))
			h[count - 1].sh_type = SHT_NOBITS;
		at += aligned(s[i].size);
		name += strlen(s[i].name) + 1;
	}
	h[count++] = (Elf64_Shdr){.sh_name = 0,
				  .sh_type = SHT_STRTAB,
				  .sh_offset = at,
				  .sh_size = name,
				  .sh_addralign = 1};
	char *names = (char *)image + at + 1;
	for (unsigned i = 0; i < n; i++)
		if (s[i].size)
			names = stpcpy(names, s[i].name) + 1;
	at = aligned(at + name);
	memcpy(image + at, h, count * sizeof *h);
	put_header(image, at, count, machine);
	free(h);
}

bool ms_image_make(struct ms_image *image, const struct ms_image_section *s, unsigned n,
		   uint16_t machine)
{
	*image = (struct ms_image){.size = size_of(s, n)};
	if (image->size)
		image->data = calloc(1, image->size);
	if (!image->data)
		return false;
	lay_out(image->data, s, n, machine);
	image->elf = elf_memory((char *)image->data, image->size);
	if (!image->elf)
		ms_image_close(image);
	return image->elf != NULL;
}

bool ms_image_open(struct ms_image *image, const struct ms_image_section *s, unsigned n,
		   uint16_t machine)
{
	if (!ms_image_make(image, s, n, machine))
		return false;
	image->dw = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
	if (!image->dw)
		ms_image_close(image);
	return image->dw != NULL;
}

void ms_image_close(struct ms_image *image)
{
	dwarf_end(image->dw);
	elf_end(image->elf);
	free(image->data);
	*image = (struct ms_image){0};
}

/* SPDX-License-Identifier: MIT
 * Creates the headers of an ELF file in memory. Contents are not copied: libelf stores the address
 * and size of each section's contents, which are set here.
 */
#include "symbols_image.h"

#include <string.h>

void ms_section_replace(Elf *elf, size_t section, struct ms_bytes contents)
{
	Elf_Scn *scn = elf_getscn(elf, section);
	Elf64_Shdr *h = scn ? elf64_getshdr(scn) : NULL;
	if (!h)
		return;
	h->sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
	/* libdw uses one or the other, depending on its version */
	Elf_Data *of[] = {elf_rawdata(scn, NULL), elf_getdata(scn, NULL)};
	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		if (!of[i])
			continue;
		of[i]->d_buf = (void *)(uintptr_t)contents.data;
		of[i]->d_size = contents.size;
	}
}

bool ms_image_open(struct ms_image *image, const struct ms_bytes of[MS_PART_COUNT],
		   uint16_t machine)
{
	enum { NAMES = MS_PART_COUNT + 1 };
	struct ms_image_file *f = &image->file;
	*image = (struct ms_image){
		.file.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					  ELFDATA2LSB, EV_CURRENT},
			      .e_type = ET_REL,
			      .e_machine = machine,
			      .e_version = EV_CURRENT,
			      .e_shoff = offsetof(struct ms_image_file, sections),
			      .e_ehsize = sizeof f->head,
			      .e_shentsize = sizeof *f->sections,
			      .e_shnum = NAMES + 1,
			      .e_shstrndx = NAMES},
		.file.sections[NAMES] = {.sh_type = SHT_STRTAB,
					 .sh_offset = offsetof(struct ms_image_file, names),
					 .sh_size = sizeof f->names}};
	for (unsigned i = 0; i < MS_PART_COUNT; i++) {
		if (!of[i].size)
			continue;
		strcpy(f->names[i + 1], ms_part_names[i]);
		f->sections[i + 1] = (Elf64_Shdr){.sh_name = (i + 1) * (Elf64_Word)sizeof *f->names,
						  .sh_type = SHT_PROGBITS,
						  .sh_size = 1};
	}
	image->elf = elf_memory((char *)f, sizeof *f);
	for (unsigned i = 0; i < MS_PART_COUNT; i++)
		if (of[i].size)
			ms_section_replace(image->elf, i + 1, of[i]);
	image->dw = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
	if (!image->dw)
		ms_image_close(image);
	return image->dw != NULL;
}

void ms_image_close(struct ms_image *image)
{
	dwarf_end(image->dw);
	elf_end(image->elf);
	image->dw = NULL;
	image->elf = NULL;
}

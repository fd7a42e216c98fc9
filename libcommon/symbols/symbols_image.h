/* SPDX-License-Identifier: MIT
 * An ELF file made in memory, for libdw to read a split unit from: it opens whole files only, and
 * what belongs together is in two of them. Part of the symbol module.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <elf.h>
#include <elfutils/libdw.h>

#include "symbols_package.h"

/* May not be moved while it is open. */
struct ms_image {
	struct ms_image_file {
		Elf64_Ehdr head;
		Elf64_Shdr sections[MS_PART_COUNT + 2]; /* none; the parts; names */
		char names[MS_PART_COUNT + 1][24];
	} file;
	Elf *elf;
	Dwarf *dw;
};

/* Makes a file of those parts that have contents, which are borrowed, and opens it. False: libdw
 * refuses it, and there is nothing to close. */
bool ms_image_open(struct ms_image *image, const struct ms_bytes of[MS_PART_COUNT],
		   uint16_t machine);
void ms_image_close(struct ms_image *image);

/* Gives a section of an open ELF file other contents, which are borrowed: libelf hands out these
 * from then on. */
void ms_section_replace(Elf *elf, size_t section, struct ms_bytes contents);

/* SPDX-License-Identifier: MIT
 * An ELF file created in memory, from which libdw reads a split unit: libdw opens whole files only,
 * and a split unit is spread over two. Part of the symbol module.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <elf.h>
#include <elfutils/libdw.h>

#include "symbols_package.h"

/* Holds an ELF file made in memory for libdw. Must not be moved while it is open. */
struct ms_image {
	struct ms_image_file {
		Elf64_Ehdr head;
		Elf64_Shdr sections[MS_PART_COUNT + 2]; /* the null section, one section per part,
							   the section names */
		char names[MS_PART_COUNT + 1][24];
	} file;
	Elf *elf;
	Dwarf *dw;
};

/* Creates a file from the parts that have contents, which are borrowed, and opens it. Returns
 * false, with nothing to close, if libdw refuses it. */
bool ms_image_open(struct ms_image *image, const struct ms_bytes of[MS_PART_COUNT],
		   uint16_t machine);
void ms_image_close(struct ms_image *image);

/* Replaces the contents of a section of an open ELF file by borrowed ones, which libelf then
 * returns. */
void ms_section_replace(Elf *elf, size_t section, struct ms_bytes contents);

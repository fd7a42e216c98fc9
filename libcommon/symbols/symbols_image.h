/* SPDX-License-Identifier: MIT
 * An ELF file made in memory of sections found elsewhere, for libdw to read: it opens whole files
 * only, and not all that is in them. Part of the symbol module.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "symbols_elf.h"

struct ms_image_section {
	const char *name;
	const uint8_t *data;
	uint64_t size;
	struct ms_elf_section *from; /* of a file, decompressed, instead of `data` */
};

/* Sections are copied, but for damaged ones. */
struct ms_image {
	uint8_t *data; /* NULL = none */
	uint64_t size;
	Elf *elf;
	Dwarf *dw;
};

/* Makes an image of `n` sections, of which those without bytes are left out, and opens it as ELF.
 * False: it is too large, and there is nothing to close. */
bool ms_image_make(struct ms_image *image, const struct ms_image_section *s, unsigned n,
		   uint16_t machine);
/* The same, opened as DWARF too. */
bool ms_image_open(struct ms_image *image, const struct ms_image_section *s, unsigned n,
		   uint16_t machine);
void ms_image_close(struct ms_image *image);

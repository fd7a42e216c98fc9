/* SPDX-License-Identifier: MIT
 * An ELF file of 64 bits, mapped to be read. What it says may be anything: nothing is read outside
 * of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/elf_reader.h"

struct elfmap {
	const uint8_t *file; /* NULL = there is none */
	uint64_t bytes;
	struct ms_elf_reader elf; /* its headers, those of sections too */
};

/* Symbols, and their names. */
struct elfmap_table {
	const Elf64_Sym *symbols;
	size_t count;
	const char *strings; /* ends with a NUL */
	uint64_t bytes;
	bool dynamic; /* they are those for the linker */
};

/* Maps the file and keeps nothing of `fd`, which may be -1. False: it is no such file, or its
 * sections are not in it; there is nothing to close. */
bool elfmap_open(struct elfmap *m, int fd);
void elfmap_close(struct elfmap *m);
/* NULL = it is not all in the file. */
const void *elfmap_part(const struct elfmap *m, uint64_t offset, uint64_t bytes);
/* The table of symbols that section `i` is; false = it is none. */
bool elfmap_table(const struct elfmap *m, unsigned i, struct elfmap_table *t);
/* "" = it has none. */
static inline const char *elfmap_name(const struct elfmap_table *t, const Elf64_Sym *y)
{
	return y->st_name < t->bytes ? t->strings + y->st_name : "";
}

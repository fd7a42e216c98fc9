/* SPDX-License-Identifier: MIT
 * Maps a 64-bit ELF file for reading. The file is not trusted: nothing outside of it is read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/elf_reader.h"

struct elfmap {
	const uint8_t *file; /* NULL = no file */
	uint64_t bytes;
	struct ms_elf_reader elf; /* the file's headers, including section headers */
};

/* Holds a symbol table and the names of its symbols. */
struct elfmap_table {
	const Elf64_Sym *symbols;
	size_t count;
	const char *strings; /* names; the last byte is a NUL */
	uint64_t bytes;
	bool dynamic; /* the dynamic symbol table, not the full one */
};

/* Maps the file. `fd` may be -1 (then it fails), and may be closed afterwards. Returns false if the
 * file is not valid ELF or its section headers are not within it; then there is nothing to
 * close. */
bool elfmap_open(struct elfmap *m, int fd);
/* Does the first half of that: maps the file, of any kind, without reading it. Returns false if it
 * cannot be mapped. */
bool elfmap_map(struct elfmap *m, int fd);
/* Does the second half, of a mapped file. */
bool elfmap_read(struct elfmap *m);
void elfmap_close(struct elfmap *m);
/* Returns the address of a part of the file, or NULL if the part is not wholly inside the file. */
const void *elfmap_part(const struct elfmap *m, uint64_t offset, uint64_t bytes);
/* Describes section `i` in *t if it is a symbol table. Returns false if it is not. */
bool elfmap_table(const struct elfmap *m, unsigned i, struct elfmap_table *t);
/* Returns the name of a symbol; "" = it has none. */
static inline const char *elfmap_name(const struct elfmap_table *t, const Elf64_Sym *y)
{
	return y->st_name < t->bytes ? t->strings + y->st_name : "";
}

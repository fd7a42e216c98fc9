/* SPDX-License-Identifier: MIT
 * Finds malloc and free among the symbols of an ELF file.
 */
#pragma once

#include <stdbool.h>

struct elffile_malloc {
	bool table;    /* it has a full symbol table, not only a dynamic one */
	bool malloc;   /* it defines malloc, perhaps without free */
	bool defined;  /* it defines malloc and free */
	bool exported; /* its dynamic symbol table has malloc and free */
	bool wanted;   /* it imports malloc */
	bool checked;  /* its allocator is a sanitizer's */
};
/* Fills in `m` from the symbols of an ELF file. Returns false if it cannot be read. */
bool elffile_malloc(int fd, struct elffile_malloc *m);

/* SPDX-License-Identifier: MIT
 * Finds malloc and free among the symbols of an ELF file.
 */
#pragma once

#include <stdbool.h>

struct elffile_malloc {
	bool table;    /* the file has a full symbol table, not only a dynamic one */
	bool malloc;   /* malloc is defined in it; a program may never call free */
	bool defined;  /* malloc and free are defined in it */
	bool exported; /* malloc and free are in its dynamic symbol table */
	bool wanted;   /* it imports malloc */
	bool checked;  /* its allocator is a sanitizer's */
};
/* Fills in `m` from the symbols of an ELF file. Returns false if it cannot be read. */
bool elffile_malloc(int fd, struct elffile_malloc *m);

/* SPDX-License-Identifier: MIT
 * Finds malloc and free among the symbols of an ELF file.
 */
#pragma once

#include <stdbool.h>

struct elffile_malloc {
	bool table;    /* the file has a full symbol table, not only a dynamic one */
	bool malloc;   /* the file defines malloc, perhaps without free */
	bool defined;  /* the file defines malloc and free */
	bool exported; /* the dynamic symbol table defines malloc and free */
	bool wanted;   /* the file imports malloc */
	bool checked;  /* the file's allocator is a sanitizer's */
};
/* Fills in `m` from the symbols of an ELF file. Returns false if it cannot be read. */
bool elffile_malloc(int fd, struct elffile_malloc *m);

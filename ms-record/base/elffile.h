/* SPDX-License-Identifier: MIT
 * What an ELF file's symbols say of malloc and free.
 */
#pragma once

#include <stdbool.h>

struct elffile_malloc {
	bool table;    /* it has a table of all symbols, not only of those for the linker */
	bool malloc;   /* that is defined in it; a program may never call free */
	bool defined;  /* both are defined in it, */
	bool exported; /* and the linker sees them */
	bool wanted;   /* it takes malloc from elsewhere */
	bool checked;  /* its allocator is a sanitizer's */
};
/* False when there is nothing to be read. */
bool elffile_malloc(int fd, struct elffile_malloc *m);

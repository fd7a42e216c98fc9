/* SPDX-License-Identifier: MIT
 * Symbols of a mapped file, and if it is stripped those of its debug file.
 */
#pragma once

#include <stdbool.h>

#include "ms-record/base/elfmap.h"

struct attach_map;

#define HOOK_TABLES 3u

struct hook_symbols {
	struct elfmap file, debug;               /* file of the module, and its debug file; all 0 if
						    absent */
	struct elfmap_table tables[HOOK_TABLES]; /* tables of both files */
	unsigned n;
	bool stripped; /* only the dynamic linker's symbols are left */
};

/* Opens a mapped file of a process and reads its symbols. `proc`: folder /proc/PID. Returns false
 * if it cannot be opened or is no ELF file; nothing is open then. */
bool hook_symbols_open(struct hook_symbols *y, int proc, const struct attach_map *map);
/* Reads the symbols of an open file as hook_symbols_open does, but ignores a separate debug file.
 * `fd` may be -1, which fails. */
bool hook_symbols_open_file(struct hook_symbols *y, int fd);
void hook_symbols_close(struct hook_symbols *y);
/* Tells whether any table has a name that ends with `end`. Fast: only the string tables are
 * searched. */
bool hook_symbols_mention(const struct hook_symbols *y, const char *end);

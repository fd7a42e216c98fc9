/* SPDX-License-Identifier: MIT
 * The symbols of a mapped file: its own, and where it is stripped those of its debug file.
 */
#pragma once

#include <stdbool.h>

#include "ms-record/base/elfmap.h"

struct attach_map;

#define HOOK_TABLES 3u

struct hook_symbols {
	struct elfmap file, debug;               /* without a file or debug file: all 0 */
	struct elfmap_table tables[HOOK_TABLES]; /* of both */
	unsigned n;
	bool stripped; /* there are no symbols but those for the linker */
};

/* Opens the file that is mapped there, in the process whose folder of /proc is `proc`. False: it
 * cannot be had, or is no ELF file; there is nothing to close. */
bool hook_symbols_open(struct hook_symbols *y, int proc, const struct attach_map *map);
/* Reads a file that is open as hook_symbols_open does, without its debug file; `fd` may be -1. */
bool hook_symbols_open_file(struct hook_symbols *y, int fd);
void hook_symbols_close(struct hook_symbols *y);
/* Has any of the tables a name that ends with that? Quick: only texts are searched. */
bool hook_symbols_mention(const struct hook_symbols *y, const char *end);

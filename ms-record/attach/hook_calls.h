/* SPDX-License-Identifier: MIT
 * Finds which functions a function reaches through calls and jumps to constant addresses in its
 * code. Calls through pointers are not followed. Files are not trusted: nothing is read outside
 * their bounds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ms-record/base/elfmap.h"

/* Holds the file of a module and its symbol tables, which may come from its debug file. */
struct hook_code {
	const struct elfmap *file;
	const struct elfmap_table *tables;
	unsigned n;
};

/* Tells whether the search is for a function called `name`. `imported`: the function is defined in
 * another module. */
typedef bool hook_calls_fn(const void *arg, const char *name, bool imported);

#define HOOK_CALLS_DEEP 64u
/* Tells whether the function at `entry` (an address in the file) calls or jumps to a function that
 * `is` accepts, directly or through fewer than `depth` other functions; linkage table entries do
 * not count as functions. Also true if code cannot be decoded. */
bool hook_calls(const struct hook_code *c, uint64_t entry, unsigned depth, hook_calls_fn *is,
		const void *arg);
/* Returns a bit set of the first four arguments of the function at `entry` (bit 0 = first
 * argument): those that the function reads, or passes on unchanged, through at most `depth` calls,
 * to one that reads them. */
unsigned hook_arguments(const struct hook_code *c, uint64_t entry, unsigned depth);
/* If a function consists of one jump to code that can be hooked, returns the jump's target, because
 * the module itself often calls the target; else returns the function's own address. */
uint64_t hook_begins(const struct hook_code *c, const Elf64_Sym *y);
/* Stores up to `most` addresses that the function calls or jumps to outside of itself. Returns
 * their number. */
unsigned hook_callees(const struct hook_code *c, const Elf64_Sym *y, uint64_t *v, unsigned most);

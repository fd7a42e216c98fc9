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

/* Tells whether a function of that name is searched for. `imported`: defined in another module. */
typedef bool hook_calls_fn(const void *arg, const char *name, bool imported);

#define HOOK_CALLS_DEEP 64u
/* Tells whether the function at `entry`, an address of the file, reaches a searched function
 * through fewer than `depth` others, linkage table entries not counted. Also true if code cannot be
 * decoded. */
bool hook_calls(const struct hook_code *c, uint64_t entry, unsigned depth, hook_calls_fn *is,
		const void *arg);
/* Returns a bit, from the lowest on, for each of the first four arguments that is read by the
 * function at `entry` or by one that receives it unchanged, through at most `depth` others. */
unsigned hook_arguments(const struct hook_code *c, uint64_t entry, unsigned depth);
/* Returns the target of a function that consists of one jump, if that can be hooked, else the
 * function's own address: the module itself often calls the target. */
uint64_t hook_begins(const struct hook_code *c, const Elf64_Sym *y);
/* Stores the first `most` addresses outside the function that it calls or jumps to. Returns their
 * number. */
unsigned hook_callees(const struct hook_code *c, const Elf64_Sym *y, uint64_t *v, unsigned most);

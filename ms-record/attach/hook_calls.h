/* SPDX-License-Identifier: MIT
 * Which functions a function comes to, read from its code: what it calls or jumps to, and what that
 * calls, as far as the addresses stand in the code. Calls through pointers are not followed. What a
 * file says may be anything: nothing is read outside of it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ms-record/base/elfmap.h"

/* The file of a module, and its tables of symbols, which may be of another file. */
struct hook_code {
	const struct elfmap *file;
	const struct elfmap_table *tables;
	unsigned n;
};

/* Is a function of that name one that is looked for? imported: of another module. */
typedef bool hook_calls_fn(const void *arg, const char *name, bool imported);

#define HOOK_CALLS_DEEP 64u
/* Does the function at `entry`, an address of the file, come to one of these, over less than `depth`
 * others, entries of linkage tables not counted? Also true of code that cannot be decoded. */
bool hook_calls(const struct hook_code *c, uint64_t entry, unsigned depth, hook_calls_fn *is,
		const void *arg);
/* Returns a bit, from the lowest on, for each of the first four arguments that the function at
 * `entry` reads, or that a function does that it hands it on to, over at most `depth` others. */
unsigned hook_arguments(const struct hook_code *c, uint64_t entry, unsigned depth);
/* Returns where the code of a function begins that is nothing but a jump there, if that can be hooked, or else
 * its own address: what the module itself calls is often what stands behind the jump. */
uint64_t hook_begins(const struct hook_code *c, const Elf64_Sym *y);
/* The first `most` addresses out of the function that it calls or jumps to. How many. */
unsigned hook_callees(const struct hook_code *c, const Elf64_Sym *y, uint64_t *v, unsigned most);

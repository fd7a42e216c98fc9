/* SPDX-License-Identifier: MIT
 * Names of functions of allocators, each with what its arguments mean, as --hook says it.
 */
#pragma once

struct hook_name {
	const char *name, *arguments;
};

/* Behind any prefix; malloc, free, calloc and realloc first. */
extern const struct hook_name hook_prefixed_names[];
extern const unsigned hook_prefixed_count;
/* C++'s operators new and delete, as a symbol has them. */
extern const struct hook_name hook_operators[];
extern const unsigned hook_operator_count;
/* Returns the description of a function of mimalloc, tcmalloc, jemalloc or mozjemalloc by its whole
 * name; NULL = it is none. */
const char *hook_known_arguments(const char *name);

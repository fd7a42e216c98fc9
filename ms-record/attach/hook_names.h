/* SPDX-License-Identifier: MIT
 * Names of allocator functions, each with its parameters in the syntax of --hook.
 */
#pragma once

struct hook_name {
	const char *name, *arguments;
};

/* Lists the functions of a family, without the prefix; malloc, free, calloc and realloc come
 * first. */
extern const struct hook_name hook_prefixed_names[];
extern const unsigned hook_prefixed_count;
/* Lists C++'s operators new and delete by their mangled names. */
extern const struct hook_name hook_operators[];
extern const unsigned hook_operator_count;
/* Returns the parameters of a function of mimalloc, tcmalloc, jemalloc or mozjemalloc, by its full
 * name; NULL = no such function. */
const char *hook_known_arguments(const char *name);

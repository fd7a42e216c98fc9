/* SPDX-License-Identifier: MIT
 * Shortens demangled names for a screen.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ms_arena;

/* Shortens a demangled C++ or Rust name: no parameters, no return type, and as many template
 * arguments as fit in 48 columns. Other names are returned unchanged. */
const char *ms_name_short(struct ms_arena *a, const char *function);

/* Fits a name, which ms_name_short may have shortened before, into `columns` of a terminal: with
 * its template arguments, else with fewer ("Map<string, ...>::put"), else without its beginning
 * ("...::put"). `ascii`: ".." marks omissions. */
const char *ms_name_fit(struct ms_arena *a, const char *function, size_t columns, bool ascii);

/* Returns the width of a name without its template arguments, in columns. */
size_t ms_name_least(struct ms_arena *a, const char *function, bool ascii);

/* Returns the index of the last part of a name, after "::" or "/". */
size_t ms_name_last(const char *function);

/* Fits the names of rows below each other, in place. Different names that would look the same are
 * shown with their differing parts, if there is room. */
void ms_names_fit(struct ms_arena *a, const char **v, size_t n, size_t columns, bool ascii);

/* Describes the part in which `n` names differ (n > 0). `same` and `tail`: bytes to omit at the
 * start and end of each name, in whole words; `all_same` and `all_tail`: bytes that are equal in
 * all names. `arguments`: the part lies within template arguments. */
struct ms_names_difference {
	size_t same, tail;
	size_t all_same, all_tail;
	bool arguments;
};
struct ms_names_difference ms_names_difference(const char *const *v, size_t n);
/* Returns the part of `name` in which the names differ: "<...Quote>". */
const char *ms_name_difference(struct ms_arena *a, const char *name, struct ms_names_difference d,
			       bool ascii);

/* SPDX-License-Identifier: MIT
 * Demangled names, short enough for a screen.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ms_arena;

/* A demangled C++ or Rust name without parameters and return type, and with as many of its template
 * arguments as 48 columns have room for. Other names come back as they are. */
const char *ms_name_short(struct ms_arena *a, const char *function);

/* The most of a name that fits in `columns` of a terminal, which ms_name_short may have shortened
 * before: with its template arguments, then with fewer of them ("Map<string, ...>::put"), then cut
 * at its left, as a path is ("...::put"). `ascii`: ".." marks what is left out. */
const char *ms_name_fit(struct ms_arena *a, const char *function, size_t columns, bool ascii);

/* The columns of a name that is whole but for its template arguments. */
size_t ms_name_least(struct ms_arena *a, const char *function, bool ascii);

/* Returns the index at which the last part of a name begins, behind "::" or "/". */
size_t ms_name_last(const char *function);

/* Fits the names of rows that stand below each other, in place; names that are different and would
 * read the same are shown with what tells them apart, where there is room. */
void ms_names_fit(struct ms_arena *a, const char **v, size_t n, size_t columns, bool ascii);

/* The part in which `n` names differ, at least one: bytes at their start and at their end that are
 * left out, so that words are whole; all that are the same; and whether the part is one of template
 * arguments. */
struct ms_names_difference {
	size_t same, tail;
	size_t all_same, all_tail;
	bool arguments;
};
struct ms_names_difference ms_names_difference(const char *const *v, size_t n);
/* "<...Quote>": that part of one of them. */
const char *ms_name_difference(struct ms_arena *a, const char *name, struct ms_names_difference d,
			       bool ascii);

/* SPDX-License-Identifier: MIT
 * Chooses and orders the processes to show: filtered, sorted, as a tree or in groups.
 */
#pragma once

#include <regex.h>
#include <stdbool.h>

#include "columns.h"
#include "ms-top/proc/system.h"

enum rows_view { ROWS_PROCESSES, ROWS_GROUPS, ROWS_TREE, ROWS_VIEWS };
enum rows_group { ROWS_BY_EXECUTABLE, ROWS_BY_USER, ROWS_BY_CGROUP, ROWS_GROUPINGS };

/* Holds a pattern: a regular expression, or plain text if it is not a valid one. */
#define PATTERN_ROOM 128
struct pattern {
	char text[PATTERN_ROOM];
	regex_t regex;
	bool has_regex;
	uint32_t serial; /* changes with every pattern_set */
};
void pattern_set(struct pattern *p, const char *text);
/* Tells whether a process matches; an empty pattern matches everything. */
bool pattern_matches(const struct pattern *p, const struct system *s,
		     const struct system_process *row);
bool pattern_matches_text(const struct pattern *p, const char *text);

struct rows {
	enum rows_view view;
	enum rows_group group;
	enum column_id sort;
	bool reverse, kernel;
	struct pattern filter;

	struct system_process **v; /* the result of rows_make */
	uint64_t *ids;
	unsigned char *depth; /* depth in the tree; 1 for members of a group */
	size_t n, room;
	size_t hidden; /* number of rows hidden by the filter */

	struct system_process **groups; /* all groups so far, each with its history */
	size_t group_n, group_cap;
	struct system_process **scratch; /* scratch memory for sorting */
	uint32_t *first, *next;          /* for the tree: a row's first child and next sibling */
	bool *placed;
};

/* Rebuilds the rows. `fresh`: the system was updated since the last call, so groups get a new
 * sample. */
void rows_make(struct rows *r, struct system *s, bool fresh);
void rows_free(struct rows *r);

/* SPDX-License-Identifier: MIT
 * Which processes are shown, and in what order: filtered, sorted, as a tree or in groups.
 */
#pragma once

#include <regex.h>
#include <stdbool.h>

#include "columns.h"
#include "ms-top/proc/system.h"

enum rows_view { ROWS_PROCESSES, ROWS_GROUPS, ROWS_TREE, ROWS_VIEWS };
enum rows_group { ROWS_BY_EXECUTABLE, ROWS_BY_USER, ROWS_BY_CGROUP, ROWS_GROUPINGS };

/* A pattern: a regular expression, or plain text where it is none. */
#define PATTERN_ROOM 128
struct pattern {
	char text[PATTERN_ROOM];
	regex_t regex;
	bool has_regex;
	uint32_t serial; /* other after every pattern_set */
};
void pattern_set(struct pattern *p, const char *text);
/* An empty one matches everything. */
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
	unsigned char *depth; /* in the tree; of members of a group 1 */
	size_t n, room;
	size_t hidden; /* by the filter */

	struct system_process **groups; /* every group that there was, with its own history */
	size_t group_n, group_cap;
	struct system_process **scratch; /* for sorting */
	uint32_t *first, *next;          /* for the tree: a row's first child and next sibling */
	bool *placed;
};

/* Makes the rows anew. `fresh`: the system was looked at since, so that groups have a new value. */
void rows_make(struct rows *r, struct system *s, bool fresh);
void rows_free(struct rows *r);

/* SPDX-License-Identifier: MIT
 * Heaps of the program's own beside malloc's, as a table and in a line.
 */
#include "heap_table.h"

#include "names.h"
#include "say.h"

#include "ms-report/model/heaps.h"

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)
#define LINE_MOST 2u
#define NAMES_MOST 8u

enum { NAME, LIVE, BLOCKS, PEAK, ALLOCATED, ALLOCATIONS, FREES, BACKING, UNUSED, COLUMNS };

static const struct column columns[COLUMNS] = {
	[NAME] = {"heap", "heap", CELL_TEXT, .sum = false},
	[LIVE] = {"live", "live_bytes", CELL_SIZE, .sum = true},
	[BLOCKS] = {"blocks", "live_blocks", CELL_COUNT, .sum = true},
	[PEAK] = {"at the peak", "peak_bytes", CELL_SIZE, .sum = true},
	[ALLOCATED] = {"allocated", "allocated_bytes", CELL_SIZE, .sum = true},
	[ALLOCATIONS] = {"allocations", "allocations", CELL_COUNT, .sum = true, .optional = true},
	[FREES] = {NULL, "frees", CELL_COUNT, .sum = true},
	[BACKING] = {"backing", "backing_bytes", CELL_SIZE, .sum = false},
	[UNUSED] = {"of it unused", "unused_bytes", CELL_SIZE, .sum = false},
};

struct table table_heaps(struct model *m, size_t limit)
{
	struct table t = {.columns = columns,
			  .column_count = COLUMNS,
			  .title = m->est ? "HEAPS (estimated)" : "HEAPS",
			  .empty = "no site in this snapshot",
			  .at = true};
	struct heap *v;
	size_t n = heaps_read(m, &v);
	for (size_t i = 0; i < n; i++) {
		struct cell *c = table_row(m, &t, n)->cells;
		c[NAME].s = v[i].name;
		c[LIVE].n = v[i].live;
		c[BLOCKS].n = v[i].blocks;
		c[PEAK].n = v[i].peak;
		c[ALLOCATED].n = v[i].allocated;
		c[ALLOCATIONS].n = v[i].allocations;
		c[FREES].n = v[i].frees;
		c[BACKING].n = v[i].backing;
		c[UNUSED].n = v[i].unused;
	}
	table_finish(m, &t, -1, limit, "heaps", NULL);
	return t;
}

const char *heaps_line(struct model *m)
{
	struct heap *v;
	size_t n = heaps_read(m, &v);
	const char *s = "";
	if (n < 2)
		return NULL;
	for (size_t i = 0; i < n && i < LINE_MOST; i++) {
		const char *behind = v[i].backing == UNKNOWN || !v[i].backing
					     ? ""
					     : SAY(" of %s", say_size(m, v[i].backing));
		s = SAY("%s%s%s %s%s", s, i ? ", " : "",
			name_cut(&m->arena, name_clean(&m->arena, v[i].name, false), 24, false),
			say_size(m, v[i].live), behind);
	}
	return n > LINE_MOST ? SAY("%s, %s more: ms-report --heaps", s, say_count(m, n - LINE_MOST))
			     : SAY("%s: ms-report --heaps", s);
}

const char *heaps_missing(struct model *m)
{
	const char *v[NAMES_MOST], *s = NULL;
	size_t n = heaps_hooks_missing(m, v, NAMES_MOST);
	for (size_t i = 0; i < n; i++) {
		const char *name =
			name_cut(&m->arena, name_clean(&m->arena, v[i], false), 60, false);
		s = s ? SAY("%s, '%s'", s, name) : SAY("'%s'", name);
	}
	return s;
}

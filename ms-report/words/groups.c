/* SPDX-License-Identifier: MIT
 * Allocations in groups: by thread, by size, and sites by function, file, module or call stack.
 */
#include "table.h"

#include "names.h"

#include "libcommon/base/lookup.h"
#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

/* Adds to a title, with several processes, that each process has its own peak at its own time. */
static const char *own_peaks(struct model *m, const char *title)
{
	return m->processes.n < 2
		       ? title
		       : ms_arena_printf(&m->arena, "%s; peaks are each process's own", title);
}

/* Makes a column of a figure whose rows add up to a figure of the model. */
#define SUM(type, member, all) .sum = true, COLUMN_OF(type, member), COLUMN_ALL(all)

/* ---- threads --------------------------------------------------------------------------------- */

enum { THREAD_TID = 1, THREAD_PROCESS = 12, THREAD_ID = 13, THREAD_COLUMNS };
static const struct column thread_columns[2][THREAD_COLUMNS] = {
#define PARTS(title, name, ...)                                                                    \
	{                                                                                          \
		{title, name, CELL_TEXT, .sum = false}, {__VA_ARGS__},                             \
			{"allocations", "allocations", CELL_COUNT,                                 \
			 SUM(thread, allocations, totals.allocations)},                            \
			{"allocated", "allocated_bytes", CELL_SIZE,                                \
			 SUM(thread, allocated_bytes, totals.allocated_bytes)},                    \
			{"temporary", "temporary", CELL_COUNT,                                     \
			 SUM(thread, temporary, totals.temporary_allocations), .optional = true},  \
			{"frees", "frees", CELL_COUNT, SUM(thread, frees, totals.frees),           \
			 .optional = true},                                                        \
			{"at the peak", "peak_bytes", CELL_SIZE,                                   \
			 SUM(thread, peak.bytes, peak.bytes)},                                     \
			{NULL, "peak_blocks", CELL_COUNT, SUM(thread, peak.blocks, peak.blocks)},  \
			{"at the end", "live_bytes", CELL_SIZE,                                    \
			 SUM(thread, live.bytes, totals.unfreed_bytes)},                           \
			{"blocks", "live_blocks", CELL_COUNT,                                      \
			 SUM(thread, live.blocks, totals.unfreed_blocks), .optional = true},       \
			{NULL, "events_lost", CELL_COUNT, COLUMN_OF(thread, events_lost)},         \
			{NULL, "waited_ns", CELL_TIME, COLUMN_OF(thread, waited_ns)},              \
			{NULL, "process", CELL_ID, .sum = false},                                  \
			{NULL, NULL, CELL_ID, .sum = false},                                       \
	}
	PARTS("thread", "thread", "tid", "tid", CELL_ID, .sum = false),
	PARTS("label", "label", NULL, NULL, CELL_ID, .sum = false),
#undef PARTS
};

/* Returns the cells of the row of a thread, whatever its labels, or of a label. Makes it if there is none. */
static struct cell *row_of_thread(struct model *m, struct table *t, struct ms_lookup *index,
				  const struct thread *h, bool labels)
{
	const char *name = labels ? h->label ? h->label : "(no label)" : NULL;
	uint64_t id = h->of_thread != UNKNOWN ? h->of_thread : (uint64_t)h->id;
	uint32_t hash = name ? ms_hash_text(name) : ms_hash(id, 0), n;
	for (size_t at = hash; t->rows && (n = ms_lookup_next(index, hash, &at));) {
		struct cell *c = t->rows[n - 1].cells;
		if (name ? strcmp(c[0].s, name) == 0 : c[THREAD_ID].n == id)
			return c;
	}
	struct cell *c = table_row(m, t)->cells;
	ms_lookup_add(index, hash, (uint32_t)t->n);
	c[0].s = name ? name : h->name ? h->name : "(no name)";
	c[THREAD_ID].n = id;
	c[THREAD_TID].n = h->tid;
	c[THREAD_PROCESS].n = (uint64_t)m->processes.v[h->process].id;
	return c;
}

struct table table_threads(struct model *m, bool labels, enum metric metric, size_t limit)
{
	static const int column_of[METRIC_COUNT + 1] = {
		[METRIC_LIVE] = 8,        [METRIC_PEAK] = 6,      [METRIC_ALLOCATED] = 3,
		[METRIC_ALLOCATIONS] = 2, [METRIC_TEMPORARY] = 4, [METRIC_COUNT] = 3};
	const char *title = labels ? "LABELS and what was allocated under each"
				   : "THREADS and what each allocated";
	struct table t = {.columns = thread_columns[labels],
			  .column_count = THREAD_COLUMNS,
			  .title = table_unfiltered(m, own_peaks(m, title)),
			  .empty = "no thread allocated anything"};
	struct ms_lookup index = {0};
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct thread *h = &m->threads.v[i];
		if (h->label && labels && !h->allocations)
			continue;
		struct cell *c = row_of_thread(m, &t, &index, h, labels);
		table_take(&t, c, h);
		est_cells(m, &t, c, h->est);
	}
	free(index.slots);
	table_finish(m, &t, column_of[metric], limit, labels ? "label" : "thread", TOTAL_OF_RUN);
	return t;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static const struct column size_columns[] = {
	{"size", NULL, CELL_TEXT, .sum = false},
	{NULL, "low", CELL_ID, .sum = false},
	{NULL, "high", CELL_ID, .sum = false},
	{"allocations", "allocations", CELL_COUNT, .sum = true, COLUMN_ALL(totals.allocations)},
	{"", NULL, CELL_BAR, .optional = true},
	{"allocated", "allocated_bytes", CELL_SIZE, .sum = true,
	 COLUMN_ALL(totals.allocated_bytes)},
	{"temporary", "temporary", CELL_COUNT, .sum = true,
	 COLUMN_ALL(totals.temporary_allocations), .optional = true},
	{"at the peak", "peak_bytes", CELL_SIZE, .sum = true, COLUMN_ALL(peak.bytes)},
	{NULL, "peak_blocks", CELL_COUNT, .sum = true, COLUMN_ALL(peak.blocks)},
	{"at the end", "live_bytes", CELL_SIZE, .sum = true, COLUMN_ALL(totals.unfreed_bytes)},
	{"blocks", "live_blocks", CELL_COUNT, .sum = true, COLUMN_ALL(totals.unfreed_blocks),
	 .optional = true},
};

struct table table_sizes(struct model *m, enum metric metric, size_t limit)
{
	static const int column_of[METRIC_COUNT + 1] = {
		[METRIC_LIVE] = 9,        [METRIC_PEAK] = 7,      [METRIC_ALLOCATED] = 5,
		[METRIC_ALLOCATIONS] = 3, [METRIC_TEMPORARY] = 6, [METRIC_COUNT] = -1};
	struct table t = TABLE_OF(size_columns, .title = own_peaks(m, "SIZES"),
				  .empty = m->totals.allocations ? say_unknown(m) : "no blocks");
	struct table rows = t;
	/* with hidden sites, only the sites that are left are counted */
	table_query(
		m, &rows,
		m->hidden.sites
			? "FROM (SELECT low, high, sum(allocations) AS allocations,"
			  " sum(allocated_bytes) AS allocated_bytes, sum(temporary) AS temporary,"
			  " sum(peak_bytes) AS peak_bytes, sum(peak_blocks) AS peak_blocks,"
			  " sum(live_bytes) AS live_bytes, sum(live_blocks) AS live_blocks"
			  " FROM site_size GROUP BY low, high) ORDER BY low"
			: "FROM size_class ORDER BY low, process");
	for (size_t i = 0; i < rows.n; i++) {
		const struct cell *from = rows.rows[i].cells;
		/* another process has already made a row for this size class */
		bool again = t.n && t.rows[t.n - 1].cells[1].n == from[1].n;
		struct cell *c = again ? t.rows[t.n - 1].cells : table_row(m, &t)->cells;
		for (size_t k = 1; k < t.column_count; k++)
			c[k].n = again && t.columns[k].sum ? figure_add(c[k].n, from[k].n)
							   : from[k].n;
		c[0].s = table_size_range(m, c[1].n, c[2].n);
	}
	table_bars(&t, 3, 4);
	table_finish(m, &t, column_of[metric], limit, "size", TOTAL_OF_RUN);
	return t;
}

/* ---- groups of sites ------------------------------------------------------------------------- */

const char *const group_names[BY_COUNT] = {"function", "file",  "module",  "language", "stack",
					   "thread",   "label", "process", "program",  "size"};

enum { GROUP_FAILED = 8, GROUP_MAPPED = 9, GROUP_SITES = 10, GROUP_COLUMNS };
static const struct column group_columns[5][GROUP_COLUMNS] = {
#define GROUP(title, name, kind, ...)                                                              \
	{                                                                                          \
		{title, name, kind, .sum = false},                                                 \
			{"live", "live_bytes", CELL_SIZE, SUM(site, at.bytes, at.bytes)},          \
			{"blocks", "live_blocks", CELL_COUNT, SUM(site, at.blocks, at.blocks),     \
			 .optional = true},                                                        \
			{"at peak", "peak_bytes", CELL_SIZE, SUM(site, peak.bytes, peak.bytes)},   \
			{NULL, "peak_blocks", CELL_COUNT, SUM(site, peak.blocks, peak.blocks)},    \
			{"allocated", "allocated_bytes", CELL_SIZE,                                \
			 SUM(site, allocated_bytes, totals.allocated_bytes), .optional = true},    \
			{"allocations", "allocations", CELL_COUNT,                                 \
			 SUM(site, allocations, totals.allocations)},                              \
			{"temporary", "temporary", CELL_COUNT,                                     \
			 SUM(site, temporary, totals.temporary_allocations), .optional = true},    \
			{NULL, "failed_allocations", CELL_COUNT,                                   \
			 SUM(site, failed_allocations, totals.failed_allocations)},                \
			{NULL, "mapped_bytes", CELL_SIZE,                                          \
			 SUM(site, at_mmap.mapped, at_mmap.mapped)},                               \
			{__VA_ARGS__},                                                             \
	}
	GROUP("function", "function", CELL_FUNCTION, "sites", "sites", CELL_COUNT,
	      .optional = true),
	GROUP("file", "file", CELL_PATH, "sites", "sites", CELL_COUNT, .optional = true),
	GROUP("module", "module", CELL_PATH, "sites", "sites", CELL_COUNT, .optional = true),
	GROUP("language", "language", CELL_TEXT, "sites", "sites", CELL_COUNT, .optional = true),
	GROUP("first frame of your code", "function", CELL_FUNCTION, "#", "site", CELL_ID,
	      COLUMN_OF(site, id)),
#undef GROUP
};

static const char *group_of(struct model *m, const struct site *s, enum group_key key)
{
	const struct frame *f = site_frame(m, s);
	const char *file = f ? f->file : NULL;
	if (key == BY_FILE)
		return file ? file : "(unknown)";
	if (key == BY_FUNCTION || key == BY_STACK)
		return f ? frame_name(&m->arena, m, f) : "(no stack)";
	if (key == BY_LANGUAGE)
		return f && !f->note
			       ? frame_language(f, f->module != NONE ? m->modules.v[f->module].kind
								     : NULL)
			       : "(unknown)";
	const char *path = f && f->module != NONE ? m->modules.v[f->module].path : NULL;
	return path ? path : "(unknown)";
}

struct member {
	const char *name;
	const struct site *site;
};

MS_COMPARE(by_name, struct member, strcmp(x->name, y->name) ?: MS_ORDER(x->site->id, y->site->id))

/* Returns all sites with the names of their groups; sites of one group are adjacent. */
static struct member *members(struct model *m, enum group_key key)
{
	struct member *v = ms_xrealloc(NULL, m->sites.n, sizeof *v);
	for (size_t i = 0; i < m->sites.n; i++)
		v[i] = (struct member){group_of(m, &m->sites.v[i], key), &m->sites.v[i]};
	if (key != BY_STACK)
		qsort(v, m->sites.n, sizeof *v, by_name);
	return v;
}

struct table table_groups(struct model *m, enum group_key key, enum metric metric, size_t limit)
{
	static const int column_of[METRIC_COUNT] = {1, 3, 5, 6, 7, GROUP_FAILED, GROUP_MAPPED};
	struct table t = {.columns = group_columns[key],
			  .column_count = GROUP_COLUMNS,
			  .empty = "no sites",
			  .at = true,
			  .title = ms_arena_printf(&m->arena,
						   "BY %s of the first frame of your code",
						   group_names[key])};
	if (key == BY_STACK)
		t.title = "BY call stack: ms-report --site # shows one";
	t.title = own_peaks(m, t.title);
	struct member *v = members(m, key);
	for (size_t i = 0; i < m->sites.n; i++) {
		const struct site *s = v[i].site;
		bool again = key != BY_STACK && i && strcmp(v[i].name, v[i - 1].name) == 0;
		struct cell *c = again ? t.rows[t.n - 1].cells : table_row(m, &t)->cells;
		c[GROUP_SITES].n++;
		table_take(&t, c, s);
		c[0].s = v[i].name;
		est_cells(m, &t, c, s->est);
	}
	free(v);
	/* columns that text shows only on request */
	if (metric == METRIC_FAILED)
		table_retitle(m, &t, GROUP_FAILED, "failed");
	if (metric == METRIC_MAPPED)
		table_retitle(m, &t, GROUP_MAPPED, "mapped");
	table_finish(m, &t, column_of[metric], limit, key == BY_STACK ? "site" : group_names[key],
		     TOTAL_OF_RUN);
	return t;
}

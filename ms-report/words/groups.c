/* SPDX-License-Identifier: MIT
 * What was allocated, in groups: by thread, by size, and sites by function, file, module or call
 * stack.
 */
#include "table.h"

#include "names.h"
#include "say.h"

#include "ms-report/model/mmap_usage.h"

#include <stdlib.h>
#include <string.h>

/* Of several processes, "at the peak" is not one moment. */
static const char *own_peaks(struct model *m, const char *title)
{
	return m->processes.n < 2
		       ? title
		       : ms_arena_printf(&m->arena, "%s; peaks are each process's own", title);
}

/* ---- threads --------------------------------------------------------------------------------- */

static const struct column thread_columns[] = {
	{"thread", "thread", CELL_TEXT, .sum = false},
	{"tid", "tid", CELL_ID, .sum = false},
	{"allocations", "allocations", CELL_COUNT, .sum = true},
	{"allocated", "allocated_bytes", CELL_SIZE, .sum = true},
	{"temporary", "temporary", CELL_COUNT, .sum = true, .optional = true},
	{"frees", "frees", CELL_COUNT, .sum = true, .optional = true},
	{"at the peak", "peak_bytes", CELL_SIZE, .sum = true},
	{NULL, "peak_blocks", CELL_COUNT, .sum = true},
	{"at the end", "live_bytes", CELL_SIZE, .sum = true},
	{"blocks", "live_blocks", CELL_COUNT, .sum = true, .optional = true},
	{NULL, "events_lost", CELL_COUNT, .sum = false},
	{NULL, "waited_ns", CELL_TIME, .sum = false},
	{NULL, "process", CELL_ID, .sum = false},
};

struct table table_threads(struct model *m, enum metric metric, size_t limit)
{
	static const int column_of[METRIC_COUNT + 1] = {
		[METRIC_LIVE] = 8,        [METRIC_PEAK] = 6,      [METRIC_ALLOCATED] = 3,
		[METRIC_ALLOCATIONS] = 2, [METRIC_TEMPORARY] = 4, [METRIC_COUNT] = 3};
	struct table t = TABLE_OF(thread_columns,
				  .title = table_unfiltered(m, own_peaks(m, "THREADS, by what each "
									    "allocated")),
				  .empty = "no thread allocated anything");
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct thread *h = &m->threads.v[i];
		struct cell *c = table_row(m, &t, m->threads.n)->cells;
		const uint64_t v[] = {0,
				      h->tid,
				      h->allocations,
				      h->allocated_bytes,
				      h->temporary,
				      h->frees,
				      h->peak.bytes,
				      h->peak.blocks,
				      h->live.bytes,
				      h->live.blocks,
				      h->events_lost,
				      h->waited_ns,
				      (uint64_t)m->processes.v[h->process].id};
		for (size_t k = 0; k < t.column_count; k++)
			c[k].n = v[k];
		c[0].s = h->name ? h->name : "(no name)";
		est_cells(m, &t, c, h->est);
	}
	const struct totals *s = &m->totals;
	const uint64_t total[] = {
		0,        UNKNOWN,       s->allocations, s->allocated_bytes, s->temporary,
		s->frees, m->peak.bytes, m->peak.blocks, s->unfreed_bytes,   s->unfreed_blocks,
		UNKNOWN,  UNKNOWN,       UNKNOWN};
	table_finish(m, &t, column_of[metric], limit, "threads", total);
	return t;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static const struct column size_columns[] = {
	{"size", NULL, CELL_TEXT, .sum = false},
	{NULL, "low", CELL_ID, .sum = false},
	{NULL, "high", CELL_ID, .sum = false},
	{"allocations", "allocations", CELL_COUNT, .sum = true},
	{"", NULL, CELL_BAR, .optional = true},
	{"allocated", "allocated_bytes", CELL_SIZE, .sum = true},
	{"temporary", "temporary", CELL_COUNT, .sum = true, .optional = true},
	{"at the peak", "peak_bytes", CELL_SIZE, .sum = true},
	{NULL, "peak_blocks", CELL_COUNT, .sum = true},
	{"at the end", "live_bytes", CELL_SIZE, .sum = true},
	{"blocks", "live_blocks", CELL_COUNT, .sum = true, .optional = true},
};

struct table table_sizes(struct model *m, enum metric metric, size_t limit)
{
	static const int column_of[METRIC_COUNT + 1] = {
		[METRIC_LIVE] = 9,        [METRIC_PEAK] = 7,      [METRIC_ALLOCATED] = 5,
		[METRIC_ALLOCATIONS] = 3, [METRIC_TEMPORARY] = 6, [METRIC_COUNT] = -1};
	struct table t = TABLE_OF(size_columns, .title = own_peaks(m, "SIZES"),
				  .empty = m->totals.allocations ? say_unknown(m) : "no blocks");
	struct size_class *v;
	size_t n = model_sizes(m, &v);
	for (size_t i = 0; i < n; i++) {
		const struct size_class *s = &v[i];
		const uint64_t f[] = {0,
				      s->low,
				      s->high,
				      s->allocations,
				      0,
				      s->allocated_bytes,
				      s->temporary,
				      s->peak.bytes,
				      s->peak.blocks,
				      s->live.bytes,
				      s->live.blocks};
		bool again = i && s->low == s[-1].low; /* the same class of another process */
		struct cell *c = again ? t.rows[t.n - 1].cells : table_row(m, &t, n)->cells;
		for (size_t k = 0; k < t.column_count; k++)
			c[k].n = again && t.columns[k].sum ? figure_add(c[k].n, f[k]) : f[k];
		c[0].s = table_size_range(m, s->low, s->high);
	}
	table_bars(&t, 3, 4);
	const struct totals *a = &m->totals;
	const uint64_t total[] = {0,
				  UNKNOWN,
				  UNKNOWN,
				  a->allocations,
				  UNKNOWN,
				  a->allocated_bytes,
				  a->temporary,
				  m->peak.bytes,
				  m->peak.blocks,
				  a->unfreed_bytes,
				  a->unfreed_blocks};
	table_finish(m, &t, column_of[metric], limit, "sizes", total);
	return t;
}

/* ---- groups of sites ------------------------------------------------------------------------- */

const char *const group_names[BY_COUNT] = {"function", "file",    "module",  "stack",
					   "thread",   "process", "program", "size"};

#define GROUP_COLUMNS 11
enum { GROUP_FAILED = 8, GROUP_MAPPED = 9 };
static const struct column group_columns[4][GROUP_COLUMNS] = {
#define GROUP(title, name, kind, ...)                                                              \
	{                                                                                          \
		{title, name, kind, .sum = false}, {"live", "live_bytes", CELL_SIZE, .sum = true}, \
			{"blocks", "live_blocks", CELL_COUNT, .sum = true, .optional = true},      \
			{"at peak", "peak_bytes", CELL_SIZE, .sum = true},                         \
			{NULL, "peak_blocks", CELL_COUNT, .sum = true},                            \
			{"allocated", "allocated_bytes", CELL_SIZE, .sum = true,                   \
			 .optional = true},                                                        \
			{"allocations", "allocations", CELL_COUNT, .sum = true},                   \
			{"temporary", "temporary", CELL_COUNT, .sum = true, .optional = true},     \
			{NULL, "failed_allocations", CELL_COUNT, .sum = true},                     \
			{NULL, "mapped_bytes", CELL_SIZE, .sum = true}, {__VA_ARGS__},             \
	}
	GROUP("function", "function", CELL_FUNCTION, "sites", "sites", CELL_COUNT,
	      .optional = true),
	GROUP("file", "file", CELL_PATH, "sites", "sites", CELL_COUNT, .optional = true),
	GROUP("module", "module", CELL_PATH, "sites", "sites", CELL_COUNT, .optional = true),
	GROUP("first frame of your code", "function", CELL_FUNCTION, "#", "site", CELL_ID,
	      .sum = false),
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
	const char *path = f && f->module != NONE ? m->modules.v[f->module].path : NULL;
	return path ? path : "(unknown)";
}

struct member {
	const char *name;
	const struct site *site;
};

static int by_name(const void *x, const void *y)
{
	const struct member *p = x, *q = y;
	int c = strcmp(p->name, q->name);
	return c ? c : p->site->id < q->site->id ? -1 : 1;
}

/* All sites with the name of their group, those of one group side by side. */
static struct member *members(struct model *m, enum group_key key)
{
	struct member *v = ms_xrealloc(NULL, m->sites.n, sizeof *v);
	for (size_t i = 0; i < m->sites.n; i++)
		v[i] = (struct member){group_of(m, &m->sites.v[i], key), &m->sites.v[i]};
	if (key != BY_STACK)
		qsort(v, m->sites.n, sizeof *v, by_name);
	return v;
}

/* A figure that a table of text has no column for, unless it is what was asked for. */
static void show_metric(struct model *m, struct table *t, enum metric metric)
{
	size_t size = t->column_count * sizeof *t->columns;
	struct column *own = ms_arena_alloc(&m->arena, size);
	memcpy(own, t->columns, size);
	t->columns = own;
	if (metric == METRIC_FAILED)
		own[GROUP_FAILED].title = "failed";
	if (metric == METRIC_MAPPED)
		own[GROUP_MAPPED].title = "mapped";
}

struct table table_groups(struct model *m, enum group_key key, enum metric metric, size_t limit)
{
	static const char *const plural[] = {"functions", "files", "modules", "sites"};
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
		struct cell *c =
			again ? t.rows[t.n - 1].cells : table_row(m, &t, m->sites.n)->cells;
		const uint64_t f[GROUP_COLUMNS] = {0,
						   s->at.bytes,
						   s->at.blocks,
						   s->peak.bytes,
						   s->peak.blocks,
						   s->allocated_bytes,
						   s->allocations,
						   s->temporary,
						   s->failed,
						   s->at_mmap.mapped,
						   key == BY_STACK ? (uint64_t)s->id : 1};
		for (size_t k = 1; k < t.column_count; k++)
			c[k].n = figure_add(c[k].n, f[k]);
		c[0].s = v[i].name;
		est_cells(m, &t, c, s->est);
	}
	free(v);
	const struct totals *a = &m->totals;
	const uint64_t total[] = {0,
				  m->at.bytes,
				  m->at.blocks,
				  m->peak.bytes,
				  m->peak.blocks,
				  a->allocated_bytes,
				  a->allocations,
				  a->temporary,
				  a->failed,
				  mmap_usage_at(m, m->at_label).mapped,
				  UNKNOWN};
	show_metric(m, &t, metric);
	table_finish(m, &t, column_of[metric], limit, plural[key], total);
	return t;
}

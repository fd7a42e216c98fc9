/* SPDX-License-Identifier: MIT
 * The views that are tables: summary, threads, timeline, sizes, modules, processes, and sites in
 * groups.
 */
#include "table.h"

#include "names.h"
#include "spark.h"
#include "words.h"

#include <stdlib.h>
#include <string.h>

static struct row *add_row(struct model *m, struct table *t, size_t most)
{
	if (!t->rows)
		t->rows = ms_arena_alloc(&m->arena, (most + 3) * sizeof *t->rows);
	struct row *r = &t->rows[t->n++];
	r->cells = ms_arena_alloc(&m->arena, t->column_count * sizeof *r->cells);
	return r;
}

#define TABLE(cols, ...)                                                                           \
	{                                                                                          \
		.columns = (cols), .column_count = sizeof(cols) / sizeof *(cols), __VA_ARGS__      \
	}

/* Filters take sites away; what was counted by thread, size or time stays whole. */
static const char *unfiltered(struct model *m, const char *title)
{
	return m->hidden.sites
		       ? ms_arena_printf(&m->arena, "%s (of all sites: filters do not reach these)",
					 title)
		       : title;
}

static int64_t sort_column; /* for qsort, which hands nothing through */

static int by_column(const void *x, const void *y)
{
	const struct row *p = x, *q = y;
	uint64_t a = p->cells[sort_column].n, b = q->cells[sort_column].n;
	a = a == UNKNOWN ? 0 : a;
	b = b == UNKNOWN ? 0 : b;
	if (a != b)
		return a < b ? 1 : -1;
	/* equal ones stay as they were: rows were allocated in order */
	return p->cells < q->cells ? -1 : p->cells > q->cells;
}

/* Sums of rows from..to of the columns that can be summed. */
static void sum_rows(const struct table *t, size_t from, size_t to, struct cell *sum)
{
	for (size_t c = 0; c < t->column_count; c++) {
		sum[c].n = t->columns[c].sum ? 0 : UNKNOWN;
		for (size_t i = from; i < to && t->columns[c].sum; i++)
			sum[c].n = figure_add(sum[c].n, t->rows[i].cells[c].n);
	}
}

/* Adds what is missing to the total (hidden by filters, or belonging to no row), if anything, and
 * the total. */
static void add_total(struct model *m, struct table *t, const struct cell *total)
{
	struct cell *sum = ms_arena_alloc(&m->arena, t->column_count * sizeof *sum);
	sum_rows(t, 0, t->n, sum);
	bool missing = false;
	for (size_t c = 0; c < t->column_count; c++) {
		sum[c].n = t->columns[c].sum ? figure_sub(total[c].n, sum[c].n) : UNKNOWN;
		missing |= sum[c].n != UNKNOWN && sum[c].n > 0;
	}
	if (missing) {
		struct row *r = add_row(m, t, 0);
		r->kind = m->hidden.sites ? ROW_HIDDEN : ROW_OTHER;
		memcpy(r->cells, sum, t->column_count * sizeof *sum);
		r->cells[0].s = m->hidden.sites ? "hidden by filters" : "in none of these";
	}
	struct row *r = add_row(m, t, 0);
	r->kind = ROW_TOTAL;
	memcpy(r->cells, total, t->column_count * sizeof *total);
	r->cells[0].s = "total";
}

/* "1 more thread", "7 more threads": `what` is the word for many. */
static const char *more_of(struct model *m, size_t n, const char *what)
{
	size_t len = strlen(what);
	if (n == 1) /* processes, sizes, files */
		len -= len > 4 && strcmp(what + len - 4, "sses") == 0 ? 2 : 1;
	return ms_arena_printf(&m->arena, "%s more %.*s", say_count(m, n), (int)len, what);
}

/* Sorts by a column (-1: not at all), keeps `limit` rows, folds the others into one that says how
 * many of `what`. */
static void finish(struct model *m, struct table *t, int64_t column, size_t limit, const char *what,
		   const struct cell *total)
{
	sort_column = column;
	if (t->n && column >= 0)
		qsort(t->rows, t->n, sizeof *t->rows, by_column);
	if (t->n > limit) {
		struct cell *sum = ms_arena_alloc(&m->arena, t->column_count * sizeof *sum);
		sum_rows(t, limit, t->n, sum);
		sum[0].s = more_of(m, t->n - limit, what);
		t->rows[limit] = (struct row){.kind = ROW_MORE, .cells = sum};
		t->n = limit + 1;
	}
	if (total && t->n)
		add_total(m, t, total);
}

/* ---- summary
 * ---------------------------------------------------------------------------------------- */

static const struct column summary_columns[] = {
	{"figure", "figure", CELL_TEXT, .sum = false},
	{"value", NULL, CELL_TEXT, .sum = false},
	{NULL, "value", CELL_ID, .sum = false},
	{NULL, "unit", CELL_TEXT, .sum = false},
};

static void figure(struct model *m, struct table *t, const char *name, const char *unit, uint64_t v)
{
	struct row *r = add_row(m, t, 0);
	r->cells[0].s = name;
	r->cells[1].s = strcmp(unit, "yes") == 0     ? (v ? "yes" : "no")
			: strcmp(unit, "bytes") == 0 ? say_size(m, v)
			: strcmp(unit, "ns") == 0    ? say_time(m, v)
						     : say_count(m, v);
	r->cells[2].n = v;
	r->cells[3].s = unit;
}

struct table table_summary(struct model *m)
{
	const struct totals *s = &m->totals;
	const struct quality *q = &m->quality;
	const struct {
		const char *name, *unit;
		uint64_t v;
	} figures[] = {
		{"processes", "", m->processes.n},
		{"duration", "ns", m->duration_ns},
		{"allocations", "", s->allocations},
		{"allocated", "bytes", s->allocated_bytes},
		{"frees", "", s->frees},
		{"reallocations", "", s->reallocations},
		{"failed allocations", "", s->failed},
		{"temporary allocations", "", s->temporary},
		{"peak", "bytes", s->peak_bytes},
		{"peak blocks", "", s->peak_blocks},
		{"peak time", "ns", s->peak_time_ns},
		{"unfreed", "bytes", s->unfreed_bytes},
		{"unfreed blocks", "", s->unfreed_blocks},
		{"peak RSS", "bytes", s->peak_rss_bytes},
		{"RSS at the end", "bytes", s->end_rss_bytes},
		{"sites", "", m->sites.n},
		{"sites hidden by filters", "", m->hidden.sites},
		{"threads", "", m->threads.n},
		{"complete", "yes", q->complete},
		{"events lost", "", q->events_lost},
		{"stacks cut", "", q->stacks_cut},
		{"stacks whose callers were not found", "", q->stacks_truncated},
		{"frames without symbol", "", q->frames_without_symbol},
	};
	struct table t = TABLE(summary_columns);
	size_t n = sizeof figures / sizeof *figures;
	t.rows = ms_arena_alloc(&m->arena, n * sizeof *t.rows);
	for (size_t i = 0; i < n; i++)
		figure(m, &t, figures[i].name, figures[i].unit, figures[i].v);
	return t;
}

/* ---- threads
 * ---------------------------------------------------------------------------------------- */

static const struct column thread_columns[] = {
	{"thread", "thread", CELL_TEXT, .sum = false},
	{"tid", "tid", CELL_ID, .sum = false},
	{"allocations", "allocations", CELL_COUNT, .sum = true},
	{"allocated", "allocated_bytes", CELL_SIZE, .sum = true},
	{"temporary", "temporary", CELL_COUNT, .sum = true, .optional = true},
	{"frees", "frees", CELL_COUNT, .sum = true, .optional = true},
	{"live", "live_bytes", CELL_SIZE, .sum = true},
	{"blocks", "live_blocks", CELL_COUNT, .sum = true, .optional = true},
	{NULL, "events_lost", CELL_COUNT, .sum = false},
	{NULL, "waited_ns", CELL_TIME, .sum = false},
	{NULL, "process", CELL_ID, .sum = false},
};

struct table table_threads(struct model *m, size_t limit)
{
	struct table t =
		TABLE(thread_columns, .title = unfiltered(m, "THREADS, live figures at the end"),
		      .empty = "no thread allocated anything");
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct thread *h = &m->threads.v[i];
		struct cell *c = add_row(m, &t, m->threads.n)->cells;
		const uint64_t v[] = {0,
				      h->tid,
				      h->allocations,
				      h->allocated_bytes,
				      h->temporary,
				      h->frees,
				      h->live.bytes,
				      h->live.blocks,
				      h->events_lost,
				      h->waited_ns,
				      (uint64_t)m->processes.v[h->process].id};
		for (size_t k = 0; k < t.column_count; k++)
			c[k].n = v[k];
		c[0].s = h->name ? h->name : "(no name)";
	}
	const struct totals *s = &m->totals;
	const struct cell total[] = {{0, 0},
				     {UNKNOWN, 0},
				     {s->allocations, 0},
				     {s->allocated_bytes, 0},
				     {s->temporary, 0},
				     {s->frees, 0},
				     {s->unfreed_bytes, 0},
				     {s->unfreed_blocks, 0},
				     {UNKNOWN, 0},
				     {UNKNOWN, 0},
				     {UNKNOWN, 0}};
	finish(m, &t, 3, limit, "threads", total);
	return t;
}

/* ---- timeline
 * --------------------------------------------------------------------------------------- */

static const struct column timeline_columns[] = {
	{"up to", "to_ns", CELL_TIME, .sum = false},
	{NULL, "from_ns", CELL_TIME, .sum = false},
	{"live max", "live_max", CELL_SIZE, .sum = false},
	{NULL, "live_min", CELL_SIZE, .sum = false},
	{"live", "live_bytes", CELL_SIZE, .sum = false},
	{"blocks", "live_blocks", CELL_COUNT, .sum = false, .optional = true},
	{"RSS", "rss_bytes", CELL_SIZE, .sum = false},
	{"allocations", "allocations", CELL_COUNT, .sum = true},
	{"frees", "frees", CELL_COUNT, .sum = true, .optional = true},
	{"allocated", "allocated_bytes", CELL_SIZE, .sum = true, .optional = true},
};

struct table table_timeline(struct model *m, size_t limit)
{
	struct table t = TABLE(timeline_columns, .title = unfiltered(m, "TIMELINE"),
			       .empty = "no timeline in this snapshot");
	struct span *s;
	size_t n = spans_make(m, limit, &s);
	for (size_t i = 0; i < n; i++) {
		struct cell *c = add_row(m, &t, n)->cells;
		const uint64_t v[] = {
			s[i].to_ns,     s[i].from_ns,        s[i].live_max, s[i].live_min,
			s[i].live_last, s[i].blocks_last,    s[i].rss,      s[i].allocations,
			s[i].frees,     s[i].allocated_bytes};
		for (size_t k = 0; k < t.column_count; k++)
			c[k].n = v[k];
	}
	const struct totals *a = &m->totals;
	const struct cell total[] = {{UNKNOWN, 0},          {UNKNOWN, 0},
				     {a->peak_bytes, 0},    {UNKNOWN, 0},
				     {a->unfreed_bytes, 0}, {a->unfreed_blocks, 0},
				     {UNKNOWN, 0},          {a->allocations, 0},
				     {a->frees, 0},         {a->allocated_bytes, 0}};
	finish(m, &t, -1, SIZE_MAX, "spans", total);
	return t;
}

/* ---- sizes
 * ------------------------------------------------------------------------------------------ */

static const struct column size_columns[] = {
	{"size", NULL, CELL_TEXT, .sum = false},
	{NULL, "low", CELL_ID, .sum = false},
	{NULL, "high", CELL_ID, .sum = false},
	{"allocations", "allocations", CELL_COUNT, .sum = true},
	{"allocated", "allocated_bytes", CELL_SIZE, .sum = true},
	{"temporary", "temporary", CELL_COUNT, .sum = true, .optional = true},
	{"at the peak", "peak_bytes", CELL_SIZE, .sum = true},
	{NULL, "peak_blocks", CELL_COUNT, .sum = true},
	{"at the end", "live_bytes", CELL_SIZE, .sum = true},
	{"blocks", "live_blocks", CELL_COUNT, .sum = true, .optional = true},
};

/* "64 B", "1.0 KiB to 2.0 KiB": the high end belongs to the class. */
static const char *class_name(struct model *m, const struct size_class *c)
{
	if (c->low == c->high)
		return say_size(m, c->low);
	return ms_arena_printf(&m->arena, "%s to %s", say_size(m, c->low), say_size(m, c->high));
}

struct table table_sizes(struct model *m, size_t limit)
{
	struct table t = TABLE(size_columns, .title = unfiltered(m, "SIZES"),
			       .empty = m->totals.allocations ? say_unknown(m) : "no blocks");
	for (size_t i = 0; i < m->classes.n; i++) {
		const struct size_class *s = &m->classes.v[i];
		const uint64_t v[] = {0,
				      s->low,
				      s->high,
				      s->allocations,
				      s->allocated_bytes,
				      s->temporary,
				      s->peak.bytes,
				      s->peak.blocks,
				      s->live.bytes,
				      s->live.blocks};
		bool again = i && s->low == s[-1].low; /* the same class of another process */
		struct cell *c =
			again ? t.rows[t.n - 1].cells : add_row(m, &t, m->classes.n)->cells;
		for (size_t k = 0; k < t.column_count; k++)
			c[k].n = again && t.columns[k].sum ? figure_add(c[k].n, v[k]) : v[k];
		c[0].s = class_name(m, s);
	}
	const struct totals *a = &m->totals;
	const struct cell total[] = {{0, 0},
				     {UNKNOWN, 0},
				     {UNKNOWN, 0},
				     {a->allocations, 0},
				     {a->allocated_bytes, 0},
				     {a->temporary, 0},
				     {a->peak_bytes, 0},
				     {a->peak_blocks, 0},
				     {a->unfreed_bytes, 0},
				     {a->unfreed_blocks, 0}};
	finish(m, &t, -1, limit, "sizes", total);
	return t;
}

/* ---- modules and processes
 * -------------------------------------------------------------------------- */

static const struct column module_columns[] = {
	{"symbols", "symbols", CELL_TEXT, .sum = false},
	{"module", "path", CELL_PATH, .sum = false},
	{"build-id", "build_id", CELL_TEXT, .sum = false, .optional = true},
	{NULL, "kind", CELL_TEXT, .sum = false},
	{NULL, "process", CELL_ID, .sum = false},
};

static const char *symbols_words(const char *s)
{
	static const char *const words[][2] = {
		{"dwarf", "functions, files, lines"}, {"elf", "functions only"},
		{"none", "NONE in the file"},         {"missing", "NONE: file is gone"},
		{"mismatch", "NONE: another build"},
	};
	for (size_t i = 0; s && i < sizeof words / sizeof *words; i++)
		if (strcmp(s, words[i][0]) == 0)
			return words[i][1];
	return s ? s : "not looked at";
}

struct table table_modules(struct model *m, size_t limit)
{
	struct table t = TABLE(module_columns, .title = "MODULES and what symbols were found",
			       .empty = "no modules in this snapshot");
	for (size_t i = 0; i < m->modules.n; i++) {
		const struct module *o = &m->modules.v[i];
		struct cell *c = add_row(m, &t, m->modules.n)->cells;
		c[0].s = symbols_words(o->symbols);
		c[1].s = o->path ? o->path : "(no file)";
		c[2].s = o->build_id;
		c[3].s = o->kind;
		c[4].n = o->process == NONE ? UNKNOWN : (uint64_t)m->processes.v[o->process].id;
	}
	finish(m, &t, -1, limit, "modules", NULL);
	return t;
}

static const struct column process_columns[] = {
	{"program", "exe", CELL_PATH, .sum = false},
	{"pid", "pid", CELL_ID, .sum = false},
	{"own peak", "peak_bytes", CELL_SIZE, .sum = false},
	{"live at end", "unfreed_bytes", CELL_SIZE, .sum = true},
	{"blocks", "unfreed_blocks", CELL_COUNT, .sum = true, .optional = true},
	{"allocations", "allocations", CELL_COUNT, .sum = true},
	{"allocated", "allocated_bytes", CELL_SIZE, .sum = true, .optional = true},
	{NULL, "process", CELL_ID, .sum = false},
};

struct table table_processes(struct model *m, size_t limit)
{
	struct table t = TABLE(process_columns, .title = "PROCESSES");
	for (size_t i = 0; i < m->processes.n; i++) {
		const struct process *p = &m->processes.v[i];
		const struct totals *s = &p->totals;
		struct cell *c = add_row(m, &t, m->processes.n)->cells;
		const uint64_t v[] = {0,
				      p->pid,
				      s->peak_bytes,
				      s->unfreed_bytes,
				      s->unfreed_blocks,
				      s->allocations,
				      s->allocated_bytes,
				      (uint64_t)p->id};
		for (size_t k = 0; k < t.column_count; k++)
			c[k].n = v[k];
		c[0].s = p->exe ? p->exe : "(unknown)";
	}
	const struct totals *a = &m->totals;
	const struct cell total[] = {{0, 0},
				     {UNKNOWN, 0},
				     {a->peak_bytes, 0},
				     {a->unfreed_bytes, 0},
				     {a->unfreed_blocks, 0},
				     {a->allocations, 0},
				     {a->allocated_bytes, 0},
				     {UNKNOWN, 0}};
	finish(m, &t, 2, limit, "processes", total);
	return t;
}

/* ---- groups of sites
 * -------------------------------------------------------------------------------- */

const char *const group_names[BY_COUNT] = {"function", "file",    "module", "stack",
					   "thread",   "process", "size"};

static const struct column group_columns[3][8] = {
#define GROUP(title, name, kind)                                                                   \
	{                                                                                          \
		{title, name, kind, .sum = false}, {"live", "live_bytes", CELL_SIZE, .sum = true}, \
			{"blocks", "live_blocks", CELL_COUNT, .sum = true, .optional = true},      \
			{"at peak", "peak_bytes", CELL_SIZE, .sum = true},                         \
			{"allocated", "allocated_bytes", CELL_SIZE, .sum = true,                   \
			 .optional = true},                                                        \
			{"allocations", "allocations", CELL_COUNT, .sum = true},                   \
			{"temporary", "temporary", CELL_COUNT, .sum = true, .optional = true},     \
			{"sites", "sites", CELL_COUNT, .sum = false, .optional = true},            \
	}
	GROUP("function", "function", CELL_FUNCTION),
	GROUP("file", "file", CELL_PATH),
	GROUP("module", "module", CELL_PATH),
#undef GROUP
};

static const char *group_of(struct model *m, const struct site *s, enum group_key key)
{
	const struct frame *f = site_frame(m, s);
	const char *file = f ? f->file : NULL;
	if (key == BY_FILE)
		return file ? file : "(unknown)";
	if (key == BY_FUNCTION)
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

struct table table_groups(struct model *m, enum group_key key, enum metric metric, size_t limit)
{
	static const char *const plural[] = {"functions", "files", "modules"};
	static const int column_of[METRIC_COUNT] = {1, 3, 4, 5, 6};
	struct table t = {.columns = group_columns[key],
			  .column_count = 8,
			  .empty = "no sites",
			  .title = ms_arena_printf(&m->arena,
						   "BY %s of the first frame of your code",
						   group_names[key])};
	struct member *v = ms_xrealloc(NULL, m->sites.n, sizeof *v);
	for (size_t i = 0; i < m->sites.n; i++)
		v[i] = (struct member){group_of(m, &m->sites.v[i], key), &m->sites.v[i]};
	qsort(v, m->sites.n, sizeof *v, by_name);
	for (size_t i = 0; i < m->sites.n; i++) {
		const struct site *s = v[i].site;
		bool again = i && strcmp(v[i].name, v[i - 1].name) == 0;
		struct cell *c = again ? t.rows[t.n - 1].cells : add_row(m, &t, m->sites.n)->cells;
		const uint64_t f[] = {0,
				      s->at.bytes,
				      s->at.blocks,
				      s->peak.bytes,
				      s->allocated_bytes,
				      s->allocations,
				      s->temporary,
				      1};
		for (size_t k = 1; k < t.column_count; k++)
			c[k].n = figure_add(c[k].n, f[k]);
		c[0].s = v[i].name;
	}
	free(v);
	const struct totals *a = &m->totals;
	const struct cell total[] = {{0, 0},
				     {m->at.bytes, 0},
				     {m->at.blocks, 0},
				     {m->peak.bytes, 0},
				     {a->allocated_bytes, 0},
				     {a->allocations, 0},
				     {a->temporary, 0},
				     {UNKNOWN, 0}};
	finish(m, &t, column_of[metric], limit, plural[key], total);
	return t;
}

/* SPDX-License-Identifier: MIT
 * Reads the tables of a snapshot into arrays, turning ids into indices.
 *
 * The database was checked by ms_snapshot_open, but its rows are still anybody's: a reference to a
 * row that is not there becomes NONE, a number that is not a non-negative integer becomes UNKNOWN.
 */
#include "rows.h"

#include "totals.h"

#include "libcommon/base/err.h"

#include <string.h>

/* ---- columns of the current row ---- */

/* Returns the next value of the row that was handed over. */
static struct ms_value taken(struct reader *r)
{
	size_t at = r->at[r->col++];
	return at < r->row_size ? r->row[at] : ms_null(NULL);
}

uint64_t reader_number(struct reader *r)
{
	if (r->st)
		return figure_in(r->st, r->col++);
	struct ms_value v = taken(r);
	return v.type == MS_VALUE_NUMBER && v.number >= 0 ? (uint64_t)v.number : UNKNOWN;
}

uint64_t reader_number_or_0(struct reader *r)
{
	return figure_or_0(reader_number(r));
}

/* Text of the next column, until the next row. */
static const char *text(struct reader *r)
{
	if (r->st)
		return (const char *)sqlite3_column_text(r->st, r->col++);
	struct ms_value v = taken(r);
	return v.type == MS_VALUE_TEXT ? v.text : NULL;
}

const char *reader_text(struct reader *r)
{
	const char *s = text(r);
	return s ? ms_arena_strdup(&r->m->arena, s) : NULL;
}

int64_t reader_id(struct reader *r)
{
	if (r->st)
		return sqlite3_column_int64(r->st, r->col++);
	struct ms_value v = taken(r);
	return v.type == MS_VALUE_NUMBER ? v.number : 0;
}

static void take_figure(struct reader *r, void *row, size_t offset)
{
	*(uint64_t *)(void *)((char *)row + offset) = reader_number(r);
}

/* The next columns, each into one of these. */
static void take_numbers(struct reader *r, uint64_t *const *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*to[i] = reader_number(r);
}
#define NUMBERS(r, ...)                                                                            \
	take_numbers(r, (uint64_t *const[]){__VA_ARGS__},                                          \
		     sizeof((uint64_t *const[]){__VA_ARGS__}) / sizeof(uint64_t *))

/* Reads the next columns as texts, each into one of `to`. */
static void take_texts(struct reader *r, const char **const *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*to[i] = reader_text(r);
}
#define TEXTS(r, ...)                                                                              \
	take_texts(r, (const char **const[]){__VA_ARGS__},                                         \
		   sizeof((const char **const[]){__VA_ARGS__}) / sizeof(char **))

/* A reference in the next column. */
#define REFERENCE(r, a)                                                                            \
	(!(r)->st || sqlite3_column_type((r)->st, (r)->col) == SQLITE_INTEGER                      \
		 ? MODEL_FIND(a, reader_id(r))                                                     \
		 : ((r)->col++, NONE))

/* Returns the index of the process in the next column. A row that is handed over comes before its
 * process, whose index then follows from its id: the first is 1. */
static uint32_t process_of(struct reader *r)
{
	if (r->st)
		return REFERENCE(r, r->m->processes);
	return (uint32_t)reader_id(r) - 1;
}

/* ---- one function per table ---- */

static void read_process(struct reader *r)
{
	struct process *p = MS_PUSH(&r->m->processes);
	struct totals *t = &p->totals;
	struct quality *q = &p->quality;
	*p = (struct process){.id = reader_id(r), .end_scan.id = -1};
	TEXTS(r, &p->exe, &p->command, &p->host, &p->cwd, &p->end_reason, &p->allocator, &p->trace,
	      &p->state);
	NUMBERS(r, &p->pid, &p->ppid, &p->started_ns, &p->duration_ns, &p->exit_status,
		&p->exit_signal, &p->children_not_recorded, &p->at_sum_peak);
	p->offset_ns = reader_number_or_0(r);
	q->complete = reader_number(r) == 1;
	q->growing = p->state && strcmp(p->state, "growing") == 0;
	p->became_row = reader_id(r);
	for (size_t i = 0; i < quality_figure_count; i++)
		take_figure(r, q, quality_figures[i].offset);
	for (size_t i = 0; i < FIGURES_NOTED; i++)
		take_figure(r, t, figures[i].offset);
	t->peak_rss_bytes = reader_number(r);
	t->peak_rss_time_ns = t->end_rss_bytes = UNKNOWN;
}

static void read_snapshot(struct reader *r)
{
	struct snapshot s = {.id = reader_id(r), .process = process_of(r)};
	s.label = reader_text(r);
	NUMBERS(r, &s.time_ns, &s.live.bytes, &s.live.blocks, &s.rss_bytes, &s.mmap.usable,
		&s.mmap.mapped);
	if (s.process != NONE && s.label)
		*MS_PUSH(&r->m->snapshots) = s;
}

static void read_module(struct reader *r)
{
	struct module *o = MS_PUSH(&r->m->modules);
	*o = (struct module){.id = reader_id(r), .process = process_of(r)};
	TEXTS(r, &o->path, &o->build_id, &o->kind, &o->symbols);
	o->bias = reader_number_or_0(r);
	o->start = (uint64_t)reader_id(r);
	o->end = (uint64_t)reader_id(r);
}

static void read_frame(struct reader *r)
{
	struct frame *f = MS_PUSH(&r->m->frames);
	*f = (struct frame){.id = reader_id(r), .module = REFERENCE(r, r->m->modules)};
	f->address = reader_number(r);
	TEXTS(r, &f->function, &f->file, &f->note);
	uint64_t line = reader_number_or_0(r);
	f->line = line > UINT32_MAX ? 0 : (uint32_t)line;
	f->inlined = reader_number_or_0(r) != 0;
	f->runtime = reader_number_or_0(r) != 0;
}

static void read_node(struct reader *r)
{
	struct node *n = MS_PUSH(&r->m->nodes);
	int64_t own = reader_id(r);
	/* only rows before this one are in the array: a parent that is not among them ends the
	 * stack */
	r->m->nodes.n--;
	uint32_t parent = REFERENCE(r, r->m->nodes);
	r->m->nodes.n++;
	*n = (struct node){.id = own, .parent = parent, .frame = REFERENCE(r, r->m->frames)};
	if (n->frame == NONE)
		r->m->nodes.n--;
}

static void read_site(struct reader *r)
{
	struct site *s = MS_PUSH(&r->m->sites);
	*s = (struct site){.id = reader_id(r), .process = process_of(r)};
	s->stack = REFERENCE(r, r->m->nodes);
	s->user = REFERENCE(r, r->m->nodes);
	TEXTS(r, &s->verdict, &s->one_time);
#define X(name, unit, adds) s->name = reader_number(r);
	MS_FIGURES_OF_SITE(X)
#undef X
	if (s->process == NONE)
		r->m->sites.n--;
}

static void read_thread(struct reader *r)
{
	struct thread *t = MS_PUSH(&r->m->threads);
	*t = (struct thread){.id = reader_id(r), .process = REFERENCE(r, r->m->processes)};
	NUMBERS(r, &t->tid, &t->start_ns, &t->end_ns, &t->allocations, &t->frees,
		&t->allocated_bytes, &t->temporary, &t->peak.bytes, &t->peak.blocks, &t->live.bytes,
		&t->live.blocks, &t->events_lost, &t->waited_ns);
	t->name = reader_text(r);
	if (t->process == NONE)
		r->m->threads.n--;
}

/* Times of a process become times on the shared clock. */
static uint64_t shared(const struct reader *r, uint32_t process, uint64_t time_ns)
{
	return process == NONE ? UNKNOWN
			       : figure_add(time_ns, r->m->processes.v[process].offset_ns);
}

static void read_point(struct reader *r)
{
	struct point *p = MS_PUSH(&r->m->points);
	*p = (struct point){.process = REFERENCE(r, r->m->processes)};
#define X(name, unit, adds) p->name = reader_number(r);
	MS_FIGURES_OF_TIMELINE(X)
#undef X
	p->time_ns = shared(r, p->process, p->time_ns);
	if (p->time_ns == UNKNOWN)
		r->m->points.n--;
}

static void read_sample(struct reader *r)
{
	struct sample s = {.process = REFERENCE(r, r->m->processes)};
	s.time_ns = shared(r, s.process, reader_number(r));
	s.rss_bytes = reader_number(r);
	if (s.time_ns != UNKNOWN && s.rss_bytes != UNKNOWN)
		*MS_PUSH(&r->m->samples) = s;
}

static void read_mark(struct reader *r)
{
	struct mark k = {.process = REFERENCE(r, r->m->processes)};
	k.name = reader_text(r);
	k.time_ns = shared(r, k.process, reader_number(r));
	if (k.time_ns != UNKNOWN && k.name)
		*MS_PUSH(&r->m->marks) = k;
}

/* While it is not known which moment is looked at, it is taken for the one that is neither. */
static bool is_at(const struct model *m, const char *label)
{
	return m->at_label ? strcmp(label, m->at_label) == 0
			   : strcmp(label, "end") != 0 && strcmp(label, "peak") != 0;
}

/* Sites without a row have nothing, if the moment's figures are known at all. */
static void begin_sites(struct model *m)
{
	struct mmap_usage *of = ms_arena_alloc(&m->arena, (m->processes.n + 1) * sizeof *of);
	for (size_t i = 0; i < m->processes.n; i++)
		of[i] = (struct mmap_usage){UNKNOWN, UNKNOWN};
	for (size_t i = 0; i < m->snapshots.n; i++) {
		const struct snapshot *s = &m->snapshots.v[i];
		if (strcmp(s->label, m->at_label) != 0)
			continue;
		of[s->process].usable = s->mmap.usable == UNKNOWN ? UNKNOWN : 0;
		of[s->process].mapped = s->mmap.mapped == UNKNOWN ? UNKNOWN : 0;
	}
	for (size_t i = 0; i < m->sites.n; i++)
		m->sites.v[i].at_mmap = of[m->sites.v[i].process];
}

static void read_stat(struct reader *r)
{
	struct model *m = r->m;
	uint32_t snap = MODEL_FIND(m->snapshots, reader_id(r));
	uint32_t site = MODEL_FIND(m->sites, reader_id(r));
	struct live l;
	struct mmap_usage mmap;
	NUMBERS(r, &l.bytes, &l.blocks, &mmap.usable, &mmap.mapped);
	if (snap == NONE || site == NONE)
		return;
	const char *label = m->snapshots.v[snap].label;
	struct site *s = &m->sites.v[site];
	if (strcmp(label, "end") == 0)
		s->end = l;
	if (strcmp(label, "peak") == 0)
		s->peak = l;
	if (is_at(m, label))
		s->at = l;
	if (mmap.usable == UNKNOWN && mmap.mapped == UNKNOWN)
		return;
	if (!r->st)
		*MS_PUSH(&m->mmaps) = (struct site_mmap){snap, site, mmap};
	else if (is_at(m, label))
		s->at_mmap = mmap;
}

/* Fills in the figures of sites that depend on the moment of --at, which was not known when the
 * rows were handed over. */
static void finish_sites(struct model *m)
{
	begin_sites(m);
	for (size_t i = 0; i < m->mmaps.n; i++)
		if (is_at(m, m->snapshots.v[m->mmaps.v[i].snapshot].label))
			m->sites.v[m->mmaps.v[i].site].at_mmap = m->mmaps.v[i].mmap;
	bool end = strcmp(m->at_label, "end") == 0, peak = strcmp(m->at_label, "peak") == 0;
	for (size_t i = 0; i < m->sites.n; i++) {
		struct site *s = &m->sites.v[i];
		if (m->processes.v[s->process].became_row > 0) /* that was no end */
			s->end = (struct live){0};
		if (end || peak)
			s->at = end ? s->end : s->peak;
	}
}

/* Reads a row about blocks of a site that nothing points to, or that were allocated after the
 * scan. */
static void read_verdict(struct reader *r)
{
	struct site_verdict v = {.scan = (uint32_t)reader_id(r),
				 .site = MODEL_FIND(r->m->sites, reader_id(r))};
	v.live.bytes = reader_number_or_0(r);
	v.live.blocks = reader_number_or_0(r);
	const char *is = text(r), *reason = text(r);
	bool direct = is && !strcmp(is, "unreachable"), indirect = is && !strcmp(is, "indirect"),
	     late = reason && !strcmp(reason, "after_scan");
	v.kind = direct ? VERDICT_DIRECT : indirect ? VERDICT_INDIRECT : VERDICT_LATE;
	if (v.site != NONE && (direct || indirect || late))
		*MS_PUSH(&r->m->verdicts) = v;
}

static void read_lost_with(struct reader *r)
{
	struct lost_with v = {.scan = (uint32_t)reader_id(r),
			      .site = MODEL_FIND(r->m->sites, reader_id(r)),
			      .root = MODEL_FIND(r->m->sites, reader_id(r))};
	v.live.bytes = reader_number_or_0(r);
	v.live.blocks = reader_number_or_0(r);
	if (v.site != NONE)
		*MS_PUSH(&r->m->lost_with) = v;
}

static void read_hidden(struct reader *r)
{
	struct hidden *h = &r->m->hidden;
	bool whole_run = sqlite3_column_type(r->st, 0) == SQLITE_NULL;
	h->at_mmap.usable = UNKNOWN; /* nobody noted it */
	uint32_t snap = REFERENCE(r, r->m->snapshots);
	uint64_t *const sums[] = {&h->sites,
				  &h->allocations,
				  &h->frees,
				  &h->reallocations,
				  &h->failed_allocations,
				  &h->allocated_bytes,
				  &h->temporary,
				  &h->maps};
	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
		uint64_t v = reader_number(r);
		if (whole_run)
			*sums[i] = figure_add(*sums[i], v);
	}
	if (snap == NONE)
		return;
	const char *label = r->m->snapshots.v[snap].label;
	struct live l;
	NUMBERS(r, &l.bytes, &l.blocks);
	if (strcmp(label, "end") == 0)
		live_add(&h->end, l);
	if (strcmp(label, "peak") == 0)
		live_add(&h->peak, l);
	if (strcmp(label, r->m->at_label) != 0)
		return;
	live_add(&h->at, l);
	h->at_mmap.mapped = figure_add(h->at_mmap.mapped, reader_number(r));
}

static void read_filter(struct reader *r)
{
	const char *t = reader_text(r);
	struct hidden *h = &r->m->hidden;
	if (t)
		h->filters =
			h->filters ? ms_arena_printf(&r->m->arena, "%s; %s", h->filters, t) : t;
}

/* ---- the database ---- */

#define COLUMN(name, unit, adds) ", " #name
#define MOMENTS 2 /* so many tables come first, */
#define LARGE 7   /* then so many that may be handed over */
static const struct reader_table tables[] = {
	{read_process, NULL},
	{read_snapshot, "SELECT id, process, label, time_ns, live_bytes, live_blocks, rss_bytes,"
			" usable_bytes, mapped_bytes FROM snapshot ORDER BY id"},
	{read_module, "SELECT id, process, path, build_id, kind, symbols, bias, start, \"end\" "
		      "FROM module ORDER BY id"},
	{read_frame, "SELECT id, module, address, function, file, note, line, inlined, runtime"
		     " FROM frame ORDER BY id"},
	{read_node, "SELECT id, parent, frame FROM stack ORDER BY id"},
	{read_site, "SELECT id, process, stack, user_frame, verdict, one_time" MS_FIGURES_OF_SITE(
			    COLUMN) " FROM site ORDER BY id"},
	{read_stat, "SELECT snapshot, site, live_bytes, live_blocks, usable_bytes, mapped_bytes "
		    "FROM site_stat"},
	{read_verdict, "SELECT scan, site, bytes, blocks, verdict, reason FROM site_verdict"},
	{read_lost_with, "SELECT scan, site, root, bytes, blocks FROM lost_with"},
	{read_thread,
	 "SELECT id, process, tid, start_ns, end_ns, allocations, frees,"
	 " allocated_bytes, temporary, peak_bytes, peak_blocks, live_bytes, live_blocks,"
	 " events_lost, waited_ns,"
	 " name FROM thread ORDER BY id"},
	{read_point, "SELECT process" MS_FIGURES_OF_TIMELINE(
			     COLUMN) " FROM timeline ORDER BY process, time_ns"},
	{read_sample, "SELECT process, time_ns, rss_bytes FROM sample ORDER BY process, time_ns"},
	{read_mark, "SELECT process, name, time_ns FROM mark ORDER BY time_ns, process, seq"},
	{read_hidden,
	 "SELECT snapshot, sites, allocations, frees, reallocations, failed_allocations, "
	 "allocated_bytes, temporary, maps, live_bytes, live_blocks, mapped_bytes FROM hidden"},
	{read_filter, "SELECT filter FROM hidden GROUP BY stage, filter ORDER BY stage, filter"},
};

static const char *process_sql(struct model *m)
{
	const char *all =
		"SELECT id, exe, command, host, cwd, end_reason, allocator, trace, state, pid, "
		"ppid, started_ns, duration_ns, exit_status, exit_signal, children_not_recorded, "
		"at_sum_peak_bytes, offset_ns, complete, became";
	for (size_t i = 0; i < quality_figure_count; i++)
		all = ms_arena_printf(&m->arena, "%s, %s", all, quality_figures[i].name);
	for (size_t i = 0; i < FIGURES_NOTED; i++)
		all = ms_arena_printf(&m->arena, "%s, %s", all, figures[i].name);
	return ms_arena_printf(&m->arena, "%s, peak_rss_bytes FROM process ORDER BY id", all);
}

int reader_read(struct model *m, reader_row *row, const char *sql, struct ms_err *err)
{
	struct reader r = {.m = m, .st = ms_sql_prepare(m->db, sql, err)};
	int rc;
	if (!r.st)
		return -1;
	for (; (rc = sqlite3_step(r.st)) == SQLITE_ROW; r.col = 0)
		row(&r);
	sqlite3_finalize(r.st);
	return rc == SQLITE_DONE
		       ? 0
		       : ms_err_set(err, "cannot read the snapshot: %s", sqlite3_errmsg(m->db));
}

/* ---- what is handed over ---- */

static bool is_of(const struct reader_table *t, const char *table)
{
	const char *name = strstr(t->sql, " FROM ") + 6;
	size_t n = strlen(table);
	return strncmp(name, table, n) == 0 && (!name[n] || name[n] == ' ');
}

/* Finds the columns that the query names. */
static void find_columns(struct reader *r, const char *table, const struct ms_value *v, size_t n)
{
	const struct reader_table *t = tables + 1;
	while (!is_of(t, table))
		t++;
	const char *c = t->sql + strlen("SELECT ");
	for (size_t k = 0, len; *(c += strspn(c, "\", ")) != 'F'; k++, c += len) {
		size_t at = 0;
		len = strcspn(c, "\", ");
		while (at < n && (strncmp(c, v[at].column, len) != 0 || v[at].column[len]))
			at++;
		r->at[k] = at;
	}
	r->of = t;
	r->table = table;
	r->row_size = n;
}

static void take_row(void *arg, const char *table, const struct ms_value *v, size_t n)
{
	struct reader *r = arg;
	if (r->table != table)
		find_columns(r, table, v, n);
	r->row = v;
	r->col = 0;
	r->m->handed_over = true;
	r->of->row(r);
}

static void take_node(void *arg, int64_t id, int64_t parent, int64_t frame)
{
	struct reader *r = arg;
	*MS_PUSH(&r->m->nodes) =
		(struct node){id, parent ? (uint32_t)parent - 1 : NONE, (uint32_t)frame - 1};
}

struct ms_row_taker model_taker(struct model *m)
{
	struct reader *r = ms_arena_alloc(&m->arena, sizeof *r);
	r->m = m;
	return (struct ms_row_taker){take_row, take_node, r};
}

/* ---- all tables ---- */

static int read_table(struct model *m, const struct reader_table *t, struct ms_err *err)
{
	if (t->row == read_stat)
		begin_sites(m);
	return reader_read(m, t->row, t->sql ? t->sql : process_sql(m), err);
}

int rows_read_moments(struct model *m, struct ms_err *err)
{
	m->snapshots.n = 0;
	for (size_t i = 0; i < MOMENTS; i++)
		if (read_table(m, &tables[i], err) != 0)
			return -1;
	return 0;
}

int rows_read(struct model *m, struct ms_err *err)
{
	if (m->handed_over)
		finish_sites(m);
	for (size_t i = MOMENTS + (m->handed_over ? LARGE : 0); i < sizeof tables / sizeof *tables;
	     i++)
		if (read_table(m, &tables[i], err) != 0)
			return -1;
	return 0;
}

/* SPDX-License-Identifier: MIT
 * Reads the tables of a snapshot into arrays, turning ids into indices.
 *
 * The database was checked by ms_snapshot_open, but its rows are still anybody's: a reference to a
 * row that is not there becomes NONE, a number that is not a non-negative integer becomes UNKNOWN.
 */
#include "model.h"

#include "beside.h"
#include "diff.h"
#include "gaps.h"
#include "before.h"
#include "inherited.h"
#include "verdicts.h"
#include "watched.h"

#include "libcommon/err.h"

#include <stdlib.h>
#include <string.h>

uint64_t figure_add(uint64_t a, uint64_t b)
{
	if (a == UNKNOWN || b == UNKNOWN)
		return UNKNOWN;
	return a + b < a || a + b == UNKNOWN ? UNKNOWN - 1 : a + b;
}

uint64_t figure_sub(uint64_t a, uint64_t b)
{
	if (a == UNKNOWN || b == UNKNOWN)
		return UNKNOWN;
	return a > b ? a - b : 0;
}

/* ---- columns of the current row
 * ------------------------------------------------------------------ */

struct reader {
	struct model *m;
	sqlite3_stmt *st;
	int col; /* next column */
};

static uint64_t number(struct reader *r)
{
	int c = r->col++;
	if (sqlite3_column_type(r->st, c) != SQLITE_INTEGER)
		return UNKNOWN;
	int64_t v = sqlite3_column_int64(r->st, c);
	return v < 0 ? UNKNOWN : (uint64_t)v;
}

static uint64_t number_or_0(struct reader *r)
{
	uint64_t v = number(r);
	return v == UNKNOWN ? 0 : v;
}

static const char *text(struct reader *r)
{
	int c = r->col++;
	if (sqlite3_column_type(r->st, c) == SQLITE_NULL)
		return NULL;
	const char *s = (const char *)sqlite3_column_text(r->st, c);
	return s ? ms_arena_strndup(&r->m->arena, s, (size_t)sqlite3_column_bytes(r->st, c)) : NULL;
}

static int64_t id(struct reader *r)
{
	return sqlite3_column_int64(r->st, r->col++);
}

/* Index of the element whose first member is `want`, in an array sorted by it. Ids are usually 1,
 * 2, 3: the guess hits. */
static uint32_t find(const void *v, size_t n, size_t size, int64_t want)
{
	const char *base = v;
	if (!base)
		return NONE;
#define ID(i) (*(const int64_t *)(const void *)(base + (i)*size))
	if (want >= 1 && (uint64_t)want <= n && ID((size_t)want - 1) == want)
		return (uint32_t)(want - 1);
	size_t lo = 0, hi = n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (ID(mid) < want)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && ID(lo) == want ? (uint32_t)lo : NONE;
#undef ID
}
#define FIND(a, want) find((a).v, (a).n, sizeof *(a).v, want)

/* A reference in the next column. */
#define REFERENCE(r, a)                                                                            \
	(sqlite3_column_type((r)->st, (r)->col) == SQLITE_INTEGER ? FIND(a, id(r))                 \
								  : ((r)->col++, NONE))

/* ---- one function per table
 * ------------------------------------------------------------------------ */

static void read_process(struct reader *r)
{
	struct process *p = MS_PUSH(&r->m->processes);
	struct totals *t = &p->totals;
	struct quality *q = &p->quality;
	*p = (struct process){.id = id(r)};
	p->pid = number(r);
	p->ppid = number(r);
	p->exe = text(r);
	p->command = text(r);
	p->host = text(r);
	p->cwd = text(r);
	p->started_ns = number(r);
	p->offset_ns = number_or_0(r);
	p->duration_ns = number(r);
	p->exit_status = number(r);
	p->exit_signal = number(r);
	p->end_reason = text(r);
	p->allocator = text(r);
	p->trace = text(r);
	p->state = text(r);
	p->waited_ns = number(r);
	p->children_not_recorded = number(r);
	q->complete = number(r) == 1;
	q->growing = p->state && strcmp(p->state, "growing") == 0;
	uint64_t *const figures[] = {&q->events_lost,
				     &q->sampled_bytes,
				     &q->stacks_cut,
				     &q->stacks_truncated,
				     &q->stacks_not_taken,
				     &q->attached,
				     &q->inferred_frees,
				     &q->unknown_frees,
				     &q->damaged_bytes,
				     &q->damaged_places,
				     &q->frames_without_symbol,
				     &t->allocations,
				     &t->frees,
				     &t->reallocations,
				     &t->failed,
				     &t->allocated_bytes,
				     &t->temporary,
				     &t->peak_bytes,
				     &t->peak_blocks,
				     &t->peak_time_ns,
				     &t->unfreed_bytes,
				     &t->unfreed_blocks,
				     &t->unreachable_bytes,
				     &t->unreachable_blocks};
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		*figures[i] = number(r);
	t->peak_rss_bytes = t->peak_rss_time_ns = t->end_rss_bytes = UNKNOWN;
}

static void read_snapshot(struct reader *r)
{
	struct snapshot s = {.id = id(r), .process = REFERENCE(r, r->m->processes)};
	s.label = text(r);
	s.time_ns = number(r);
	s.live.bytes = number(r);
	s.live.blocks = number(r);
	s.rss_bytes = number(r);
	if (s.process != NONE && s.label)
		*MS_PUSH(&r->m->snapshots) = s;
}

static void read_module(struct reader *r)
{
	struct module *o = MS_PUSH(&r->m->modules);
	*o = (struct module){.id = id(r), .process = REFERENCE(r, r->m->processes)};
	o->path = text(r);
	o->build_id = text(r);
	o->kind = text(r);
	o->symbols = text(r);
	o->bias = number_or_0(r);
}

static void read_frame(struct reader *r)
{
	struct frame *f = MS_PUSH(&r->m->frames);
	*f = (struct frame){.id = id(r), .module = REFERENCE(r, r->m->modules)};
	f->address = number(r);
	f->function = text(r);
	f->file = text(r);
	uint64_t line = number_or_0(r);
	f->line = line > UINT32_MAX ? 0 : (uint32_t)line;
	f->inlined = number_or_0(r) != 0;
	f->runtime = number_or_0(r) != 0;
	f->note = text(r);
}

static void read_node(struct reader *r)
{
	struct node *n = MS_PUSH(&r->m->nodes);
	int64_t own = id(r);
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
	*s = (struct site){.id = id(r), .process = REFERENCE(r, r->m->processes)};
	s->stack = REFERENCE(r, r->m->nodes);
	s->user = REFERENCE(r, r->m->nodes);
	uint64_t *const figures[] = {&s->allocations,     &s->frees,
				     &s->reallocations,   &s->failed,
				     &s->allocated_bytes, &s->temporary,
				     &s->min_size,        &s->max_size,
				     &s->max_live_bytes,  &s->max_live_blocks,
				     &s->first_ns,        &s->last_ns,
				     &s->lifetime_ns,     &s->lifetime_allocations};
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		*figures[i] = number(r);
	s->verdict = text(r);
	if (s->process == NONE)
		r->m->sites.n--;
}

static void read_thread(struct reader *r)
{
	struct thread *t = MS_PUSH(&r->m->threads);
	*t = (struct thread){.id = id(r), .process = REFERENCE(r, r->m->processes)};
	uint64_t *const figures[] = {&t->tid,         &t->start_ns,    &t->end_ns,
				     &t->allocations, &t->frees,       &t->allocated_bytes,
				     &t->temporary,   &t->peak.bytes,  &t->peak.blocks,
				     &t->live.bytes,  &t->live.blocks, &t->events_lost,
				     &t->waited_ns};
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		*figures[i] = number(r);
	t->name = text(r);
	if (t->process == NONE)
		r->m->threads.n--;
}

static void read_class(struct reader *r)
{
	struct size_class *c = MS_PUSH(&r->m->classes);
	*c = (struct size_class){.process = REFERENCE(r, r->m->processes)};
	uint64_t *const figures[] = {
		&c->low,        &c->high,       &c->allocations, &c->allocated_bytes,
		&c->temporary,  &c->peak.bytes, &c->peak.blocks, &c->live.bytes,
		&c->live.blocks};
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		*figures[i] = number(r);
	if (c->process == NONE)
		r->m->classes.n--;
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
	uint64_t *const figures[] = {&p->time_ns,   &p->live_min,        &p->live_max,
				     &p->live_last, &p->blocks_last,     &p->allocations,
				     &p->frees,     &p->allocated_bytes, &p->live_low,
				     &p->live_high, &p->mapped_last};
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		*figures[i] = number(r);
	p->time_ns = shared(r, p->process, p->time_ns);
	if (p->time_ns == UNKNOWN)
		r->m->points.n--;
}

static void read_sample(struct reader *r)
{
	struct sample s = {.process = REFERENCE(r, r->m->processes)};
	s.time_ns = shared(r, s.process, number(r));
	s.rss_bytes = number(r);
	if (s.time_ns != UNKNOWN && s.rss_bytes != UNKNOWN)
		*MS_PUSH(&r->m->samples) = s;
}

static void read_mark(struct reader *r)
{
	struct mark k = {.process = REFERENCE(r, r->m->processes)};
	k.name = text(r);
	k.time_ns = shared(r, k.process, number(r));
	if (k.time_ns != UNKNOWN && k.name)
		*MS_PUSH(&r->m->marks) = k;
}

static struct live *live_of(struct site *s, const struct model *m, const char *label, int which)
{
	if (which == 0 && strcmp(label, "end") == 0)
		return &s->end;
	if (which == 1 && strcmp(label, "peak") == 0)
		return &s->peak;
	return which == 2 && strcmp(label, m->at_label) == 0 ? &s->at : NULL;
}

static void read_stat(struct reader *r)
{
	uint32_t snap = FIND(r->m->snapshots, id(r));
	uint32_t site = FIND(r->m->sites, id(r));
	struct live l;
	l.bytes = number(r);
	l.blocks = number(r);
	for (int which = 0; snap != NONE && site != NONE && which < 3; which++) {
		struct live *to =
			live_of(&r->m->sites.v[site], r->m, r->m->snapshots.v[snap].label, which);
		if (to)
			*to = l;
	}
}

static void add_live(struct live *to, struct live l)
{
	to->bytes = figure_add(to->bytes, l.bytes);
	to->blocks = figure_add(to->blocks, l.blocks);
}

static void read_hidden(struct reader *r)
{
	struct hidden *h = &r->m->hidden;
	bool whole_run = sqlite3_column_type(r->st, 0) == SQLITE_NULL;
	uint32_t snap = REFERENCE(r, r->m->snapshots);
	if (whole_run) {
		uint64_t *const figures[] = {
			&h->sites,  &h->allocations,     &h->frees,    &h->reallocations,
			&h->failed, &h->allocated_bytes, &h->temporary};
		for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
			*figures[i] = figure_add(*figures[i], number(r));
		return;
	}
	if (snap == NONE)
		return;
	const char *label = r->m->snapshots.v[snap].label;
	r->col = 8;
	struct live l;
	l.bytes = number(r);
	l.blocks = number(r);
	if (strcmp(label, "end") == 0)
		add_live(&h->end, l);
	if (strcmp(label, "peak") == 0)
		add_live(&h->peak, l);
	if (strcmp(label, r->m->at_label) == 0)
		add_live(&h->at, l);
}

static void read_filter(struct reader *r)
{
	const char *t = text(r);
	struct hidden *h = &r->m->hidden;
	if (t)
		h->filters =
			h->filters ? ms_arena_printf(&r->m->arena, "%s; %s", h->filters, t) : t;
}

/* ---- the database
 * ----------------------------------------------------------------------------------- */

static const struct {
	void (*row)(struct reader *r);
	const char *sql;
} tables[] = {
	{read_process,
	 "SELECT id, pid, ppid, exe, command, host, cwd, started_ns, offset_ns, duration_ns,"
	 " exit_status, exit_signal, end_reason, allocator, trace, state, waited_ns,"
	 " children_not_recorded, complete, events_lost, sampled_bytes, stacks_cut,"
	 " stacks_truncated, stacks_not_taken, attached, inferred_frees, unknown_frees,"
	 " damaged_bytes, damaged_places, frames_without_symbol, allocations, frees,"
	 " reallocations, failed_allocations, allocated_bytes, temporary_allocations,"
	 " peak_bytes, peak_blocks, peak_time_ns, unfreed_bytes, unfreed_blocks,"
	 " unreachable_bytes, unreachable_blocks FROM process ORDER BY id"},
	{read_snapshot, "SELECT id, process, label, time_ns, live_bytes, live_blocks, rss_bytes"
			" FROM snapshot ORDER BY id"},
	{read_module,
	 "SELECT id, process, path, build_id, kind, symbols, bias FROM module ORDER BY id"},
	{read_frame, "SELECT id, module, address, function, file, line, inlined, runtime, note"
		     " FROM frame ORDER BY id"},
	{read_node, "SELECT id, parent, frame FROM stack ORDER BY id"},
	{read_site, "SELECT id, process, stack, user_frame, allocations, frees, reallocations,"
		    " failed_allocations, allocated_bytes, temporary, min_size, max_size,"
		    " max_live_bytes, max_live_blocks, first_ns, last_ns, lifetime_ns,"
		    " lifetime_allocations, verdict FROM site ORDER BY id"},
	{read_stat, "SELECT snapshot, site, live_bytes, live_blocks FROM site_stat"},
	{read_thread,
	 "SELECT id, process, tid, start_ns, end_ns, allocations, frees,"
	 " allocated_bytes, temporary, peak_bytes, peak_blocks, live_bytes, live_blocks,"
	 " events_lost, waited_ns,"
	 " name FROM thread ORDER BY id"},
	{read_class, "SELECT process, low, high, allocations, allocated_bytes, temporary,"
		     " peak_bytes, peak_blocks, live_bytes, live_blocks FROM size_class"
		     " ORDER BY low, process"},
	{read_point, "SELECT process, time_ns, live_min, live_max, live_last, blocks_last,"
		     " allocations, frees, allocated_bytes, live_low, live_high, mapped_last"
		     " FROM timeline "
		     "ORDER BY process, time_ns"},
	{read_sample, "SELECT process, time_ns, rss_bytes FROM sample ORDER BY process, time_ns"},
	{read_mark, "SELECT process, name, time_ns FROM mark ORDER BY time_ns, process, seq"},
	{read_hidden, "SELECT snapshot, sites, allocations, frees, reallocations,"
		      " failed_allocations, allocated_bytes, temporary, live_bytes, live_blocks"
		      " FROM hidden"},
	{read_filter, "SELECT filter FROM hidden GROUP BY stage, filter ORDER BY stage, filter"},
};

static int read_table(struct model *m, size_t i, struct ms_err *err)
{
	struct reader r = {.m = m, .st = ms_sql_prepare(m->db, tables[i].sql, err)};
	if (!r.st)
		return -1;
	int rc;
	while ((rc = sqlite3_step(r.st)) == SQLITE_ROW) {
		r.col = 0;
		tables[i].row(&r);
	}
	sqlite3_finalize(r.st);
	return rc == SQLITE_DONE
		       ? 0
		       : ms_err_set(err, "cannot read the snapshot: %s", sqlite3_errmsg(m->db));
}

/* Labels that the database has, each once, for a message. */
static const char *labels(struct model *m)
{
	const char *all = "";
	for (size_t i = 0; i < m->snapshots.n; i++) {
		size_t k = 0;
		while (k < i && strcmp(m->snapshots.v[k].label, m->snapshots.v[i].label) != 0)
			k++;
		if (k == i)
			all = ms_arena_printf(&m->arena, "%s%s%s", all, *all ? ", " : "",
					      m->snapshots.v[i].label);
	}
	return *all ? all : "none";
}

static bool has_label(const struct model *m, const char *label)
{
	for (size_t i = 0; i < m->snapshots.n; i++)
		if (strcmp(m->snapshots.v[i].label, label) == 0)
			return true;
	return false;
}

/* Which moment the live figures are of: as asked, else the end, else the last that the database
 * has. */
static int choose_moment(struct model *m, const char *at, struct ms_err *err)
{
	if (at && !has_label(m, at))
		return ms_err_set(err, "no moment '%s' in this snapshot: it has %s", at, labels(m));
	if (at)
		m->at_label = at;
	else if (!m->snapshots.n || has_label(m, "end"))
		m->at_label = "end";
	else
		m->at_label = m->snapshots.v[m->snapshots.n - 1].label;
	return 0;
}

/* Sums one label's snapshots. Nothing known when there is none. */
static struct live sum_moment(const struct model *m, const char *label, uint64_t *time_ns)
{
	struct live sum = {UNKNOWN, UNKNOWN};
	for (size_t i = 0; i < m->snapshots.n; i++) {
		const struct snapshot *s = &m->snapshots.v[i];
		if (strcmp(s->label, label) != 0)
			continue;
		if (sum.bytes == UNKNOWN)
			sum = (struct live){0, 0};
		add_live(&sum, s->live);
		uint64_t t = figure_add(s->time_ns, m->processes.v[s->process].offset_ns);
		if (t != UNKNOWN && (*time_ns == UNKNOWN || t > *time_ns))
			*time_ns = t;
	}
	return sum;
}

static void add_quality(struct quality *to, const struct quality *q)
{
	to->complete = to->complete && q->complete;
	to->growing = to->growing || q->growing;
	uint64_t *a = &to->events_lost;
	const uint64_t *b = &q->events_lost;
	size_t n = (sizeof *q - offsetof(struct quality, events_lost)) / sizeof *a;
	uint64_t sampled = q->sampled_bytes == UNKNOWN || q->sampled_bytes > to->sampled_bytes
				   ? q->sampled_bytes
				   : to->sampled_bytes;
	for (size_t i = 0; i < n; i++)
		a[i] = figure_add(a[i], b[i]);
	to->sampled_bytes = sampled;
}

static void read_part(struct model *m)
{
	static const char from[] = "SELECT min(from_ns + coalesce(offset_ns, 0)) FROM process",
			  to[] = "SELECT max(to_ns + coalesce(offset_ns, 0)) FROM process";
	int64_t a = ms_sql_int(m->db, from, -1), b = ms_sql_int(m->db, to, -1);
	m->part = ms_sql_int(m->db, "SELECT count(*) FROM process WHERE whole = 0", 0) != 0;
	m->from_ns = a < 0 ? UNKNOWN : (uint64_t)a;
	m->to_ns = b < 0 ? UNKNOWN : (uint64_t)b;
}

static uint64_t meta_number(struct model *m, const char *key)
{
	const char *sql = ms_arena_printf(&m->arena,
					  "SELECT value FROM meta WHERE key = '%s'"
					  " AND typeof(value) = 'integer' AND value >= 0",
					  key);
	int64_t v = ms_sql_int(m->db, sql, -1);
	return v < 0 ? UNKNOWN : (uint64_t)v;
}

/* Which traces of a folder could not be read, and why. */
static void read_unreadable(struct model *m)
{
	uint64_t n = meta_number(m, "traces_unreadable");
	m->traces_unreadable = n == UNKNOWN ? 0 : n;
	sqlite3_stmt *r =
		ms_sql_prepare(m->db, "SELECT value FROM meta WHERE key = 'unreadable'", NULL);
	if (r && m->traces_unreadable && sqlite3_step(r) == SQLITE_ROW && sqlite3_column_text(r, 0))
		m->unreadable = ms_arena_strdup(&m->arena, (const char *)sqlite3_column_text(r, 0));
	sqlite3_finalize(r);
}

/* RSS of one process: the largest sample and the last. */
static void sum_samples(struct model *m)
{
	for (size_t i = 0; i < m->samples.n; i++) {
		const struct sample *s = &m->samples.v[i];
		struct totals *t = &m->processes.v[s->process].totals;
		if (t->peak_rss_bytes == UNKNOWN || s->rss_bytes > t->peak_rss_bytes) {
			t->peak_rss_bytes = s->rss_bytes;
			t->peak_rss_time_ns = s->time_ns;
		}
		t->end_rss_bytes = s->rss_bytes;
	}
}

/* Sums of all processes. Peaks of several are not added up: the peak of their sum is a moment of
 * its own. */
static void sum_processes(struct model *m)
{
	m->quality = (struct quality){.complete = m->processes.n > 0};
	for (size_t i = 0; i < m->processes.n; i++) {
		const struct process *p = &m->processes.v[i];
		uint64_t *a = &m->totals.allocations;
		const uint64_t *b = &p->totals.allocations;
		for (size_t k = 0; k < sizeof p->totals / sizeof *a; k++)
			a[k] = figure_add(a[k], b[k]);
		add_quality(&m->quality, &p->quality);
		uint64_t end = figure_add(p->duration_ns, p->offset_ns);
		if (end != UNKNOWN && end > m->duration_ns)
			m->duration_ns = end;
	}
	if (m->processes.n <= 1)
		return;
	m->totals.peak_bytes = m->sum_peak_bytes;
	m->totals.peak_blocks = UNKNOWN;
	m->totals.peak_time_ns = m->sum_peak_time_ns;
	/* each process has its own moment: there is no one figure for all */
	m->totals.peak_rss_bytes = m->totals.peak_rss_time_ns = UNKNOWN;
	m->totals.peak_usable = m->totals.mapped_peak = m->totals.mapped_peak_time_ns = UNKNOWN;
}

static void count_modules(struct model *m)
{
	for (size_t i = 0; i < m->frames.n; i++) {
		const struct frame *f = &m->frames.v[i];
		if (f->module == NONE || f->note)
			continue;
		struct module *o = &m->modules.v[f->module];
		o->frames++;
		o->nameless += !f->function;
		o->lineless += f->function && !f->line;
	}
	for (size_t i = 0; i < m->modules.n; i++) {
		const struct module *o = &m->modules.v[i];
		m->modules_used += o->frames > 0;
		m->modules_nameless += o->nameless > 0;
		m->frames_nameless += o->nameless;
		m->modules_unsound +=
			o->frames && o->symbols &&
			(strcmp(o->symbols, "damaged") == 0 || strcmp(o->symbols, "partial") == 0 ||
			 strcmp(o->symbols, "refused") == 0);
	}
}

int model_load(struct model *m, sqlite3 *db, const char *at, struct ms_err *err)
{
	*m = (struct model){.db = db, .duration_ns = 0, .at_time_ns = UNKNOWN};
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		if (read_table(m, i, err) != 0)
			return -1;
		if (tables[i].row == read_snapshot && choose_moment(m, at, err) != 0)
			return -1;
	}
	if (m->processes.n == 0)
		return ms_err_set(err, "this snapshot holds no process");
	if (gaps_read(m, err) != 0 || inherited_read(m, err) != 0 || before_read(m, err) != 0 ||
	    beside_read(m, err) != 0 || estimates_read(m, err) != 0)
		return -1;
	uint64_t unused = UNKNOWN;
	m->end = sum_moment(m, "end", &unused);
	m->peak = sum_moment(m, "peak", &unused);
	m->at = sum_moment(m, m->at_label, &m->at_time_ns);
	m->cwd = m->processes.v[0].cwd;
	m->sum_peak_bytes = meta_number(m, "sum_peak_bytes");
	m->sum_peak_time_ns = meta_number(m, "sum_peak_time_ns");
	read_part(m);
	if (m->est) /* how sure it is nobody noted */
		m->sum_peak_bytes = m->sum_peak_time_ns = UNKNOWN;
	m->watched = watched_read(m);
	sum_samples(m);
	sum_processes(m);
	read_unreadable(m);
	m->quality.complete = m->quality.complete && !m->traces_unreadable;
	count_modules(m);
	if (diff_read(m, err) != 0)
		return -1;
	m->quality.complete = m->quality.complete && !diff_incomplete(m);
	return verdicts_read(m, err);
}

void model_free(struct model *m)
{
	diff_free(m->diff);
	free(m->modules.v);
	free(m->frames.v);
	free(m->nodes.v);
	free(m->sites.v);
	free(m->processes.v);
	free(m->snapshots.v);
	free(m->threads.v);
	free(m->classes.v);
	free(m->points.v);
	free(m->samples.v);
	free(m->marks.v);
	ms_arena_free(&m->arena);
}

uint32_t model_index(const void *v, size_t n, size_t size, int64_t want)
{
	return find(v, n, size, want);
}

const struct site *model_site(const struct model *m, int64_t want)
{
	uint32_t i = FIND(m->sites, want);
	return i == NONE ? NULL : &m->sites.v[i];
}

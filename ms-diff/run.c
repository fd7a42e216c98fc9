/* SPDX-License-Identifier: MIT
 * One run of a program as it is compared: the tables of its snapshot as arrays.
 *
 * The database was checked when it was opened, but its rows are anybody's: a reference that leads
 * nowhere becomes NONE, and a number that is none becomes UNKNOWN.
 */
#include "run.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/order.h"

#include <string.h>

const char *const side_names[2] = {"old", "new"};
const char *const figure_names[FIGURES] = FIGURE_NAMES("");

/* columns.def says which totals there are, and how they add up. */
#define IS_BYTES_COUNT false
#define IS_BYTES_BYTES true
#define IS_BYTES_TIME false
#define IS_FLOW_FLOW true
#define IS_FLOW_LEVEL false
#define IS_FLOW_NONE false

const struct total totals[TOTALS] = {
#define X(name, unit, adds) {#name, #name, IS_BYTES_##unit, IS_FLOW_##adds},
	MS_TOTALS(X)
#undef X
		{"peak_rss_bytes", NULL, true, false},
	{"end_rss_bytes", NULL, true, false},
	{"live_bytes", NULL, true, false},
	{"live_blocks", NULL, false, false},
	{"own_peaks_bytes", NULL, true, false},
	{"own_peaks_blocks", NULL, false, false},
};

int total_of(enum figure f)
{
	static const int of[FIGURES] = {TOTAL_live_bytes,      TOTAL_live_blocks,
					TOTAL_own_peaks_bytes, TOTAL_own_peaks_blocks,
					TOTAL_allocations,     TOTAL_frees,
					TOTAL_allocated_bytes, TOTAL_temporary_allocations};
	return of[f];
}

int64_t run_total(const struct run *r, const char *name)
{
	for (int i = 0; i < TOTALS; i++)
		if (strcmp(totals[i].name, name) == 0)
			return r->totals[i];
	return UNKNOWN;
}

/* ---- columns of the current row ---- */

struct reader {
	struct run *r;
	sqlite3_stmt *st;
	int col; /* next column */
};

static int64_t number(struct reader *in)
{
	int c = in->col++;
	if (sqlite3_column_type(in->st, c) != SQLITE_INTEGER)
		return UNKNOWN;
	int64_t v = sqlite3_column_int64(in->st, c);
	return v < 0 ? UNKNOWN : v;
}

static int64_t id(struct reader *in)
{
	return sqlite3_column_int64(in->st, in->col++);
}

static const char *text(struct reader *in)
{
	int c = in->col++;
	if (sqlite3_column_type(in->st, c) == SQLITE_NULL)
		return NULL;
	const char *s = (const char *)sqlite3_column_text(in->st, c);
	return s && *s ? ms_arena_strdup(&in->r->arena, s) : NULL;
}

/* Index of the element of that id, or NONE. */
#define INDEX_OF(a, key)                                                                           \
	({                                                                                         \
		int64_t key_ = (key);                                                              \
		__typeof__((a).v) found_ = MS_FIND_ID((a).v, (a).n, key_);                         \
		found_ ? (uint32_t)(found_ - (a).v) : NONE;                                        \
	})
#define REFERENCE(in, a)                                                                           \
	(sqlite3_column_type((in)->st, (in)->col) == SQLITE_INTEGER ? INDEX_OF(a, id(in))          \
								    : ((in)->col++, NONE))

/* ---- one function per table ---- */

static void read_process(struct reader *in)
{
	struct run_process *p = MS_PUSH(&in->r->processes);
	*p = (struct run_process){.id = id(in)};
	p->exe = text(in);
	p->command = text(in);
	p->cwd = text(in);
	p->threads = number(in);
}

static void read_module(struct reader *in)
{
	struct run_module *m = MS_PUSH(&in->r->modules);
	*m = (struct run_module){.id = id(in)};
	m->path = text(in);
	m->build_id = text(in);
	m->bias = number(in);
	m->kind = text(in);
	m->symbols = text(in);
}

static void read_frame(struct reader *in)
{
	struct run_frame *f = MS_PUSH(&in->r->frames);
	*f = (struct run_frame){.id = id(in), .module = REFERENCE(in, in->r->modules)};
	f->address = number(in);
	f->function = text(in);
	f->line = number(in);
	f->runtime = number(in) == 1;
	f->note = text(in);
	f->inlined = number(in) == 1;
	f->file = text(in);
}

static void read_node(struct reader *in)
{
	struct run_node *n = MS_PUSH(&in->r->nodes);
	int64_t own = id(in);
	in->r->nodes.n--; /* a caller comes before: walking outwards ends */
	uint32_t parent = REFERENCE(in, in->r->nodes);
	in->r->nodes.n++;
	*n = (struct run_node){own, parent, REFERENCE(in, in->r->frames)};
	if (n->frame == NONE)
		in->r->nodes.n--;
}

static void read_site(struct reader *in)
{
	struct run_site *s = MS_PUSH(&in->r->sites);
	*s = (struct run_site){.id = id(in), .process = REFERENCE(in, in->r->processes)};
	s->stack = REFERENCE(in, in->r->nodes);
	s->user = REFERENCE(in, in->r->nodes);
	for (int f = ALLOCATIONS; f < FIGURES; f++)
		s->figures[f] = number(in);
	s->allocations = s->figures[ALLOCATIONS] < 0 ? 0 : (double)s->figures[ALLOCATIONS];
	s->bytes = s->figures[ALLOCATED_BYTES] < 0 ? 0 : (double)s->figures[ALLOCATED_BYTES];
	s->most_bytes = number(in);
	s->verdict = text(in);
	s->key = text(in);
	if (s->process == NONE)
		in->r->sites.n--;
}

static void read_stat(struct reader *in)
{
	uint32_t i = INDEX_OF(in->r->sites, id(in));
	const char *label = (const char *)sqlite3_column_text(in->st, in->col++);
	int64_t bytes = number(in), blocks = number(in);
	if (i == NONE || !label)
		return;
	int64_t *f = in->r->sites.v[i].figures;
	if (strcmp(label, in->r->label) == 0) {
		f[LIVE_BYTES] = bytes;
		f[LIVE_BLOCKS] = blocks;
	}
	if (strcmp(label, "peak") == 0) {
		f[PEAK_BYTES] = bytes;
		f[PEAK_BLOCKS] = blocks;
	}
}

static void put_sampled(struct run *r, struct run_site *s, enum figure f, struct interval x)
{
	if (!s->sampled) {
		s->sampled = ms_arena_alloc(&r->arena, FIGURES * sizeof *s->sampled);
		for (int i = 0; i < FIGURES; i++)
			s->sampled[i] = (struct interval){UNKNOWN, UNKNOWN};
	}
	s->sampled[f] = x;
}

static void read_estimate(struct reader *in)
{
	uint32_t i = INDEX_OF(in->r->sites, id(in));
	const char *figure = (const char *)sqlite3_column_text(in->st, in->col++);
	const char *label = (const char *)sqlite3_column_text(in->st, in->col++);
	struct interval x = {number(in), number(in)};
	enum figure f = LIVE_BYTES;
	while (f < FIGURES && figure && strcmp(figure, figure_names[f]) != 0)
		f++;
	if (i == NONE || !figure || f == FIGURES)
		return;
	struct run_site *s = &in->r->sites.v[i];
	if (!label && f >= ALLOCATIONS)
		put_sampled(in->r, s, f, x);
	if (label && f < PEAK_BYTES && strcmp(label, in->r->label) == 0)
		put_sampled(in->r, s, f, x);
	if (label && f < PEAK_BYTES && strcmp(label, "peak") == 0)
		put_sampled(in->r, s, f + PEAK_BYTES, x);
}

static const struct {
	void (*row)(struct reader *in);
	const char *sql;
} tables[] = {
	{read_process, "SELECT id, exe, command, cwd, (SELECT count(*) FROM thread t WHERE"
		       " t.process = process.id AND t.allocations > 0) FROM process ORDER BY id"},
	{read_module, "SELECT id, path, build_id, bias, kind, symbols FROM module ORDER BY id"},
	{read_frame, "SELECT id, module, address, function, line, runtime, note, inlined, file"
		     " FROM frame ORDER BY id"},
	{read_node, "SELECT id, parent, frame FROM stack ORDER BY id"},
	{read_site, "SELECT id, process, stack, user_frame, allocations, frees, allocated_bytes,"
		    " temporary, max_live_bytes, verdict, key FROM site ORDER BY id"},
	{read_stat, "SELECT c.site, t.label, c.live_bytes, c.live_blocks FROM site_stat c"
		    " JOIN snapshot t ON t.id = c.snapshot"},
	{read_estimate, "SELECT e.site, e.figure, t.label, e.low, e.high FROM estimate e"
			" LEFT JOIN snapshot t ON t.id = e.snapshot WHERE e.site > 0"},
};

static int read_table(struct run *r, size_t i, struct ms_err *err)
{
	struct reader in = {.r = r, .st = ms_sql_prepare(r->db, tables[i].sql, err)};
	if (!in.st)
		return -1;
	int rc;
	while ((rc = sqlite3_step(in.st)) == SQLITE_ROW) {
		in.col = 0;
		tables[i].row(&in);
	}
	sqlite3_finalize(in.st);
	return rc == SQLITE_DONE
		       ? 0
		       : ms_err_set(err, "cannot read '%s': %s", r->name, sqlite3_errmsg(r->db));
}

/* ---- totals ---- */

/* The first two columns of the only row of a query, with the label of the moment for ?1. */
static void ask(struct run *r, const char *sql, const char *label, int64_t out[2])
{
	sqlite3_stmt *st = ms_sql_prepare(r->db, sql, NULL);
	struct reader in = {.r = r, .st = st};
	out[0] = out[1] = UNKNOWN;
	if (st && label)
		sqlite3_bind_text(st, 1, label, -1, SQLITE_STATIC);
	if (st && sqlite3_step(st) == SQLITE_ROW)
		for (int i = 0; i < 2 && i < sqlite3_column_count(st); i++)
			out[i] = number(&in);
	sqlite3_finalize(st);
}

static int64_t ask_one(struct run *r, const char *sql, const char *label)
{
	int64_t v[2];
	ask(r, sql, label, v);
	return v[0];
}

static void read_totals(struct run *r)
{
	r->sampled_peak_rss = UNKNOWN;
	for (int i = 0; i < TOTALS; i++) {
		r->totals[i] = UNKNOWN;
		r->sampled_totals[i] = (struct interval){UNKNOWN, UNKNOWN};
		if (totals[i].column)
			r->totals[i] = ask_one(
				r,
				ms_arena_printf(&r->arena,
						"SELECT iif(count(*) = count(%s), sum(%s), NULL)"
						" FROM process",
						totals[i].column, totals[i].column),
				NULL);
	}
	static const char at[] = "SELECT iif(count(*) = count(live_bytes), sum(live_bytes), NULL),"
				 " iif(count(*) = count(live_blocks), sum(live_blocks), NULL)"
				 " FROM snapshot WHERE label = ?";
	ask(r, at, r->label, &r->totals[TOTAL_live_bytes]);
	ask(r, at, "peak", &r->totals[TOTAL_own_peaks_bytes]);
	if (r->processes.n > 1) {
		r->totals[TOTAL_peak_bytes] =
			ask_one(r, "SELECT value FROM meta WHERE key = 'sum_peak_bytes'", NULL);
		r->totals[TOTAL_peak_blocks] = r->totals[TOTAL_mapped_peak_bytes] = UNKNOWN;
		r->totals[TOTAL_peak_time_ns] = r->totals[TOTAL_mapped_peak_time_ns] = UNKNOWN;
		r->totals[TOTAL_peak_usable_bytes] = UNKNOWN;
		return;
	}
	static const char sampled[] = "SELECT max(rss_bytes) FROM sample";
	int64_t kept = ask_one(r, "SELECT peak_rss_bytes FROM process", NULL);
	r->totals[TOTAL_peak_rss_bytes] = kept == UNKNOWN ? ask_one(r, sampled, NULL) : kept;
	r->sampled_peak_rss = kept == UNKNOWN ? UNKNOWN : ask_one(r, sampled, NULL);
	r->totals[TOTAL_end_rss_bytes] =
		ask_one(r,
			"SELECT rss_bytes FROM sample WHERE rss_bytes IS NOT NULL"
			" ORDER BY time_ns DESC LIMIT 1",
			NULL);
}

void runs_level_rss(struct run *const *runs, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		kept += runs[i]->sampled_peak_rss != UNKNOWN;
	for (size_t i = 0; i < n && kept < n; i++)
		if (runs[i]->sampled_peak_rss != UNKNOWN)
			runs[i]->totals[TOTAL_peak_rss_bytes] = runs[i]->sampled_peak_rss;
}

/* Reads how sure the totals of a sampled run are, which is not noted of sums over several
 * processes. */
static void read_sampled_totals(struct run *r)
{
	static const char sql[] = "SELECT low, high FROM estimate WHERE site = 0 AND thread = 0"
				  " AND snapshot = 0 AND figure = ?";
	static const char at[] =
		"SELECT low, high FROM estimate WHERE site = 0 AND thread = 0 AND figure = '%s'"
		" AND snapshot = (SELECT id FROM snapshot WHERE label = ?)";
	if (r->processes.n != 1 || !r->sampled_bytes)
		return;
	int64_t v[2];
	for (int i = 0; i < TOTALS; i++) {
		bool blocks = i == TOTAL_live_blocks || i == TOTAL_own_peaks_blocks;
		const char *name = blocks ? "live_blocks" : "live_bytes";
		if (i < TOTAL_live_bytes || totals[i].column)
			ask(r, sql, totals[i].name, v);
		else
			ask(r, ms_arena_printf(&r->arena, at, name),
			    i < TOTAL_own_peaks_bytes ? r->label : "peak", v);
		r->sampled_totals[i] = (struct interval){v[0], v[1]};
	}
}

static void read_hidden(struct run *r)
{
#define SUM(x) "iif(count(*) = count(" x "), coalesce(sum(" x "), 0), NULL)"
#define FROM " FROM hidden WHERE snapshot IS NULL"
	static const char at[] =
		"SELECT coalesce(sum(h.live_bytes), 0), coalesce(sum(h.live_blocks), 0)"
		" FROM hidden h JOIN snapshot t ON t.id = h.snapshot WHERE t.label = ?";
	r->hidden_sites = ask_one(r, "SELECT coalesce(sum(sites), 0)" FROM, NULL);
	ask(r, "SELECT " SUM("allocations") "," SUM("frees") FROM, NULL, &r->hidden[ALLOCATIONS]);
	ask(r, "SELECT " SUM("allocated_bytes") "," SUM("temporary") FROM, NULL,
	    &r->hidden[ALLOCATED_BYTES]);
	ask(r, at, r->label, &r->hidden[LIVE_BYTES]);
	ask(r, at, "peak", &r->hidden[PEAK_BYTES]);
#undef SUM
#undef FROM
}

/* A site without a row for a moment holds nothing then; when there is no such moment, or the
 * figures are of the whole run but only a moment is compared, nothing is known. */
static void settle(struct run *r, bool flows)
{
	bool peak = r->totals[TOTAL_own_peaks_bytes] != UNKNOWN && flows;
	for (int k = PEAK_BYTES; k < FIGURES; k++) {
		if (k < ALLOCATIONS ? peak : flows)
			continue;
		r->hidden[k] = UNKNOWN;
		for (size_t i = 0; i < r->sites.n; i++)
			r->sites.v[i].figures[k] = UNKNOWN;
	}
	for (int i = 0; i < TOTALS && !flows; i++)
		if (i != TOTAL_live_bytes && i != TOTAL_live_blocks)
			r->totals[i] = UNKNOWN;
}

int run_load(struct run *r, bool flows, struct ms_err *err)
{
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		if (read_table(r, i, err) != 0)
			return -1;
	if (r->processes.n == 0)
		return ms_err_set(err, "cannot compare '%s': it holds no process", r->name);
	r->sampled_bytes = ask_one(r, "SELECT max(sampled_bytes) FROM process", NULL);
	r->sampled_bytes = r->sampled_bytes == UNKNOWN ? 0 : r->sampled_bytes;
	r->events_lost = ask_one(r, "SELECT sum(events_lost) FROM process", NULL);
	r->started_ns = ask_one(r, "SELECT min(started_ns) FROM process", NULL);
	r->complete = !ms_snapshot_incomplete(r->db);
	r->operations = UNKNOWN;
	read_totals(r);
	read_sampled_totals(r);
	read_hidden(r);
	r->filters = ms_sql_text(r->db, "SELECT value FROM meta WHERE key = 'filters'", &r->arena);
	settle(r, flows);
	return 0;
}

/* ---- per operation ---- */

int run_count(struct run *r, const char *per, struct ms_err *err)
{
	if (r->missing) {
		r->operations = 0;
		return 0;
	}
	if (strcmp(per, "allocations") == 0)
		r->operations = ask_one(r, "SELECT sum(allocations) FROM process", NULL);
	else
		r->operations = ask_one(r, "SELECT count(*) FROM mark WHERE name = ?",
					per + strlen("mark:"));
	if (r->operations != UNKNOWN && r->operations > 0)
		return 0;
	return ms_err_set(err, "option '--per %s': none found in '%s'", per, r->name);
}

/* v * to / from, rounded; not known where it does not fit. */
static int64_t scaled(int64_t v, int64_t to, int64_t from)
{
	if (v == UNKNOWN)
		return UNKNOWN;
	long double x = (long double)v * (long double)to / (long double)from + 0.5L;
	return x >= 9.2e18L ? UNKNOWN : (int64_t)x;
}

/* Rounding as it goes: so far / to / from is what the scaled ones add up to. */
struct rounding {
	int64_t sum, given, to, from;
};

static int64_t next(struct rounding *q, int64_t v)
{
	if (v == UNKNOWN)
		return UNKNOWN;
	q->sum = figure_add(q->sum, v);
	int64_t all = scaled(q->sum, q->to, q->from);
	if (all == UNKNOWN)
		return UNKNOWN;
	int64_t one = all - q->given;
	q->given = all;
	return one;
}

void run_scale(struct run *r, int64_t operations)
{
	int64_t from = r->operations;
	if (from == operations || from <= 0)
		return;
	for (int f = ALLOCATIONS; f < FIGURES; f++) {
		struct rounding q = {.to = operations, .from = from};
		for (size_t i = 0; i < r->sites.n; i++) {
			struct run_site *s = &r->sites.v[i];
			s->figures[f] = next(&q, s->figures[f]);
			if (s->sampled) {
				struct interval *x = &s->sampled[f];
				x->low = scaled(x->low, operations, from);
				x->high = scaled(x->high, operations, from);
			}
		}
		r->hidden[f] = next(&q, r->hidden[f]);
	}
	for (int i = 0; i < TOTALS; i++) {
		struct interval *x = &r->sampled_totals[i];
		if (!totals[i].flow)
			continue;
		r->totals[i] = scaled(r->totals[i], operations, from);
		x->low = scaled(x->low, operations, from);
		x->high = scaled(x->high, operations, from);
	}
}

void run_free(struct run *r)
{
	MS_FREE(r->modules.v, r->frames.v, r->nodes.v, r->processes.v, r->sites.v);
	ms_arena_free(&r->arena);
	if (!r->borrowed)
		sqlite3_close(r->db);
}

/* SPDX-License-Identifier: MIT
 * Reads a run of a program for a comparison: the tables of its snapshot as arrays.
 *
 * The structure of the database was checked when it was opened, but rows may contain anything: a
 * reference to a missing row becomes NONE, and a figure that is not a number becomes DELTA_UNKNOWN.
 */
#include "run.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/model/facts.h"
#include "libcommon/model/rows.h"

#include <stdlib.h>
#include <string.h>

const char *const side_names[2] = {"old", "new"};

/* Maps the words for unit and flow in columns.def to members of struct total. */
#define IS_BYTES_COUNT false
#define IS_BYTES_BYTES true
#define IS_BYTES_TIME false
#define IS_FLOW_FLOW true
#define IS_FLOW_LEVEL false
#define IS_FLOW_NONE false

const struct total totals[TOTALS] = {
#define X(name, unit, adds) {#name, IS_BYTES_##unit, IS_FLOW_##adds},
	MS_TOTALS(X)
#undef X
		{"peak_rss_bytes", true, false},
	{"end_rss_bytes", true, false},
	{"live_bytes", true, false},
	{"live_blocks", false, false},
	{"own_peaks_bytes", true, false},
	{"own_peaks_blocks", false, false},
};

int total_of(enum diff_figure f)
{
	static const int of[DIFF_FIGURES] = {TOTAL_live_bytes,      TOTAL_live_blocks,
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
	return DELTA_UNKNOWN;
}

/* Converts an unsigned figure of the model to a signed one. */
static int64_t known(uint64_t v)
{
	return v > INT64_MAX ? DELTA_UNKNOWN : (int64_t)v;
}

/* ---- sites ---- */

static const struct cell_column site_columns[] = {
	CELL(ID, run_site, id),
	CELL(PROCESS, run_site, process),
	CELL(NODE, run_site, stack),
	CELL_AS("user_frame", NODE, run_site, user),
	CELL_AS("allocations", FIGURE, run_site, figures[DIFF_ALLOCATIONS]),
	CELL_AS("frees", FIGURE, run_site, figures[DIFF_FREES]),
	CELL_AS("allocated_bytes", FIGURE, run_site, figures[DIFF_ALLOCATED]),
	CELL_AS("temporary", FIGURE, run_site, figures[DIFF_TEMPORARY]),
	CELL_AS("max_live_bytes", FIGURE, run_site, most_bytes),
	CELL(TEXT, run_site, verdict),
	CELL(TEXT, run_site, key),
};

static void read_site(struct reader *in)
{
	struct run *r = in->arg;
	struct run_site s = {0};
	reader_fill(in, &s);
	for (int f = DIFF_ALLOCATIONS; f < DIFF_FIGURES; f++)
		s.figures[f] = known((uint64_t)s.figures[f]);
	s.most_bytes = known((uint64_t)s.most_bytes);
	s.allocations = s.figures[DIFF_ALLOCATIONS] < 0 ? 0 : (double)s.figures[DIFF_ALLOCATIONS];
	s.bytes = s.figures[DIFF_ALLOCATED] < 0 ? 0 : (double)s.figures[DIFF_ALLOCATED];
	if (s.process != NONE)
		*MS_PUSH(&r->sites) = s;
}

static struct run_site *site_of(struct run *r, int64_t id)
{
	uint32_t i = MODEL_FIND(r->sites, id);
	return i == NONE ? NULL : &r->sites.v[i];
}

static const char *label_of(const struct run *r, uint32_t snapshot)
{
	return snapshot == NONE ? NULL : r->m.snapshots.v[snapshot].label;
}

struct stat_row {
	uint32_t snapshot;
	int64_t site;
	uint64_t bytes, blocks;
};
static const struct cell_column stat_columns[] = {
	CELL(SNAPSHOT, stat_row, snapshot),
	CELL(ID, stat_row, site),
	CELL_AS("live_bytes", FIGURE, stat_row, bytes),
	CELL_AS("live_blocks", FIGURE, stat_row, blocks),
};

static void read_stat(struct reader *in)
{
	struct run *r = in->arg;
	struct stat_row x;
	reader_fill(in, &x);
	struct run_site *s = site_of(r, x.site);
	const char *label = label_of(r, x.snapshot);
	if (!s || !label)
		return;
	if (strcmp(label, r->label) == 0) {
		s->figures[DIFF_LIVE] = known(x.bytes);
		s->figures[DIFF_LIVE_BLOCKS] = known(x.blocks);
	}
	if (strcmp(label, "peak") == 0) {
		s->figures[DIFF_PEAK] = known(x.bytes);
		s->figures[DIFF_PEAK_BLOCKS] = known(x.blocks);
	}
}

/* ---- confidence intervals of a sampled run ---- */

static void put_sampled(struct run *r, struct run_site *s, enum diff_figure f, struct limits x)
{
	if (!s->sampled) {
		s->sampled = ms_arena_alloc(&r->m.arena, DIFF_FIGURES * sizeof *s->sampled);
		for (int i = 0; i < DIFF_FIGURES; i++)
			s->sampled[i] = (struct limits){DELTA_UNKNOWN, DELTA_UNKNOWN};
	}
	s->sampled[f] = x;
}

struct estimate_row {
	uint32_t snapshot;
	int64_t site;
	uint64_t low, high;
	const char *figure;
};
static const struct cell_column estimate_columns[] = {
	CELL(SNAPSHOT, estimate_row, snapshot), CELL(ID, estimate_row, site),
	CELL(FIGURE, estimate_row, low),        CELL(FIGURE, estimate_row, high),
	CELL(BORROWED, estimate_row, figure),
};

static void site_estimate(struct run *r, const struct estimate_row *e, const char *label,
			  struct limits x)
{
	struct run_site *s = site_of(r, e->site);
	enum diff_figure f = diff_figure_named(e->figure, strlen(e->figure));
	if (!s || f == DIFF_FIGURES)
		return;
	if (!label && f >= DIFF_ALLOCATIONS)
		put_sampled(r, s, f, x);
	if (label && f < DIFF_PEAK && strcmp(label, r->label) == 0)
		put_sampled(r, s, f, x);
	if (label && f < DIFF_PEAK && strcmp(label, "peak") == 0)
		put_sampled(r, s, f + DIFF_PEAK, x);
}

/* Stores the confidence interval of a total: if `label` is NULL, of the whole run; else of the live
 * memory at that moment. */
static void total_estimate(struct run *r, const struct estimate_row *e, const char *label,
			   struct limits x)
{
	bool blocks = strcmp(e->figure, "live_blocks") == 0;
	for (int i = 0; i < TOTAL_live_bytes && !label; i++)
		if (strcmp(totals[i].name, e->figure) == 0)
			r->sampled_totals[i] = x;
	if (!label || (!blocks && strcmp(e->figure, "live_bytes") != 0))
		return;
	if (strcmp(label, r->label) == 0)
		r->sampled_totals[TOTAL_live_bytes + blocks] = x;
	if (strcmp(label, "peak") == 0)
		r->sampled_totals[TOTAL_own_peaks_bytes + blocks] = x;
}

static void read_estimate(struct reader *in)
{
	struct run *r = in->arg;
	struct estimate_row e;
	reader_fill(in, &e);
	struct limits x = {known(e.low), known(e.high)};
	const char *label = label_of(r, e.snapshot);
	if (e.figure && e.site)
		site_estimate(r, &e, label, x);
	else if (e.figure && r->m.processes.n == 1 && r->sampled_bytes)
		total_estimate(r, &e, label, x);
}

static const struct reader_table tables[] = {
	READER_TABLE("site", "ORDER BY id", site_columns, read_site),
	READER_TABLE("site_stat", "", stat_columns, read_stat),
	READER_TABLE("estimate", "WHERE site > 0 OR site = 0 AND thread = 0", estimate_columns,
		     read_estimate),
};

/* ---- totals ---- */

/* Sums up the figures of all processes. */
static void sum_processes(struct run *r)
{
	for (size_t i = 0; i < r->m.processes.n; i++) {
		const struct totals *t = &r->m.processes.v[i].totals;
#define X(name, unit, adds)                                                                        \
	r->totals[TOTAL_##name] = delta_add(r->totals[TOTAL_##name], known(t->name));
		MS_TOTALS(X)
#undef X
	}
}

static void put_moment(struct run *r, const char *label, enum total_index at)
{
	struct live l = moment_sum(&r->m, label).live;
	r->totals[at] = known(l.bytes);
	r->totals[at + 1] = known(l.blocks);
}

static void read_totals(struct run *r)
{
	sum_processes(r);
	put_moment(r, r->label, TOTAL_live_bytes);
	put_moment(r, "peak", TOTAL_own_peaks_bytes);
	r->sampled_peak_rss = r->totals[TOTAL_peak_rss_bytes] = r->totals[TOTAL_end_rss_bytes] =
		DELTA_UNKNOWN;
	if (r->m.processes.n > 1) {
		r->totals[TOTAL_peak_bytes] = known(
			model_number(&r->m, "SELECT value FROM meta WHERE key = 'sum_peak_bytes'"));
		r->totals[TOTAL_peak_blocks] = r->totals[TOTAL_mapped_peak_bytes] = DELTA_UNKNOWN;
		r->totals[TOTAL_peak_time_ns] = r->totals[TOTAL_mapped_peak_time_ns] =
			DELTA_UNKNOWN;
		r->totals[TOTAL_peak_usable_bytes] = DELTA_UNKNOWN;
		return;
	}
	int64_t kept = known(r->m.processes.v[0].totals.peak_rss_bytes),
		sampled = known(model_number(&r->m, "SELECT max(rss_bytes) FROM sample"));
	r->totals[TOTAL_peak_rss_bytes] = kept == DELTA_UNKNOWN ? sampled : kept;
	r->sampled_peak_rss = kept == DELTA_UNKNOWN ? DELTA_UNKNOWN : sampled;
	r->totals[TOTAL_end_rss_bytes] =
		known(model_number(&r->m, "SELECT rss_bytes FROM sample WHERE rss_bytes IS NOT NULL"
					  " ORDER BY time_ns DESC LIMIT 1"));
}

void runs_level_rss(struct run *const *runs, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		kept += runs[i]->sampled_peak_rss != DELTA_UNKNOWN;
	for (size_t i = 0; i < n && kept < n; i++)
		if (runs[i]->sampled_peak_rss != DELTA_UNKNOWN)
			runs[i]->totals[TOTAL_peak_rss_bytes] = runs[i]->sampled_peak_rss;
}

static void take_hidden(struct run *r)
{
	const struct hidden *h = &r->m.hidden;
	const uint64_t sums[DIFF_FIGURES] = {h->at.bytes,        h->at.blocks,   h->peak.bytes,
					     h->peak.blocks,     h->allocations, h->frees,
					     h->allocated_bytes, h->temporary};
	r->hidden_sites = known(h->sites);
	for (int f = 0; f < DIFF_FIGURES; f++)
		r->hidden[f] = known(sums[f]);
}

/* Marks peak figures as unknown if the peak is unknown, and figures of the whole run if only
 * moments are compared. All other figures of sites without a row for a moment remain 0. */
static void settle(struct run *r, bool flows)
{
	bool peak = r->totals[TOTAL_own_peaks_bytes] != DELTA_UNKNOWN && flows;
	for (int k = DIFF_PEAK; k < DIFF_FIGURES; k++) {
		if (k < DIFF_ALLOCATIONS ? peak : flows)
			continue;
		r->hidden[k] = DELTA_UNKNOWN;
		for (size_t i = 0; i < r->sites.n; i++)
			r->sites.v[i].figures[k] = DELTA_UNKNOWN;
	}
	for (int i = 0; i < TOTALS && !flows; i++)
		if (i != TOTAL_live_bytes && i != TOTAL_live_blocks)
			r->totals[i] = DELTA_UNKNOWN;
}

/* Tells whether several processes or threads allocated. */
static bool has_threads(struct run *r)
{
	return r->m.processes.n > 1 || model_number(&r->m,
						    "SELECT count(DISTINCT coalesce(of_thread, "
						    "id)) FROM thread WHERE process = %lld"
						    " AND allocations > 0",
						    (long long)r->m.processes.v[0].id) > 1;
}

int run_load(struct run *r, bool flows, struct ms_err *err)
{
	struct model *m = &r->m;
	m->db = r->db;
	m->at_label = r->label;
	m->no_empty_texts = true;
	if (model_read(m,
		       MODEL_PROCESSES | MODEL_SNAPSHOTS | MODEL_MODULES | MODEL_FRAMES |
			       MODEL_NODES | MODEL_HIDDEN,
		       err) != 0)
		return -1;
	r->sampled_bytes =
		(int64_t)figure_or_0(model_number(m, "SELECT max(sampled_bytes) FROM process"));
	for (int i = 0; i < TOTALS; i++)
		r->sampled_totals[i] = (struct limits){DELTA_UNKNOWN, DELTA_UNKNOWN};
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		if (reader_read_table(m, &tables[i], r, err) != 0)
			return -1;
	if (m->processes.n == 0)
		return ms_err_set(err, "cannot compare '%s': its table 'process' is empty",
				  r->name);
	r->events_lost = known(model_number(m, "SELECT sum(events_lost) FROM process"));
	r->started_ns = known(model_number(m, "SELECT min(started_ns) FROM process"));
	r->complete = !ms_snapshot_incomplete(r->db);
	r->operations = DELTA_UNKNOWN;
	r->threaded = has_threads(r);
	read_totals(r);
	take_hidden(r);
	r->filters = ms_sql_text(r->db, "SELECT value FROM meta WHERE key = 'filters'", &m->arena);
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
		r->operations = known(model_number(&r->m, "SELECT sum(allocations) FROM process"));
	else
		r->operations = known(model_number(
			&r->m, "SELECT count(*) FROM mark WHERE name = %Q", per + strlen("mark:")));
	if (r->operations != DELTA_UNKNOWN && r->operations > 0)
		return 0;
	return ms_err_set(err, "option '--per %s': '%s' has no %s", per, r->name,
			  strcmp(per, "allocations") == 0 ? "count of allocations" : "such mark");
}

/* Returns v * to / from, rounded; DELTA_UNKNOWN on overflow. */
static int64_t scaled(int64_t v, int64_t to, int64_t from)
{
	if (v == DELTA_UNKNOWN)
		return DELTA_UNKNOWN;
	long double x = (long double)v * (long double)to / (long double)from + 0.5L;
	return x >= 9.2e18L ? DELTA_UNKNOWN : (int64_t)x;
}

/* Holds the state of scaling a series of values so that the results add up to the scaled sum: each
 * rounding error is carried over to the next value. */
struct rounding {
	int64_t sum, given, to, from;
};

static int64_t next(struct rounding *q, int64_t v)
{
	if (v == DELTA_UNKNOWN)
		return DELTA_UNKNOWN;
	q->sum = delta_add(q->sum, v);
	int64_t all = scaled(q->sum, q->to, q->from);
	if (all == DELTA_UNKNOWN)
		return DELTA_UNKNOWN;
	int64_t one = all - q->given;
	q->given = all;
	return one;
}

void run_scale(struct run *r, int64_t operations)
{
	int64_t from = r->operations;
	if (from == operations || from <= 0)
		return;
	for (int f = DIFF_ALLOCATIONS; f < DIFF_FIGURES; f++) {
		struct rounding q = {.to = operations, .from = from};
		for (size_t i = 0; i < r->sites.n; i++) {
			struct run_site *s = &r->sites.v[i];
			s->figures[f] = next(&q, s->figures[f]);
			if (s->sampled) {
				struct limits *x = &s->sampled[f];
				x->low = scaled(x->low, operations, from);
				x->high = scaled(x->high, operations, from);
			}
		}
		r->hidden[f] = next(&q, r->hidden[f]);
	}
	for (int i = 0; i < TOTALS; i++) {
		struct limits *x = &r->sampled_totals[i];
		if (!totals[i].flow)
			continue;
		r->totals[i] = scaled(r->totals[i], operations, from);
		x->low = scaled(x->low, operations, from);
		x->high = scaled(x->high, operations, from);
	}
}

void run_free(struct run *r)
{
	free(r->sites.v);
	model_free(&r->m);
	if (!r->borrowed)
		sqlite3_close(r->db);
}

/* SPDX-License-Identifier: MIT
 * --growth: which sites grow, how fast, and when they will reach a limit.
 */
#include "kept.h"

#include "names.h"

#include "libcommon/stats/trend.h"
#include "libcommon/model/facts.h"

#include <math.h>
#include <string.h>

enum {
	WHERE,
	PLACE,
	LIVE,
	RATE,
	SLOPE,
	TREND = 7,
	CONFIDENCE,
	STAY,
	REACHES,
	REACHES_NS,
	UNTIL,
	UNTIL_NS,
	SITE
};
static const struct column growth_columns[] = {
	{"first frame of your code", "function", CELL_FUNCTION, .sum = false},
	{"", "place", CELL_PATH, .sum = false},
	{"at end", "live_bytes", CELL_SIZE, .sum = false},
	{"per minute", NULL, CELL_VALUE, .sum = false},
	{NULL, "bytes_per_minute", CELL_VALUE, .sum = false},
	{NULL, "low", CELL_VALUE, .sum = false},
	{NULL, "high", CELL_VALUE, .sum = false},
	{"trend", "trend", CELL_TEXT, .sum = false},
	{"confidence", "confidence", CELL_VALUE, .sum = false},
	{"not freed", NULL, CELL_TEXT, .sum = false, .optional = true},
	{NULL, NULL, CELL_VALUE, .sum = false},
	{NULL, "reaches_ns", CELL_ID, .sum = false},
	{NULL, NULL, CELL_TEXT, .sum = false, .optional = true},
	{NULL, "judged_until_ns", CELL_ID, .sum = false},
	{"#", "site", CELL_VALUE, .sum = false},
};

#define GROWING_SITE "trend IN ('growing', 'doubling') AND site != 0"
enum { VERDICTS = 3 }; /* heaps that the first line of a report names */
#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

static const char *value(struct model *m, sqlite3_stmt *st, int i)
{
	return sqlite3_column_type(st, i) == SQLITE_NULL
		       ? NULL
		       : SAY("%lld", (long long)sqlite3_column_int64(st, i));
}

/* Returns a rate as text: "+3.1 MiB"; NULL = not known. */
static const char *rate(struct model *m, sqlite3_stmt *st, int i)
{
	if (sqlite3_column_type(st, i) == SQLITE_NULL)
		return NULL;
	int64_t v = sqlite3_column_int64(st, i);
	uint64_t size = v < 0 ? -(uint64_t)v : (uint64_t)v;
	return SAY("%s%s", v < 0 ? "-" : v ? "+" : "", say_size(m, size));
}

/* Returns a rate, with its interval if sampling makes it an estimate. */
static const char *estimate(struct model *m, sqlite3_stmt *st, int i)
{
	bool sampled = figure_some(m->quality.sampled_bytes);
	const char *s = rate(m, st, i), *low = rate(m, st, i + 1), *high = rate(m, st, i + 2);
	return sampled && s && low && high ? SAY("%s (%s to %s)", s, low, high) : s;
}

/* Returns the share of blocks that survived: "99 % after 10m 00s"; NULL = not known. */
static const char *survival(struct model *m, uint64_t after, uint64_t survivors, uint64_t victims)
{
	if (after == UNKNOWN || survivors == UNKNOWN || victims == UNKNOWN)
		return NULL;
	return SAY("%s after %s", say_share(m, survivors, figure_add(survivors, victims)),
		   say_time(m, after));
}

/* Returns the time in ns until `live` bytes reach `reach` at that rate; UNKNOWN = never, or not
 * within 10 years. */
static uint64_t reaches(uint64_t live, uint64_t reach, int64_t bytes_per_minute)
{
	if (!reach || live == UNKNOWN)
		return UNKNOWN;
	if (live >= reach)
		return 0;
	double minutes =
		bytes_per_minute > 0 ? (double)(reach - live) / (double)bytes_per_minute : INFINITY;
	return minutes < 10 * 365.25 * 24 * 60 ? (uint64_t)(minutes * 60e9) : UNKNOWN;
}

static const char *heap_name(struct model *m, uint32_t process)
{
	if (m->processes.n < 2 || process == NONE)
		return "(whole heap)";
	const struct process *p = &m->processes.v[process];
	return SAY("(whole heap of %s, pid %llu)", p->exe ? base_name(p->exe) : "?",
		   (unsigned long long)p->pid);
}

static void set_place(struct model *m, struct cell *c, const struct site *s)
{
	const struct frame *f = site_frame(m, s);
	static const struct style plain = {.full_names = true};
	c[WHERE].s = f ? frame_name(&m->arena, m, f) : "(no stack)";
	c[PLACE].s = f ? frame_place(&m->arena, m, f, &plain) : NULL;
	c[LIVE].n = s->end.bytes;
	c[SITE].s = SAY("%lld", (long long)s->id);
}

static void set_row(struct model *m, struct cell *c, sqlite3_stmt *st, uint64_t reach)
{
	const struct site *s = model_site(m, sqlite3_column_int64(st, 1));
	uint32_t p = MODEL_FIND(m->processes, sqlite3_column_int64(st, 0));
	for (size_t i = 0; i <= SITE; i++)
		c[i].n = UNKNOWN;
	if (s) {
		set_place(m, c, s);
	} else {
		c[WHERE].s = heap_name(m, p);
		c[LIVE].n = m->proc_only ? proc_only_heap(m, p)
			    : p == NONE  ? UNKNOWN
					 : m->processes.v[p].totals.unfreed_bytes;
	}
	const char *trend = (const char *)sqlite3_column_text(st, 2);
	bool growing = trend && strcmp(trend, "growing") == 0;
	c[TREND].s = SAY("%s", trend ? trend : "");
	c[RATE].s = estimate(m, st, 3);
	for (int i = 0; i < 3; i++)
		c[SLOPE + i].s = value(m, st, 3 + i);
	if (growing)
		c[CONFIDENCE].s = SAY("%.2f", sqlite3_column_double(st, 6));
	c[STAY].s = survival(m, figure_in(st, 7), figure_in(st, 8), figure_in(st, 9));
	uint64_t ns = growing ? reaches(c[LIVE].n, reach, sqlite3_column_int64(st, 3)) : UNKNOWN;
	c[REACHES_NS].n = ns;
	if (ns != UNKNOWN)
		c[REACHES].s = say_time(m, ns);
	c[UNTIL_NS].n = figure_in(st, 10);
	if (c[UNTIL_NS].n != UNKNOWN)
		c[UNTIL].s = say_time(m, c[UNTIL_NS].n);
}

/* Returns ", judged until 1.5s, when freeing at exit begins" or the like for the processes of the
 * condition `where`, or "" if all were judged until the end. */
static const char *until(struct model *m, const char *where)
{
	const char *said = "";
	sqlite3_stmt *q = model_ask(m,
				    "SELECT teardown_ns, count(*) FROM (SELECT DISTINCT process, "
				    "teardown_ns FROM growth"
				    " WHERE teardown_ns IS NOT NULL AND %s)",
				    where);
	while (model_next(&q)) {
		uint64_t ns = figure_in(q, 0), n = figure_in(q, 1);
		if (n)
			said = n == 1 ? SAY(", judged until %s, when freeing at exit begins",
					    say_time(m, ns))
				      : ", judged until freeing at exit begins";
	}
	return said;
}

/* Returns how a site grows: "+3.1 MiB a minute, confidence 0.99" or "grows in doublings, by 7.5 MiB
 * so far". Columns from `i` on: the rate and its interval, the confidence, the trend, the rise.
 * `per`: text behind a rate. */
static const char *how_it_grows(struct model *m, sqlite3_stmt *st, int i, const char *per)
{
	const char *trend = (const char *)sqlite3_column_text(st, i + 4);
	if (trend && strcmp(trend, "doubling") == 0)
		return SAY(MS_TREND_DOUBLINGS ", by %s so far", say_size(m, figure_in(st, i + 5)));
	return SAY("%s%s, confidence %.2f", estimate(m, st, i), per,
		   sqlite3_column_double(st, i + 3));
}

struct words growth_words(struct model *m, const struct style *st)
{
	struct words w = {0};
	enum { NAMED = 3 };
	sqlite3_stmt *q = model_ask(m, "SELECT process, site, bytes_per_minute, low, high, "
				       "confidence, trend, rise_bytes FROM growth"
				       " WHERE " GROWING_SITE
				       " ORDER BY trend = 'doubling', bytes_per_minute DESC, site");
	size_t more = 0;
	while (model_next(&q)) {
		const struct site *s = model_site(m, sqlite3_column_int64(q, 1));
		const struct frame *f = s ? site_frame(m, s) : NULL;
		if (!f || w.n == NAMED) {
			more++;
			continue;
		}
		const char *kept = kept_remark(m, s, st);
		w.v[w.n++] = SAY(
			"#%lld %s %s, %s%s%s%s", (long long)s->id, frame_label(&m->arena, m, f, st),
			frame_place(&m->arena, m, f, st), how_it_grows(m, q, 2, "/min"),
			s->end.bytes ? "" : ", none live at the end", kept ? ", " : "", kept ?: "");
	}
	if (more)
		w.v[w.n++] = SAY("%s: --growth", say_things(m, more, "more site"));
	if (w.n)
		w.v[w.n - 1] = SAY("%s%s", w.v[w.n - 1], until(m, GROWING_SITE));
	return w;
}

const char *growth_remark(struct model *m, const struct site *s)
{
	const char *said = NULL;
	sqlite3_stmt *q =
		model_ask(m,
			  "SELECT bytes_per_minute, low, high, confidence, trend, rise_bytes"
			  " FROM growth WHERE " GROWING_SITE " AND site = %lld",
			  (long long)s->id);
	while (model_next(&q))
		said = SAY("%s%s", how_it_grows(m, q, 0, " a minute"),
			   s->end.bytes ? "" : ", none live at the end");
	return said
		       ?: SAY("%s allocated between %s and %s, at most %s live at once",
			      say_things(m, s->allocations, "block"), say_time(m, s->first_ns),
			      say_time(m, s->last_ns), say_count(m, s->max_live_blocks));
}

const char *growth_title(struct model *m, enum metric metric)
{
	const char *when = metric == METRIC_GROWING_NOW ? "now"
			   : metric == METRIC_GROWN     ? "each site's maximum"
			   : metric == METRIC_RISEN     ? "total rise"
							: "at the peak";
	if (!growth_known(m))
		return SAY("%s; %s",
			   m->quality.growing ? "GROWING SO FAR, too early to judge the trend"
					      : "KEPT ALL ALONG, run too short to judge growth",
			   when);
	const char *judged = until(m, GROWING_SITE);
	bool as_leak = model_number(
		m, "SELECT count(*) FROM growth WHERE trend = 'growing' AND site != 0");
	return SAY("GROWING%s; %s",
		   *judged   ? judged
		   : as_leak ? " as a leak does"
			     : " in doublings",
		   when);
}

/* Returns the trend of one heap, in the words of `ms-record --poll`. */
static const char *heap_verdict(struct model *m, sqlite3_stmt *st, const char *name)
{
	const char *trend = (const char *)sqlite3_column_text(st, 1);
	trend = trend ? trend : "";
	if (strcmp(trend, "growing") == 0)
		return SAY("%s grows by %s/min, confidence %.2f", name,
			   say_size(m, figure_in(st, 2)), sqlite3_column_double(st, 3));
	if (strcmp(trend, "doubling") == 0)
		return SAY("%s " MS_TREND_DOUBLINGS ", by %s so far", name,
			   say_size(m, figure_in(st, 4)));
	if (strcmp(trend, "step") == 0)
		return SAY("no steady growth: %s rose by %s in one step", name,
			   say_size(m, figure_in(st, 4)));
	if (strcmp(trend, "filling") == 0)
		return SAY("no steady growth: %s rose by %s, levelling off", name,
			   say_size(m, figure_in(st, 4)));
	if (strcmp(trend, "too short") == 0)
		return SAY("cannot be judged for %s: at least %.0f s are needed after the warm-up "
			   "(the first tenth)",
			   name, MS_TREND_SECONDS);
	return SAY("none: %s %s", name, strcmp(trend, "falling") == 0 ? "falls" : "is steady");
}

struct words growth_verdict(struct model *m, const struct style *st)
{
	struct words w = {0};
	bool several = m->processes.n > 1;
	size_t heaps = 0;
	sqlite3_stmt *q = model_ask(
		m, "SELECT process, trend, bytes_per_minute, confidence, rise_bytes"
		   " FROM growth WHERE site = 0"
		   " ORDER BY trend != 'growing', trend != 'doubling', bytes_per_minute DESC,"
		   " process");
	for (; model_next(&q); heaps++) {
		uint32_t p = MODEL_FIND(m->processes, sqlite3_column_int64(q, 0));
		const char *name =
			several && p != NONE
				? SAY("the heap of %s", process_label(&m->arena, &m->processes.v[p],
								      "pid ", st->ascii))
				: "the heap";
		if (heaps < VERDICTS)
			words_add(&w, heap_verdict(m, q, name));
	}
	if (heaps > VERDICTS)
		words_add(&w, SAY("%s: --growth", say_things(m, heaps - VERDICTS, "more heap")));
	if (w.n)
		w.v[w.n - 1] = SAY("%s%s", w.v[w.n - 1], until(m, "site = 0"));
	struct words sites = growth_words(m, st);
	for (size_t i = 0; i < sites.n; i++)
		words_add(&w, sites.v[i]);
	return w;
}

struct table table_growth(struct model *m, uint64_t reach, size_t limit)
{
	struct table t = TABLE_OF(growth_columns, .title = "GROWTH of live memory over time",
				  .empty = "no figures of growth in this snapshot");
	if (figure_some(m->quality.sampled_bytes))
		t.title = "GROWTH of live memory over time: estimates, with 95 % intervals";
	sqlite3_stmt *st = model_ask(
		m,
		"SELECT process, site, trend, bytes_per_minute, low, high, confidence, survival_ns,"
		" survivors, victims, teardown_ns FROM growth ORDER BY site != 0,"
		" CASE trend WHEN 'growing' THEN 0 WHEN 'doubling' THEN 1 WHEN 'filling' THEN 2 "
		"ELSE 3 END,"
		" bytes_per_minute DESC, rise_bytes DESC, process, site");
	const char *judged = until(m, "1");
	if (*judged) {
		t.title = SAY("%s%s", t.title, judged);
		table_retitle(m, &t, UNTIL, "judged until");
	}
	if (reach)
		table_retitle(m, &t, REACHES, SAY("%s in", say_size(m, reach)));
	while (model_next(&st))
		set_row(m, table_row(m, &t)->cells, st, reach);
	table_finish(m, &t, -1, limit, "site", TOTAL_NONE);
	return t;
}

/* SPDX-License-Identifier: MIT
 * Evaluates conditions on sites by database queries.
 */
#include "match.h"
#include "options.h"
#include "where.h"

#include <stdlib.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/names/labels.h"
#include "libcommon/snapshot/snapshot.h"

/* ---- queries ---- */

/* Selects the live figures of the moment labelled ?4, or of all moments if that is null. */
#define LIVE                                                                                       \
	" FROM site_stat c JOIN snapshot t ON t.id = c.snapshot WHERE t.label = coalesce(?4, "     \
	"t.label)"
/* Selects the sites whose figure is at least ?1. A site without blocks has no row of figures, but
 * its figure is 0. */
#define REACHES(figure)                                                                            \
	"SELECT id, 1 FROM site WHERE ?1 = 0 OR id IN (SELECT c.site" LIVE " AND c." figure        \
	" >= ?1)"
/* Selects mean lifetimes. If no block of a site was freed, the condition is definitely not met. */
#define LIFETIME "SELECT id, iif(frees = 0, 0, lifetime_ns / frees "
#define AGE(is)                                                                                    \
	"SELECT c.site, max(c.oldest_ns) " is " ?1" LIVE " AND c.oldest_ns >= 0 GROUP BY c.site"
#define IN_SPAN(column)                                                                            \
	"SELECT s.id, iif(x.low IS NULL OR x.high IS NULL, 0, s." column                           \
	" BETWEEN x.low AND x.high) FROM site s JOIN temp.span x ON x.process = s.process"

#define IN_STACK "SELECT id, 1 FROM site WHERE on_stack(0, stack)"

/* Lists queries for the sites that meet a condition: their ids with 1, 0, or null = not known.
 * Sites that do not meet it may be omitted. ?1 and ?2 are the limits of the condition, ?3 is its
 * text. */
static const struct question {
	const char *sql;   /* NULL = evaluated elsewhere, for instance in born.h; or by --where */
	const char *test;  /* expression on a frame f of the module m, with the same parameters, for
			      on_stack(0, id) in `sql`: true for any frame of a stack */
	const char *label; /* label of the moment to use, whatever was requested; NULL = as
			      requested */
} questions[SUBJECTS] = {
	[MIN] = {REACHES("live_bytes")},
	[MIN_LIVE] = {REACHES("live_bytes"), .label = "end"},
	[MIN_PEAK] = {REACHES("live_bytes"), .label = "peak"},
	[MIN_BLOCKS] = {REACHES("live_blocks")},
	[MIN_ALLOCATED] = {"SELECT id, 1 FROM site WHERE ?1 = 0 OR allocated_bytes >= ?1"},
	[MIN_ALLOCATIONS] = {"SELECT id, 1 FROM site WHERE ?1 = 0 OR allocations >= ?1"},
	/* if several sites are at one place, ms-diff stores the change with one of them */
	[MIN_DELTA] = {"SELECT site, 1 FROM site_diff WHERE delta_live_bytes NOT BETWEEN 1 - ?1 "
		       "AND ?1 - 1"
		       " OR delta_peak_bytes NOT BETWEEN 1 - ?1 AND ?1 - 1"},
	[MIN_LIFETIME] = {LIFETIME ">= ?1) FROM site"},
	[MAX_LIFETIME] = {LIFETIME "<= ?1) FROM site"},
	[MIN_AGE] = {AGE(">=")},
	[MAX_AGE] = {AGE("<=")},
	[FUNCTION] = {IN_STACK, "matches(?3, f.function)"},
	[FILE_NAME] = {IN_STACK, "matches(?3, f.file)"},
	[MODULE] = {IN_STACK, "matches(?3, m.path)"},
	[THREAD] = {"SELECT site, 1 FROM site_thread WHERE thread IN"
		    " (SELECT id FROM thread WHERE is_named(?3, name, tid))"},
	[LABEL] = {"SELECT site, 1 FROM site_thread WHERE thread IN"
		   " (SELECT id FROM thread WHERE is_labelled(?3, label))"},
	[PROCESS] = {"SELECT id, 1 FROM site WHERE process IN"
		     " (SELECT id FROM process WHERE is_program(?3, exe, pid))"},
	[VERDICT] = {"SELECT id, 1 FROM site WHERE coalesce(verdict, 'none') = ?3"},
	/* sizes are known as powers of two; the smallest and the largest block exactly */
	[SIZE] = {"SELECT z.site, 1 FROM site_size z JOIN site s ON s.id = z.site WHERE "
		  "z.allocations > 0"
		  " AND max(z.low, coalesce(s.min_size, z.low)) <= ?2"
		  " AND min(z.high, coalesce(s.max_size, z.high)) >= ?1"},
	[FIRST] = {IN_SPAN("first_ns")},
	[LAST] = {IN_SPAN("last_ns")},
	[TEMPORARY] = {"SELECT id, 1 FROM site WHERE allocations > 0 AND temporary >= allocations"},
	/* a frame that is not known, or represents missing frames, may be user code */
	[RUNTIME] = {"SELECT id, 1 FROM site WHERE one_time IS NOT NULL OR NOT on_stack(0, stack)",
		     "f.runtime IS NOT TRUE OR f.note IS NOT NULL"},
	[ONE_TIME] = {"SELECT id, 1 FROM site WHERE one_time IS NOT NULL"},
};

/* Counts the sites whose block sizes are not known because events were sampled or lost. */
static const char sizeless[] =
	"SELECT count(*) FROM site s WHERE coalesce(s.allocations, 1) > 0 AND NOT EXISTS"
	" (SELECT 1 FROM site_size z WHERE z.site = s.id AND z.allocations > 0)";

static const char *text(sqlite3_value *v)
{
	return (const char *)sqlite3_value_text(v);
}

static void is_named(sqlite3_context *c, int n, sqlite3_value **v)
{
	(void)n;
	sqlite3_result_int(c, match_names(text(v[0]), text(v[1]), sqlite3_value_int64(v[2])));
}

static void is_labelled(sqlite3_context *c, int n, sqlite3_value **v)
{
	(void)n;
	sqlite3_result_int(c, ms_labels_match(text(v[0]), text(v[1])));
}

static void is_program(sqlite3_context *c, int n, sqlite3_value **v)
{
	const char *exe = match_exe(text(v[0]), text(v[1]));
	(void)n;
	sqlite3_result_int(c, match_names(text(v[0]), exe, sqlite3_value_int64(v[2])));
}

/* Implements on_stack(i, id): the current condition's i-th test of frames, for a stack. */
static void on_stack(sqlite3_context *c, int n, sqlite3_value **v)
{
	const struct matches *m = sqlite3_user_data(c);
	uint32_t node = model_node(&m->model, sqlite3_value_int64(v[1]));
	enum truth t = node == NONE ? UNSURE : m->tests.v[sqlite3_value_int(v[0])][node];
	(void)n;
	if (t != UNSURE)
		sqlite3_result_int(c, t == TRUE);
}

void conditions_functions(sqlite3 *db, struct matches *m)
{
	int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
	where_functions(db);
	sqlite3_create_function(db, "is_named", 3, flags, NULL, is_named, NULL, NULL);
	sqlite3_create_function(db, "is_labelled", 2, flags, NULL, is_labelled, NULL, NULL);
	sqlite3_create_function(db, "is_program", 3, flags, NULL, is_program, NULL, NULL);
	sqlite3_create_function(db, "on_stack", 2, flags, m, on_stack, NULL, NULL);
}

/* ---- spans of time ---- */

/* Returns an SQL expression for the time of a point in process p, null if the process has no such
 * point. */
static const char *time_of(struct ms_arena *a, const struct ms_point *p)
{
	long long ns = p->ns < INT64_MAX ? (long long)p->ns : INT64_MAX;
	switch (p->kind) {
	case MS_POINT_PEAK:
		return "p.peak_time_ns";
	case MS_POINT_END:
		return "coalesce(p.duration_ns, 0)";
	case MS_POINT_START:
		return "0";
	case MS_POINT_AFTER:
		return ms_arena_printf(a, "%lld", ns);
	case MS_POINT_BEFORE:
		return ms_arena_printf(a, "iif(p.duration_ns >= %lld, p.duration_ns - %lld, NULL)",
				       ns, ns);
	case MS_POINT_CLOCK:
		return ms_arena_printf(
			a,
			"iif(p.started_ns > 0, (%lld + 86400000000000"
			" - p.started_ns %% 86400000000000) %% 86400000000000, NULL)",
			ns);
	case MS_POINT_SCAN:
		return ms_arena_printf(a,
				       "(SELECT time_ns FROM scan WHERE process = p.id AND scan = "
				       "%llu)",
				       (unsigned long long)p->nth);
	default: /* the last mark if `nth` is 0 */
		return ms_arena_printf(
			a,
			"(SELECT time_ns FROM mark WHERE process = p.id AND name = %s"
			" ORDER BY seq %s LIMIT 1 OFFSET %llu)",
			where_quoted(a, ms_arena_strndup(a, p->mark, p->mark_length)),
			p->nth ? "" : "DESC", (unsigned long long)(p->nth - !!p->nth) & INT64_MAX);
	}
}

/* Makes the table temp.span with the begin and end of a condition's span in each process. */
static int make_span(sqlite3 *db, const struct condition *c, struct ms_arena *a, struct ms_err *err)
{
	static const char sql[] = "DROP TABLE IF EXISTS temp.span; CREATE TEMP TABLE span AS"
				  " SELECT p.id AS process, %s AS low, %s AS high FROM process p";
	const char *low = c->has[0] ? time_of(a, &c->span[0]) : "0";
	const char *high = c->has[1] ? time_of(a, &c->span[1]) : "9223372036854775807";
	if (ms_sql_exec(db, ms_arena_printf(a, sql, low, high), err) != 0)
		return -1;
	if (ms_sql_int(db, "SELECT count(*) FROM temp.span WHERE low > high", 0))
		return ms_err_set(err, "option '--%s': '%s..%s' ends before it begins", c->name,
				  c->span[0].label, c->span[1].label);
	bool there[2] = {ms_sql_int(db, "SELECT count(low) FROM temp.span", 0) != 0,
			 ms_sql_int(db, "SELECT count(high) FROM temp.span", 0) != 0};
	for (int i = 0; i < 2; i++)
		if (c->has[i] && !there[i])
			return ms_err_set(err, "option '--%s': no point '%s' in the snapshot",
					  c->name, c->span[i].label);
	return 0;
}

/* ---- running queries ---- */

static sqlite3_stmt *prepare(sqlite3 *db, const struct condition *c, const char *sql,
			     const char *point, struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(db, sql, err);
	sqlite3_bind_int64(q, 1, c->value < INT64_MAX ? (int64_t)c->value : INT64_MAX);
	sqlite3_bind_int64(q, 2, c->high < INT64_MAX ? (int64_t)c->high : INT64_MAX);
	sqlite3_bind_text(q, 3, c->text, -1, SQLITE_STATIC);
	sqlite3_bind_text(q, 4, point, -1, SQLITE_STATIC);
	return q;
}

static enum truth truth_in(sqlite3_stmt *q, int column)
{
	if (sqlite3_column_type(q, column) == SQLITE_NULL)
		return UNSURE;
	return sqlite3_column_int(q, column) ? TRUE : UNTRUE;
}

sqlite3_stmt *conditions_frames(sqlite3 *db, struct ms_arena *a, const struct condition *c,
				size_t test, struct ms_err *err)
{
	static const char sql[] = "SELECT %s, f.address, f.process, f.note FROM frame f"
				  " LEFT JOIN module m ON m.id = f.module ORDER BY f.id";
	const char *is = c->where ? c->where->tests.v[test] : questions[c->subject].test;
	return prepare(db, c, ms_arena_printf(a, sql, is), NULL, err);
}

static void free_tests(struct matches *m)
{
	while (m->tests.n)
		free(m->tests.v[--m->tests.n]);
}

/* Evaluates the condition's tests of frames for all stacks. */
static int test_stacks(struct matches *m, sqlite3 *db, const struct options *o,
		       const struct condition *c, struct ms_err *err)
{
	size_t count = c->where ? c->where->tests.n : questions[c->subject].test != NULL;
	free_tests(m);
	while (m->tests.n < count && !err->text[0]) {
		unsigned char *frames = ms_xcalloc(m->model.frames.n + 1, 1);
		sqlite3_stmt *q = conditions_frames(db, o->arena, c, m->tests.n, err);
		for (size_t i = 0; q && ms_sql_next(db, q, err) && i < m->model.frames.n; i++)
			frames[i] = (unsigned char)truth_in(q, 0);
		sqlite3_finalize(q);
		unsigned char *stacks = match_stacks(&m->model, frames);
		*MS_PUSH(&m->tests) = stacks;
		free(frames);
	}
	return err->text[0] ? -1 : 0;
}

/* Runs the query of a condition, stores the results in the sites, and counts the results. */
static int ask(struct matches *m, sqlite3 *db, const struct options *o, const struct condition *c,
	       const char *point, size_t *answers, struct ms_err *err)
{
	if (test_stacks(m, db, o, c, err) != 0)
		return -1;
	const char *sql = c->where ? c->where->sql.v : questions[c->subject].sql;
	sqlite3_stmt *q = prepare(db, c, sql, point, err);
	while (q && ms_sql_next(db, q, err)) {
		struct match_site *s = match_site_of(m, sqlite3_column_int64(q, 0));
		enum truth t = truth_in(q, 1);
		if (s && t == TRUE)
			s->found |= match_bit(c);
		m->unknown[c->subject] += s && t == UNSURE && !c->drop;
		++*answers;
	}
	sqlite3_finalize(q);
	return err->text[0] ? -1 : 0;
}

static int ask_question(struct matches *m, sqlite3 *db, const struct options *o,
			const struct condition *c, const char *point, struct ms_err *err)
{
	const struct question *x = &questions[c->subject];
	size_t answers = 0;
	bool span = c->subject == FIRST || c->subject == LAST,
	     age = c->subject == MIN_AGE || c->subject == MAX_AGE;
	static const char has[] = "SELECT 1 FROM snapshot WHERE label = '%s'";
	if (!x->sql && !c->where)
		return 0;
	if (x->label && !ms_sql_int(db, ms_arena_printf(o->arena, has, x->label), 0))
		return ms_err_set(err, "option '--%s': the snapshot has no point '%s'", c->name,
				  x->label);
	if (c->subject == MIN_DELTA && !ms_snapshot_is_diff(db))
		return ms_err_set(err, "option '--min=delta': the snapshot is not a comparison: "
				       "ms-diff makes one");
	if ((span && make_span(db, c, o->arena, err) != 0) ||
	    ask(m, db, o, c, x->label ? x->label : point, &answers, err) != 0)
		return -1;
	if (age && !answers && m->sites.n)
		return ms_err_set(
			err, "this snapshot has no ages of blocks: they are not known at the peak, "
			     "in a sampled recording, or in a snapshot of more than 64 moments");
	return 0;
}

int conditions_ask(struct matches *m, sqlite3 *db, const struct options *o, const char *point,
		   struct ms_err *err)
{
	int rc = 0;
	conditions_functions(db, m);
	for (size_t i = 0; rc == 0 && i < o->conditions.n; i++)
		rc = ask_question(m, db, o, &o->conditions.v[i], point, err);
	free_tests(m);
	if ((o->keep | o->drop >> 32) & KEEP(SIZE))
		m->unknown[SIZE] = (size_t)ms_sql_int(db, sizeless, 0);
	return rc;
}

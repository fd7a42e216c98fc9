/* SPDX-License-Identifier: MIT
 * Spans of time (--first, --last): where their points lie in each process of a snapshot.
 */
#include "spans.h"

#include "options.h"

#include <stdlib.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/snapshot/snapshot.h"

#define DAY INT64_C(86400000000000)

struct process {
	int64_t id, length_ns, peak_ns, started_ns;
	bool has_peak, has_start;
};

/* The time of a mark; its last one when `nth` is 0. */
static bool find_mark(sqlite3 *db, const struct process *p, const struct ms_point *want,
		      int64_t *ns, struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(db,
					 "SELECT time_ns FROM mark WHERE process = ?1 AND name = ?2"
					 " ORDER BY seq",
					 err);
	bool found = false;
	if (!q)
		return false;
	sqlite3_bind_int64(q, 1, p->id);
	sqlite3_bind_text(q, 2, want->mark, want->mark_length, SQLITE_STATIC);
	for (uint64_t nth = 1; ms_sql_next(db, q, err); nth++) {
		if (want->nth != 0 && nth != want->nth)
			continue;
		*ns = sqlite3_column_int64(q, 0);
		found = true;
	}
	sqlite3_finalize(q);
	return found;
}

static bool resolve(sqlite3 *db, const struct process *p, const struct ms_point *want, int64_t *ns,
		    struct ms_err *err)
{
	int64_t given = (int64_t)(want->ns & INT64_MAX);
	*ns = 0;
	switch (want->kind) {
	case MS_POINT_PEAK:
		*ns = p->peak_ns;
		return p->has_peak;
	case MS_POINT_END:
		*ns = p->length_ns;
		return true;
	case MS_POINT_START:
		return true;
	case MS_POINT_AFTER:
		*ns = given;
		return true;
	case MS_POINT_BEFORE:
		*ns = p->length_ns - given;
		return given <= p->length_ns;
	case MS_POINT_CLOCK:
		*ns = (given + DAY - p->started_ns % DAY) % DAY;
		return p->has_start;
	default:
		return find_mark(db, p, want, ns, err);
	}
}

static int add_span(struct spans *s, sqlite3 *db, const struct process *p,
		    const struct condition *c, bool found[2], struct ms_err *err)
{
	struct span_of span = {true, 0, INT64_MAX};
	int64_t *ends[2] = {&span.from_ns, &span.to_ns};
	for (unsigned k = 0; k < 2; k++) {
		if (!c->has[k])
			continue;
		bool there = resolve(db, p, &c->span[k], ends[k], err);
		found[k] |= there;
		span.there &= there;
	}
	*MS_PUSH(&s->spans) = span;
	if (span.there && span.from_ns > span.to_ns)
		return ms_err_set(err, "option '--%s': '%s' is later than '%s'", c->name,
				  c->span[0].label, c->span[1].label);
	return err->text[0] ? -1 : 0;
}

static int read_processes(struct spans *s, sqlite3 *db, const struct options *o, bool (*found)[2],
			  struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(
		db, "SELECT id, duration_ns, peak_time_ns, started_ns FROM process ORDER BY id",
		err);
	int rc = q ? 0 : -1;
	while (rc == 0 && ms_sql_next(db, q, err)) {
		struct process p = {.id = sqlite3_column_int64(q, 0),
				    .length_ns = sqlite3_column_int64(q, 1),
				    .peak_ns = sqlite3_column_int64(q, 2),
				    .started_ns = sqlite3_column_int64(q, 3),
				    .has_peak = sqlite3_column_type(q, 2) != SQLITE_NULL,
				    .has_start = sqlite3_column_int64(q, 3) > 0};
		*MS_PUSH(&s->processes) = p.id;
		for (size_t i = 0; i < s->conditions && rc == 0; i++) {
			const struct condition *c = &o->conditions.v[i];
			if (c->subject == FIRST || c->subject == LAST)
				rc = add_span(s, db, &p, c, found[i], err);
			else
				*MS_PUSH(&s->spans) = (struct span_of){0};
		}
	}
	sqlite3_finalize(q);
	return rc || err->text[0] ? -1 : 0;
}

int spans_read(struct spans *s, sqlite3 *db, const struct options *o, struct ms_err *err)
{
	if (!((o->keep | o->drop >> 32) & (KEEP(FIRST) | KEEP(LAST))))
		return 0;
	s->conditions = o->conditions.n;
	bool(*found)[2] = calloc(s->conditions, sizeof *found);
	if (!found)
		return ms_err_set(err, "out of memory");
	int rc = read_processes(s, db, o, found, err);
	for (size_t i = 0; rc == 0 && i < s->conditions; i++)
		for (unsigned k = 0; k < 2; k++)
			if (o->conditions.v[i].has[k] && !found[i][k])
				rc = ms_err_set(err, "option '--%s': no point '%s' in the snapshot",
						o->conditions.v[i].name,
						o->conditions.v[i].span[k].label);
	free(found);
	return rc;
}

void spans_free(struct spans *s)
{
	free(s->processes.v);
	free(s->spans.v);
}

struct span_of spans_get(const struct spans *s, int64_t process, size_t i)
{
	for (size_t p = 0; p < s->processes.n; p++)
		if (s->processes.v[p] == process)
			return s->spans.v[p * s->conditions + i];
	return (struct span_of){0};
}

/* SPDX-License-Identifier: MIT
 * Conditions on the figures of a site: lifetime, age, sizes, times, and --where.
 */
#include "measures.h"

#include "columns.h"
#include "match.h"
#include "options.h"
#include "spans.h"
#include "where.h"

#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/snapshot/snapshot.h"
#include "libcommon/snapshot/snapshot_diff.h"

#define BY_COLUMNS                                                                                 \
	(KEEP(MIN_DELTA) | KEEP(MIN_LIFETIME) | KEEP(MAX_LIFETIME) | KEEP(FIRST) | KEEP(LAST) |    \
	 KEEP(WHERE))
#define BY_AGE (KEEP(MIN_AGE) | KEEP(MAX_AGE))

/* Where the columns that conditions of their own look at are. */
struct places {
	int lifetime, frees, first, last, delta_live, delta_peak;
};

static struct places find_places(void)
{
	static const char *const names[] = {"lifetime",         "frees",           "first", "last",
					    "delta_live_bytes", "delta_peak_bytes"};
	int at[6];
	for (size_t i = 0; i < 6; i++)
		at[i] = column_find(names[i], strlen(names[i]));
	return (struct places){at[0], at[1], at[2], at[3], at[4], at[5]};
}

/* ---- columns ---- */

static void read_values(sqlite3_stmt *q, struct value *v)
{
	for (size_t i = 0; i < column_count; i++) {
		int at = (int)i + COLUMNS_BEFORE;
		v[i] = (struct value){.known = sqlite3_column_type(q, at) != SQLITE_NULL,
				      .number = sqlite3_column_int64(q, at)};
		if (v[i].known && columns[i].type == COLUMN_TEXT)
			v[i].text = (const char *)sqlite3_column_text(q, at);
	}
}

struct walk {
	struct matches *m;
	int64_t stack;
};

static bool frame_at(const void *arg, unsigned i, const char **function)
{
	const struct walk *w = arg;
	struct stack *k = match_stack_of(w->m, w->stack);
	for (; k && i; i--)
		k = match_stack_of(w->m, k->parent);
	const struct frame *f = k ? match_frame_of(w->m, k->frame) : NULL;
	*function = f ? f->function : NULL;
	return k != NULL;
}

static enum truth within(const struct value *v, uint64_t low, uint64_t high)
{
	if (!v->known)
		return UNKNOWN;
	return v->number >= 0 && (uint64_t)v->number >= low && (uint64_t)v->number <= high ? TRUE
											   : UNTRUE;
}

static enum truth in_span(const struct value *v, struct span_of span)
{
	if (!span.there)
		return UNTRUE;
	if (!v->known)
		return UNKNOWN;
	return v->number >= span.from_ns && v->number <= span.to_ns ? TRUE : UNTRUE;
}

/* A site none of whose blocks was freed has no lifetime, which is known. */
static enum truth lifetime(const struct value *v, const struct places *at, uint64_t low,
			   uint64_t high)
{
	if (v[at->frees].known && v[at->frees].number == 0)
		return UNTRUE;
	return within(&v[at->lifetime], low, high);
}

/* Of several sites at one place, ms-diff has the change under one of them. */
static enum truth changed(const struct value *v, uint64_t least)
{
	uint64_t by = (uint64_t)(v->number < 0 ? -v->number : v->number);
	return v->known && by >= least ? TRUE : UNTRUE;
}

static enum truth evaluate(const struct condition *c, const struct value *v,
			   const struct places *at, struct span_of span,
			   const struct where_row *row)
{
	switch (c->subject) {
	case MIN_LIFETIME:
		return lifetime(v, at, c->value, UINT64_MAX);
	case MAX_LIFETIME:
		return lifetime(v, at, 0, c->value);
	case MIN_DELTA:
		return changed(&v[at->delta_live], c->value) == TRUE
			       ? TRUE
			       : changed(&v[at->delta_peak], c->value);
	case FIRST:
		return in_span(&v[at->first], span);
	case LAST:
		return in_span(&v[at->last], span);
	case WHERE:
		return where_holds(c->where, row);
	default:
		return UNTRUE;
	}
}

static void take(struct matches *m, struct site *s, const struct condition *c, enum truth t)
{
	if (t == TRUE)
		s->found |= match_bit(c);
	m->unknown[c->subject] += t == UNKNOWN && !c->drop;
}

static int read_columns(struct matches *m, sqlite3 *db, const struct options *o, const char *point,
			const struct spans *spans, struct ms_err *err)
{
	struct value *v = ms_arena_alloc(o->arena, column_count * sizeof *v);
	const struct places at = find_places();
	sqlite3_stmt *q = columns_query(db, o->arena, point, err);
	while (q && ms_sql_next(db, q, err)) {
		struct site *s = match_site_of(m, sqlite3_column_int64(q, 0));
		struct walk walk = {m, s ? s->stack : 0};
		struct where_row row = {v, frame_at, &walk};
		if (!s)
			continue;
		read_values(q, v);
		for (size_t i = 0; i < o->conditions.n; i++) {
			const struct condition *c = &o->conditions.v[i];
			if (BY_COLUMNS & KEEP(c->subject))
				take(m, s, c,
				     evaluate(c, v, &at, spans_get(spans, s->process, i), &row));
		}
	}
	sqlite3_finalize(q);
	return err->text[0] ? -1 : 0;
}

/* ---- ages ---- */

static int check_ages(const struct matches *m, struct ms_err *err)
{
	bool known = m->sites.n == 0;
	for (size_t i = 0; i < m->sites.n; i++)
		known |= m->sites.v[i].age >= 0;
	if (known)
		return 0;
	return ms_err_set(err, "no ages of blocks are known in this snapshot: they are not at the "
			       "peak, in a sampled recording, and of over 64 points");
}

/* Of a site without live blocks nothing is asked. */
static void take_ages(struct matches *m, const struct options *o)
{
	for (size_t i = 0; i < m->sites.n; i++)
		for (size_t k = 0; k < o->conditions.n; k++) {
			const struct condition *c = &o->conditions.v[k];
			int64_t age = m->sites.v[i].age;
			if (age < 0 || !(BY_AGE & KEEP(c->subject)))
				continue;
			bool meets = c->subject == MIN_AGE ? (uint64_t)age >= c->value
							   : (uint64_t)age <= c->value;
			take(m, &m->sites.v[i], c, meets ? TRUE : UNTRUE);
		}
}

/* ---- sizes ---- */

/* Sizes are known by powers of two; the site's smallest and largest block are known exactly. */
static int read_sizes(struct matches *m, sqlite3 *db, const struct options *o, struct ms_err *err)
{
	sqlite3_stmt *q =
		ms_sql_prepare(db,
			       "SELECT z.site, max(z.low, coalesce(s.min_size, z.low)),"
			       " min(z.high, coalesce(s.max_size, z.high)) FROM site_size z"
			       " JOIN site s ON s.id = z.site WHERE z.allocations > 0",
			       err);
	while (q && ms_sql_next(db, q, err)) {
		struct site *s = match_site_of(m, sqlite3_column_int64(q, 0));
		uint64_t low = (uint64_t)sqlite3_column_int64(q, 1),
			 high = (uint64_t)sqlite3_column_int64(q, 2);
		for (size_t i = 0; s && i < o->conditions.n; i++) {
			const struct condition *c = &o->conditions.v[i];
			if (c->subject == SIZE && low <= c->high && high >= c->value)
				s->found |= match_bit(c);
		}
	}
	sqlite3_finalize(q);
	return err->text[0] ? -1 : 0;
}

/* Of what was sampled, or lost events, no sizes are known. */
static int count_sizeless(struct matches *m, sqlite3 *db, struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(
		db,
		"SELECT count(*) FROM site s WHERE coalesce(s.allocations, 1) > 0 AND NOT EXISTS"
		" (SELECT 1 FROM site_size z WHERE z.site = s.id AND z.allocations > 0)",
		err);
	if (q && ms_sql_next(db, q, err))
		m->unknown[SIZE] = (size_t)sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return err->text[0] ? -1 : 0;
}

int measures_read(struct matches *m, sqlite3 *db, const struct options *o, const char *point,
		  struct ms_err *err)
{
	uint64_t asked = o->keep | o->drop >> 32;
	struct spans spans = {0};
	if ((asked & KEEP(MIN_DELTA)) && !ms_snapshot_is_diff(db))
		return ms_err_set(err,
				  "option '--min-delta': the snapshot is no comparison: ms-diff "
				  "makes one");
	int rc = spans_read(&spans, db, o, err);
	if (rc == 0 && (asked & BY_COLUMNS))
		rc = read_columns(m, db, o, point, &spans, err);
	if (rc == 0 && (asked & BY_AGE))
		rc = check_ages(m, err);
	if (rc == 0 && (asked & BY_AGE))
		take_ages(m, o);
	if (rc == 0 && (asked & KEEP(SIZE)))
		rc = read_sizes(m, db, o, err) || count_sizeless(m, db, err) ? -1 : 0;
	spans_free(&spans);
	return rc;
}

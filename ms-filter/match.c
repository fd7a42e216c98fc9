/* SPDX-License-Identifier: MIT
 * Which sites of a snapshot meet the conditions.
 *
 * A frame gets the bits of the conditions that it meets; a stack row adds its caller's, which is
 * there already because callers have smaller ids; a site starts with the bits of its stack. All
 * other conditions are questions to the database (conditions.c). A site is kept when it has all
 * bits that were asked for and none that were forbidden.
 */
#include "match.h"

#include "options.h"
#include "where.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/order.h"
#include "libcommon/snapshot/snapshot.h"

#define STACK_SUBJECTS (KEEP(FUNCTION) | KEEP(FILE_NAME) | KEEP(MODULE))

uint64_t match_bit(const struct condition *c)
{
	return c->drop ? DROP(c->subject) : KEEP(c->subject);
}

struct stack *match_stack_of(struct matches *m, int64_t id)
{
	return MS_FIND_ID(m->stacks.v, m->stacks.n, id);
}

struct site *match_site_of(struct matches *m, int64_t id)
{
	return MS_FIND_ID(m->sites.v, m->sites.n, id);
}

const struct frame *match_frame_of(const struct matches *m, int64_t id)
{
	return MS_FIND_ID(m->frames.v, m->frames.n, id);
}

static const char *text(sqlite3_stmt *q, int column)
{
	return (const char *)sqlite3_column_text(q, column);
}

const char *match_exe(const char *pattern, const char *exe)
{
	return exe && !strchr(pattern, '/') ? basename(exe) : exe;
}

bool match_names(const char *pattern, const char *name, int64_t number)
{
	char digits[24];
	snprintf(digits, sizeof digits, "%lld", (long long)number);
	return strcmp(pattern, digits) == 0 || (name && fnmatch(pattern, name, 0) == 0);
}

/* ---- frames and stacks ---- */

/* Columns: id, function, file, module, runtime, note. */
static uint64_t match_frame(const struct options *o, sqlite3_stmt *q)
{
	uint64_t found = 0;
	for (size_t i = 0; i < o->conditions.n; i++) {
		const struct condition *c = &o->conditions.v[i];
		if (!(STACK_SUBJECTS & KEEP(c->subject)) || (found & match_bit(c)))
			continue;
		const char *s = text(q, 1 + (int)(c->subject - FUNCTION));
		if (s && regexec(&c->regex, s, 0, NULL, 0) == 0)
			found |= match_bit(c);
	}
	return found;
}

static const char *kept(const struct matches *m, const struct options *o, sqlite3_stmt *q,
			int column)
{
	const char *s = m->named ? text(q, column) : NULL;
	return s ? ms_arena_strdup(o->arena, s) : NULL;
}

static int read_frames(struct matches *m, sqlite3 *db, const struct options *o, struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(
		db,
		"SELECT f.id, f.function, f.file, m.path, f.runtime, f.note, f.address, f.line,"
		" f.process "
		"FROM frame f LEFT JOIN module m ON m.id = f.module ORDER BY f.id",
		err);
	while (q && ms_sql_next(db, q, err)) {
		/* An unknown frame, or one that stands for missing frames, may be the user's
		 * code. */
		bool missing = sqlite3_column_type(q, 5) != SQLITE_NULL;
		*MS_PUSH(&m->frames) = (struct frame){
			.id = sqlite3_column_int64(q, 0),
			.process = sqlite3_column_int64(q, 8),
			.found = match_frame(o, q),
			.function = kept(m, o, q, 1),
			.file = kept(m, o, q, 2),
			.module = kept(m, o, q, 3),
			.address = sqlite3_column_int64(q, 6),
			.line = sqlite3_column_int64(q, 7),
			.user = sqlite3_column_int64(q, 4) == 0 || missing,
			.missing = missing,
		};
	}
	sqlite3_finalize(q);
	return err->text[0] ? -1 : 0;
}

static int read_stacks(struct matches *m, sqlite3 *db, struct ms_err *err)
{
	sqlite3_stmt *q =
		ms_sql_prepare(db, "SELECT id, parent, frame FROM stack ORDER BY id", err);
	while (q && ms_sql_next(db, q, err)) {
		struct stack k = {.id = sqlite3_column_int64(q, 0),
				  .parent = sqlite3_column_int64(q, 1),
				  .frame = sqlite3_column_int64(q, 2)};
		const struct frame *f = match_frame_of(m, k.frame);
		const struct stack *parent = match_stack_of(m, k.parent);
		k.found = (f ? f->found : 0) | (parent ? parent->found : 0);
		k.user = (f && f->user) || (parent && parent->user);
		*MS_PUSH(&m->stacks) = k;
	}
	sqlite3_finalize(q);
	return err->text[0] ? -1 : 0;
}

/* ---- sites ---- */

static int read_sites(struct matches *m, sqlite3 *db, const struct options *o, struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(
		db, "SELECT id, stack, verdict, one_time FROM site ORDER BY id", err);
	while (q && ms_sql_next(db, q, err)) {
		struct site s = {.id = sqlite3_column_int64(q, 0),
				 .stack = sqlite3_column_int64(q, 1),
				 .verdict = kept(m, o, q, 2),
				 .judged = sqlite3_column_type(q, 2) != SQLITE_NULL};
		const struct stack *k = match_stack_of(m, s.stack);
		bool one_time = sqlite3_column_type(q, 3) != SQLITE_NULL;
		s.found = k ? k->found : 0;
		if ((k && !k->user) || one_time)
			s.found |= KEEP(RUNTIME) | DROP(RUNTIME);
		if (one_time)
			s.found |= KEEP(ONE_TIME) | DROP(ONE_TIME);
		*MS_PUSH(&m->sites) = s;
	}
	sqlite3_finalize(q);
	return err->text[0] ? -1 : 0;
}

/* A stack that is needed has needed callers, so that going outwards can stop at the first one found
 * marked. */
static void need(struct matches *m, int64_t stack)
{
	struct stack *k = match_stack_of(m, stack);
	for (; k && !k->needed; k = match_stack_of(m, k->parent))
		k->needed = true;
}

/* Decides on every site, and marks what the kept ones need. */
static void decide(struct matches *m, const struct options *o)
{
	for (size_t i = 0; i < m->sites.n; i++) {
		struct site *s = &m->sites.v[i];
		s->hidden = (s->found & o->keep) != o->keep || (s->found & o->drop);
		s->hidden ^= o->invert;
		m->hidden += s->hidden;
		m->unknown[VERDICT] += !s->judged && (o->keep & KEEP(VERDICT) & ~s->found);
		if (!s->hidden)
			need(m, s->stack);
	}
}

/* Marks the stacks that freed blocks of the kept sites. */
static int need_frees(struct matches *m, sqlite3 *db, struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(
		db, "SELECT site, stack FROM free_site WHERE stack IS NOT NULL", err);
	while (q && ms_sql_next(db, q, err)) {
		const struct site *s = match_site_of(m, sqlite3_column_int64(q, 0));
		if (s && !s->hidden)
			need(m, sqlite3_column_int64(q, 1));
	}
	sqlite3_finalize(q);
	return err->text[0] ? -1 : 0;
}

int matches_stacks(struct matches *m, sqlite3 *db, const struct options *o, struct ms_err *err)
{
	return read_frames(m, db, o, err) || read_stacks(m, db, err) ? -1 : 0;
}

int matches_find(struct matches *m, sqlite3 *db, const struct options *o, const char *point,
		 struct ms_err *err)
{
	m->named = o->drop & DROP(SUPPRESSED);
	for (size_t i = 0; i < o->conditions.n; i++)
		m->named |= o->conditions.v[i].where && where_needs_stack(o->conditions.v[i].where);
	if (matches_stacks(m, db, o, err) || read_sites(m, db, o, err) ||
	    conditions_ask(m, db, o, point, err))
		return -1;
	if (suppressions_apply(m, db, o, err) || suppressions_retained(m, db, err))
		return -1;
	decide(m, o);
	return need_frees(m, db, err);
}

void matches_free(struct matches *m)
{
	MS_FREE(m->sites.v, m->stacks.v, m->frames.v, m->rules.v);
}

/* SPDX-License-Identifier: MIT
 * Which sites of a snapshot meet the conditions.
 *
 * Every row is read once. A frame gets the bits of the conditions that it meets; a stack row adds
 * its caller's, which is there already because callers have smaller ids; a site starts with the
 * bits of its stack, then its figures, threads and process add theirs. A site is kept when it has
 * all bits that were asked for and none that were forbidden.
 */
#include "match.h"

#include "measures.h"
#include "options.h"
#include "suppressions.h"
#include "where.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/snapshot/snapshot.h"

#define STACK_SUBJECTS (UINT64_C(1) << FUNCTION | UINT64_C(1) << FILE_NAME | UINT64_C(1) << MODULE)

uint64_t match_bit(const struct condition *c)
{
	return c->drop ? DROP(c->subject) : KEEP(c->subject);
}

/* The element of `n` ones of `size` bytes, sorted by the int64_t that each starts with. */
static void *by_id(void *v, size_t n, size_t size, int64_t id)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		char *at = (char *)v + mid * size;
		int64_t found;
		memcpy(&found, at, sizeof found);
		if (found == id)
			return at;
		if (found < id)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

struct stack *match_stack_of(struct matches *m, int64_t id)
{
	return by_id(m->stacks.v, m->stacks.n, sizeof *m->stacks.v, id);
}

struct site *match_site_of(struct matches *m, int64_t id)
{
	return by_id(m->sites.v, m->sites.n, sizeof *m->sites.v, id);
}

const struct frame *match_frame_of(const struct matches *m, int64_t id)
{
	return by_id(m->frames.v, m->frames.n, sizeof *m->frames.v, id);
}

static const char *text(sqlite3_stmt *q, int column)
{
	return (const char *)sqlite3_column_text(q, column);
}

static bool reaches(sqlite3_stmt *q, int column, uint64_t least)
{
	if (sqlite3_column_type(q, column) == SQLITE_NULL)
		return false;
	int64_t v = sqlite3_column_int64(q, column);
	return v >= 0 && (uint64_t)v >= least;
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
		if (!(STACK_SUBJECTS & UINT64_C(1) << c->subject) || (found & match_bit(c)))
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
		/* Of what is not known, or stands for frames that are missing, the user's code may
		 * be part. */
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

/* Columns: id, stack, allocations, temporary, allocated_bytes, pid, exe, process, verdict,
 * one_time. */
static bool has_verdict(sqlite3_stmt *q, const char *wanted)
{
	const char *verdict = text(q, 8);
	return strcmp(verdict ? verdict : "none", wanted) == 0;
}

static uint64_t match_site(const struct options *o, sqlite3_stmt *q, const struct stack *k)
{
	uint64_t found = k ? k->found : 0;
	int64_t made = sqlite3_column_int64(q, 2), temporary = sqlite3_column_int64(q, 3);
	bool one_time = sqlite3_column_type(q, 9) != SQLITE_NULL;
	if (made > 0 && temporary >= made)
		found |= KEEP(TEMPORARY) | DROP(TEMPORARY);
	if ((k && !k->user) || one_time)
		found |= KEEP(RUNTIME) | DROP(RUNTIME);
	if (one_time)
		found |= KEEP(ONE_TIME) | DROP(ONE_TIME);
	for (size_t i = 0; i < o->conditions.n; i++) {
		const struct condition *c = &o->conditions.v[i];
		if (c->subject == MIN_ALLOCATED && reaches(q, 4, c->value))
			found |= match_bit(c);
		if (c->subject == MIN_ALLOCATIONS && reaches(q, 2, c->value))
			found |= match_bit(c);
		if (c->subject == VERDICT && has_verdict(q, c->text))
			found |= match_bit(c);
		if (c->subject != PROCESS)
			continue;
		const char *exe = text(q, 6);
		const char *name = exe && !strchr(c->text, '/') ? basename(exe) : exe;
		if (match_names(c->text, name, sqlite3_column_int64(q, 5)))
			found |= match_bit(c);
	}
	return found;
}

static int read_sites(struct matches *m, sqlite3 *db, const struct options *o, struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(
		db,
		"SELECT s.id, s.stack, s.allocations, s.temporary, s.allocated_bytes, p.pid, p.exe,"
		" s.process, s.verdict, s.one_time "
		"FROM site s LEFT JOIN process p ON p.id = s.process ORDER BY s.id",
		err);
	while (q && ms_sql_next(db, q, err)) {
		struct site s = {.id = sqlite3_column_int64(q, 0),
				 .stack = sqlite3_column_int64(q, 1),
				 .process = sqlite3_column_int64(q, 7),
				 .verdict = kept(m, o, q, 8),
				 .age = -1};
		s.found = match_site(o, q, match_stack_of(m, s.stack));
		*MS_PUSH(&m->sites) = s;
		m->unknown[VERDICT] += (o->keep & KEEP(VERDICT) & ~s.found) != 0 &&
				       sqlite3_column_type(q, 8) == SQLITE_NULL;
	}
	sqlite3_finalize(q);
	return err->text[0] ? -1 : 0;
}

/* Does a condition on live figures look at the moment called `label`? */
static bool looks_at(enum subject subject, const char *label, const char *point)
{
	if (subject == MIN_LIVE || subject == MIN_PEAK)
		return strcmp(label, subject == MIN_LIVE ? "end" : "peak") == 0;
	return !point || strcmp(label, point) == 0;
}

static int read_figures(struct matches *m, sqlite3 *db, const struct options *o, const char *point,
			struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(db,
					 "SELECT c.site, c.live_bytes, c.live_blocks, t.label, "
					 "c.oldest_ns "
					 "FROM site_stat c JOIN snapshot t ON t.id = c.snapshot",
					 err);
	while (q && ms_sql_next(db, q, err)) {
		struct site *s = match_site_of(m, sqlite3_column_int64(q, 0));
		const char *label = text(q, 3);
		if (s && label && looks_at(MIN_AGE, label, point) &&
		    sqlite3_column_type(q, 4) != SQLITE_NULL && sqlite3_column_int64(q, 4) > s->age)
			s->age = sqlite3_column_int64(q, 4);
		for (size_t i = 0; s && label && i < o->conditions.n; i++) {
			const struct condition *c = &o->conditions.v[i];
			if (c->subject > MIN_BLOCKS || c->subject == MIN_ALLOCATED ||
			    c->subject == MIN_DELTA)
				continue;
			if (looks_at(c->subject, label, point) &&
			    reaches(q, c->subject == MIN_BLOCKS ? 2 : 1, c->value))
				s->found |= match_bit(c);
		}
	}
	sqlite3_finalize(q);
	return err->text[0] ? -1 : 0;
}

/* A site that holds nothing at any point has no row of figures, and 0 is reached by everything. */
static void reach_zero(struct matches *m, const struct options *o)
{
	for (size_t i = 0; i < o->conditions.n; i++)
		if (o->conditions.v[i].subject <= MIN_ALLOCATIONS &&
		    o->conditions.v[i].subject != MIN_DELTA && o->conditions.v[i].value == 0)
			for (size_t j = 0; j < m->sites.n; j++)
				m->sites.v[j].found |= match_bit(&o->conditions.v[i]);
}

static int read_threads(struct matches *m, sqlite3 *db, const struct options *o, struct ms_err *err)
{
	if (!(o->keep & KEEP(THREAD)) && !(o->drop & DROP(THREAD)))
		return 0;
	sqlite3_stmt *q = ms_sql_prepare(
		db,
		"SELECT x.site, t.tid, t.name FROM site_thread x JOIN thread t ON t.id = x.thread",
		err);
	while (q && ms_sql_next(db, q, err)) {
		struct site *s = match_site_of(m, sqlite3_column_int64(q, 0));
		for (size_t i = 0; s && i < o->conditions.n; i++) {
			const struct condition *c = &o->conditions.v[i];
			if (c->subject == THREAD &&
			    match_names(c->text, text(q, 2), sqlite3_column_int64(q, 1)))
				s->found |= match_bit(c);
		}
	}
	sqlite3_finalize(q);
	return err->text[0] ? -1 : 0;
}

/* --min-live and --min-peak mean nothing for a snapshot that was not taken at that moment. */
static int check_points(sqlite3 *db, const struct options *o, struct ms_err *err)
{
	if ((o->keep & KEEP(MIN_LIVE)) &&
	    ms_sql_int(db, "SELECT count(*) FROM snapshot WHERE label = 'end'", 0) == 0)
		return ms_err_set(err, "option '--min-live': the snapshot has no point 'end'");
	if ((o->keep & KEEP(MIN_PEAK)) &&
	    ms_sql_int(db, "SELECT count(*) FROM snapshot WHERE label = 'peak'", 0) == 0)
		return ms_err_set(err, "option '--min-peak': the snapshot has no point 'peak'");
	return 0;
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

static bool names_needed(const struct options *o)
{
	bool needed = o->drop & DROP(SUPPRESSED);
	for (size_t i = 0; i < o->conditions.n; i++)
		needed |= o->conditions.v[i].where && where_needs_stack(o->conditions.v[i].where);
	return needed;
}

int matches_find(struct matches *m, sqlite3 *db, const struct options *o, const char *point,
		 struct ms_err *err)
{
	m->named = names_needed(o);
	int rc = check_points(db, o, err) || matches_stacks(m, db, o, err) ||
		 read_sites(m, db, o, err) || read_figures(m, db, o, point, err) ||
		 read_threads(m, db, o, err) || measures_read(m, db, o, point, err) ||
		 suppressions_apply(m, o, err);
	if (rc != 0)
		return -1;
	reach_zero(m, o);
	decide(m, o);
	return need_frees(m, db, err);
}

void matches_free(struct matches *m)
{
	MS_FREE(m->sites.v, m->stacks.v, m->frames.v, m->rules.v);
}

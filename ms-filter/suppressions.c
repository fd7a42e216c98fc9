/* SPDX-License-Identifier: MIT
 * --suppress: which line of which file takes which sites away, and what that comes to.
 */
#include "suppressions.h"

#include "match.h"
#include "options.h"

#include <stdio.h>
#include <stdlib.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/snapshot/snapshot.h"
#include "libcommon/suppress/suppress.h"
#include "libcommon/base/units.h"

#define LINES_MAX 20 /* on standard error; the snapshot has them all */
#define FRAMES_MAX 4096

/* ---- which sites ---- */

static struct ms_suppress_frame frame_of(const struct frame *f)
{
	return (struct ms_suppress_frame){f->function, f->file, f->module, (long)f->line};
}

static void count(struct matches *m, struct site *s, enum ms_suppressed met, uint32_t number)
{
	struct rule *r = &m->rules.v[number - 1];
	r->names += met == MS_SUPPRESS_NAMES;
	r->verdicts += met == MS_SUPPRESS_VERDICT;
	if (met != MS_SUPPRESS_YES || s->rule)
		return;
	r->sites++;
	s->rule = number;
	s->found |= DROP(SUPPRESSED);
}

/* For each stack: does one of its frames meet it? Callers come first. */
static void apply_by_frame(struct matches *m, const struct ms_suppression *rule, uint32_t number)
{
	unsigned char *frames = ms_xrealloc(NULL, m->frames.n + 1, 1),
		      *stacks = ms_xrealloc(NULL, m->stacks.n + 1, 1);
	for (size_t i = 0; i < m->frames.n; i++) {
		struct ms_suppress_frame f = frame_of(&m->frames.v[i]);
		frames[i] = ms_suppress_frame(rule, &f);
	}
	for (size_t i = 0; i < m->stacks.n; i++) {
		const struct stack *k = &m->stacks.v[i];
		const struct stack *up = match_stack_of(m, k->parent);
		const struct frame *f = match_frame_of(m, k->frame);
		unsigned char own = f ? frames[f - m->frames.v] : MS_SUPPRESS_NO,
			      callers = up ? stacks[up - m->stacks.v] : MS_SUPPRESS_NO;
		bool yes = own == MS_SUPPRESS_YES || callers == MS_SUPPRESS_YES;
		stacks[i] = yes ? MS_SUPPRESS_YES : own ? own : callers;
	}
	for (size_t i = 0; i < m->sites.n; i++) {
		const struct stack *k = match_stack_of(m, m->sites.v[i].stack);
		if (k)
			count(m, &m->sites.v[i], stacks[k - m->stacks.v], number);
	}
	free(frames);
	free(stacks);
}

static void apply_by_stack(struct matches *m, const struct ms_suppression *rule, uint32_t number)
{
	static struct ms_suppress_frame frames[FRAMES_MAX];
	for (size_t i = 0; i < m->sites.n; i++) {
		struct site *s = &m->sites.v[i];
		size_t n = 0;
		const struct stack *k = match_stack_of(m, s->stack);
		for (; k && n < FRAMES_MAX; k = match_stack_of(m, k->parent)) {
			const struct frame *f = match_frame_of(m, k->frame);
			frames[n++] = f ? frame_of(f) : (struct ms_suppress_frame){0};
		}
		if (n)
			count(m, s, ms_suppress_stack(rule, frames, n, s->verdict), number);
	}
}

int suppressions_apply(struct matches *m, const struct options *o, struct ms_err *err)
{
	(void)err;
	for (size_t i = 0; i < o->conditions.n; i++) {
		const struct ms_suppressions *s = o->conditions.v[i].suppressions;
		const struct ms_suppression *rule;
		for (size_t k = 0; s && (rule = ms_suppressions_get(s, k)); k++) {
			*MS_PUSH(&m->rules) = (struct rule){.file = ms_suppressions_name(s),
							    .text = rule->text,
							    .line = rule->line};
			if (rule->by_frame)
				apply_by_frame(m, rule, (uint32_t)m->rules.n);
			else
				apply_by_stack(m, rule, (uint32_t)m->rules.n);
		}
	}
	return 0;
}

/* ---- what that comes to ---- */

static int list_met(sqlite3 *db, const struct matches *m, struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(db, "INSERT INTO temp.met VALUES(?1, ?2)", err);
	int rc = q ? 0 : -1;
	for (size_t i = 0; rc == 0 && i < m->sites.n; i++) {
		const struct site *s = &m->sites.v[i];
		if (!s->rule || !s->hidden)
			continue;
		sqlite3_bind_int64(q, 1, s->id);
		sqlite3_bind_int64(q, 2, s->rule);
		if (sqlite3_step(q) != SQLITE_DONE)
			rc = ms_err_set(err, "snapshot database: %s", sqlite3_errmsg(db));
		sqlite3_reset(q);
	}
	sqlite3_finalize(q);
	return rc;
}

static const char insert[] =
	"INSERT OR IGNORE INTO suppression(stage, file, line, rule, sites, live_bytes, live_blocks,"
	" allocations, allocated_bytes, not_applicable, note)"
	" SELECT ?1, ?2, ?3, ?4, count(s.id), coalesce(sum(c.live_bytes), 0),"
	" coalesce(sum(c.live_blocks), 0), iif(count(s.id), sum(s.allocations), 0),"
	" iif(count(s.id), sum(s.allocated_bytes), 0), ?5, ?6"
	" FROM temp.met x JOIN site s ON s.id = x.site"
	" LEFT JOIN snapshot t ON t.process = s.process AND t.label ="
	" (SELECT label FROM snapshot ORDER BY label = 'end' DESC, id LIMIT 1)"
	" LEFT JOIN site_stat c ON c.snapshot = t.id AND c.site = s.id WHERE x.rule = ?7";

static int put_rules(sqlite3 *db, const struct matches *m, int64_t stage, struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(db, insert, err);
	int rc = q ? 0 : -1;
	for (size_t i = 0; rc == 0 && i < m->rules.n; i++) {
		const struct rule *r = &m->rules.v[i];
		const char *note = r->verdicts ? "no verdict is known"
				   : r->names  ? "names of frames are not known"
					       : NULL;
		sqlite3_bind_int64(q, 1, stage);
		sqlite3_bind_text(q, 2, r->file, -1, SQLITE_STATIC);
		sqlite3_bind_int64(q, 3, r->line);
		sqlite3_bind_text(q, 4, r->text, -1, SQLITE_STATIC);
		sqlite3_bind_int64(q, 5, (int64_t)(r->verdicts ? r->verdicts : r->names));
		sqlite3_bind_text(q, 6, note, -1, SQLITE_STATIC);
		sqlite3_bind_int64(q, 7, (int64_t)i + 1);
		if (sqlite3_step(q) != SQLITE_DONE)
			rc = ms_err_set(err, "snapshot database: %s", sqlite3_errmsg(db));
		sqlite3_reset(q);
	}
	sqlite3_finalize(q);
	return rc;
}

int suppressions_note(sqlite3 *db, const struct matches *m, int64_t stage, struct ms_err *err)
{
	if (m->rules.n == 0)
		return 0;
	if (sqlite3_exec(db, "CREATE TEMP TABLE met(site INTEGER PRIMARY KEY, rule INTEGER)", NULL,
			 NULL, NULL) != SQLITE_OK)
		return ms_err_set(err, "snapshot database: %s", sqlite3_errmsg(db));
	int rc = list_met(db, m, err) || put_rules(db, m, stage, err) ? -1 : 0;
	sqlite3_exec(db, "DROP TABLE temp.met", NULL, NULL, NULL);
	return rc;
}

/* ---- to people ---- */

static const char *text(sqlite3_stmt *q, int column)
{
	const char *s = (const char *)sqlite3_column_text(q, column);
	return s ? s : "";
}

static void say_rule(sqlite3_stmt *q, char *line, size_t room)
{
	char bytes[MS_UNIT_BUF], calls[MS_UNIT_BUF];
	int64_t sites = sqlite3_column_int64(q, 3);
	const char *s = sites == 1 ? "" : "s";
	if (sites)
		snprintf(line, room,
			 "'%s' (%s, line %lld) hides %lld site%s: %s live at the end, %s "
			 "allocations",
			 text(q, 2), text(q, 0), (long long)sqlite3_column_int64(q, 1),
			 (long long)sites, s,
			 ms_format_size(bytes, (uint64_t)sqlite3_column_int64(q, 4)),
			 ms_format_count(calls, (uint64_t)sqlite3_column_int64(q, 5)));
	else
		snprintf(line, room, "'%s' (%s, line %lld) is not applicable to %lld site%s: %s",
			 text(q, 2), text(q, 0), (long long)sqlite3_column_int64(q, 1),
			 (long long)sqlite3_column_int64(q, 6),
			 sqlite3_column_int64(q, 6) == 1 ? "" : "s", text(q, 7));
}

void suppressions_say(sqlite3 *db, void (*say)(const void *arg, const char *line), const void *arg)
{
	char line[1024];
	unsigned said = 0, more = 0, idle = 0;
	sqlite3_stmt *q = ms_sql_prepare(
		db,
		"SELECT file, line, rule, sites, live_bytes, allocations, not_applicable, note"
		" FROM suppression WHERE stage = (SELECT max(stage) FROM hidden)"
		" ORDER BY sites > 0 DESC, live_bytes DESC, file, line",
		NULL);
	while (q && sqlite3_step(q) == SQLITE_ROW) {
		if (!sqlite3_column_int64(q, 3) && !sqlite3_column_int64(q, 6)) {
			idle++;
		} else if (said == LINES_MAX) {
			more++;
		} else {
			say_rule(q, line, sizeof line);
			say(arg, line);
			said++;
		}
	}
	sqlite3_finalize(q);
	if (!more && !idle)
		return;
	snprintf(line, sizeof line, "%u %s, %u suppression%s nothing", more,
		 more == 1 ? "more is in the table 'suppression'"
			   : "more are in the table 'suppression'",
		 idle, idle == 1 ? " meets" : "s meet");
	if (!more)
		snprintf(line, sizeof line, "%u suppression%s nothing", idle,
			 idle == 1 ? " meets" : "s meet");
	say(arg, line);
}

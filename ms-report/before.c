/* SPDX-License-Identifier: MIT
 * What attached processes had already.
 */
#include "before.h"

#include <string.h>

#include "libcommon/base/err.h"
#include "libcommon/base/json_writer.h"
#include "names.h"

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

static uint64_t column(sqlite3_stmt *st, int i)
{
	return sqlite3_column_type(st, i) == SQLITE_INTEGER ? (uint64_t)sqlite3_column_int64(st, i)
							    : UNKNOWN;
}

/* Of several processes the sums are known if all of them are; the state is the worst. */
int before_read(struct model *m, struct ms_err *err)
{
	static const char sql[] =
		"SELECT count(before), sum(before_blocks), sum(before_bytes), max(before_largest),"
		" sum(before_frees), sum(before_freed_bytes), sum(before = 'unknown'),"
		" sum(before = 'part'), max(before_why) FROM process WHERE before IS NOT NULL";
	sqlite3_stmt *st = ms_sql_prepare(m->db, sql, err);
	if (!st)
		return -1;
	int rc = sqlite3_step(st);
	bool some = sqlite3_column_int64(st, 6) > 0, part = sqlite3_column_int64(st, 7) > 0;
	struct before *b = &m->before;
	*b = (struct before){.processes = column(st, 0)};
	b->state = !b->processes ? NULL : some ? "unknown" : part ? "part" : "whole";
	b->blocks = some ? UNKNOWN : column(st, 1);
	b->bytes = some ? UNKNOWN : column(st, 2);
	b->largest = some ? UNKNOWN : column(st, 3);
	b->frees = some ? UNKNOWN : column(st, 4);
	b->freed_bytes = some ? UNKNOWN : column(st, 5);
	const char *why = (const char *)sqlite3_column_text(st, 8);
	b->why = why && b->state && strcmp(b->state, "whole") != 0 ? SAY("%s", why) : NULL;
	sqlite3_finalize(st);
	return rc == SQLITE_ROW
		       ? 0
		       : ms_err_set(err, "cannot read the snapshot: %s", sqlite3_errmsg(m->db));
}

static void add(struct words *w, const char *s)
{
	if (w->n < WORDS_MAX)
		w->v[w->n++] = s;
}

void before_words(struct model *m, struct words *w)
{
	const struct before *b = &m->before;
	const char *why = b->why ? SAY(" (%s)", name_clean(&m->arena, b->why, true)) : "";
	if (!b->state) {
		add(w, "attached in mid-run: what was allocated before is not in it");
		return;
	}
	if (b->blocks == UNKNOWN || b->bytes == UNKNOWN) {
		add(w, SAY("attached in mid-run: what was allocated before is not in it, and not "
			   "known%s",
			   why));
		return;
	}
	const char *since = b->frees == UNKNOWN || b->freed_bytes == UNKNOWN
				    ? ""
				    : SAY("; %s with %s of them freed since",
					  say_count(m, b->frees), say_size(m, b->freed_bytes));
	add(w, SAY("attached in mid-run: %s%s with %s from before are not in it%s%s",
		   strcmp(b->state, "part") ? "" : "at least ",
		   say_things(m, b->blocks, "block", "blocks"), say_size(m, b->bytes), since, why));
}

void before_json(const struct model *m, struct ms_json *j)
{
	const struct before *b = &m->before;
	ms_json_string(j, "before", b->state);
	ms_json_number(j, "before_blocks", b->state ? b->blocks : UNKNOWN);
	ms_json_number(j, "before_bytes", b->state ? b->bytes : UNKNOWN);
	ms_json_number(j, "before_largest", b->state ? b->largest : UNKNOWN);
	ms_json_number(j, "before_frees", b->state ? b->frees : UNKNOWN);
	ms_json_number(j, "before_freed_bytes", b->state ? b->freed_bytes : UNKNOWN);
}

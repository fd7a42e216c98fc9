/* SPDX-License-Identifier: MIT
 * What the figures do not have in them, read from the database into the model.
 */
#include "unrecorded.h"

#include "libcommon/base/err.h"

#include <string.h>

static void take_gaps(struct model *m, sqlite3_stmt *st)
{
	m->gaps = (struct gaps){figure_in(st, 0), figure_in(st, 1), figure_in(st, 2),
				figure_in(st, 3), figure_in(st, 4), figure_in(st, 5) == 1};
}

static void take_inherited(struct model *m, sqlite3_stmt *st)
{
	double forked = sqlite3_column_double(st, 0);
	m->inherited = (struct inherited){forked > 0 ? (uint64_t)forked : 0, figure_in(st, 1),
					  figure_in(st, 2), figure_in(st, 3), figure_in(st, 4)};
}

/* Of several processes the sums are known if all of them are; the state is the worst. */
static void take_before(struct model *m, sqlite3_stmt *st)
{
	bool some = sqlite3_column_int64(st, 6) > 0, part = sqlite3_column_int64(st, 7) > 0;
	struct before *b = &m->before;
	*b = (struct before){.processes = figure_in(st, 0)};
	b->state = !b->processes ? NULL : some ? "unknown" : part ? "part" : "whole";
	b->blocks = some ? UNKNOWN : figure_in(st, 1);
	b->bytes = some ? UNKNOWN : figure_in(st, 2);
	b->largest = some ? UNKNOWN : figure_in(st, 3);
	b->frees = some ? UNKNOWN : figure_in(st, 4);
	b->freed_bytes = some ? UNKNOWN : figure_in(st, 5);
	const char *why = (const char *)sqlite3_column_text(st, 8);
	b->why = why && b->state && strcmp(b->state, "whole") != 0 ? ms_arena_strdup(&m->arena, why)
								   : NULL;
}

int unrecorded_read(struct model *m, struct ms_err *err)
{
	static const struct {
		void (*row)(struct model *m, sqlite3_stmt *st);
		const char *sql;
	} sums[] = {
		{take_gaps,
		 "SELECT max(paused_ns), sum(paused_allocations), max(started_late_ns),"
		 " sum(dropped_events), max(dropped_until_ns), max(options LIKE '%keep=last%')"
		 " FROM process"},
		{take_inherited,
		 "SELECT total(forked), sum(inherited_blocks), sum(inherited_bytes),"
		 " sum(inherited_frees), sum(inherited_freed_bytes) FROM process"},
		{take_before,
		 "SELECT count(before), sum(before_blocks), sum(before_bytes), max(before_largest),"
		 " sum(before_frees), sum(before_freed_bytes), sum(before = 'unknown'),"
		 " sum(before = 'part'), max(before_why) FROM process WHERE before IS NOT NULL"},
	};
	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
		sqlite3_stmt *st = ms_sql_prepare(m->db, sums[i].sql, err);
		if (!st)
			return -1;
		int rc = sqlite3_step(st);
		sums[i].row(m, st);
		sqlite3_finalize(st);
		if (rc != SQLITE_ROW)
			return ms_err_set(err, "cannot read the snapshot: %s",
					  sqlite3_errmsg(m->db));
	}
	return 0;
}

uint64_t unrecorded_frees(const struct model *m, uint64_t unknown_frees)
{
	uint64_t passed = m->gaps.paused_allocations;
	return passed == UNKNOWN || unknown_frees == UNKNOWN ? unknown_frees
	       : unknown_frees > passed                      ? unknown_frees - passed
							     : 0;
}

/* SPDX-License-Identifier: MIT
 * What the figures do not have in them, read from the database into the model.
 */
#include "facts.h"

#include "model_rows.h"

#include <string.h>

#define FACT(name, member, sql)                                                                    \
	{                                                                                          \
		name, sql, offsetof(struct model, member)                                          \
	}

const struct unrecorded unrecorded[] = {
	FACT("paused_ns", gaps.paused_ns, "max(paused_ns)"),
	FACT("paused_allocations", gaps.paused_allocations, "sum(paused_allocations)"),
	FACT("started_late_ns", gaps.started_late_ns, "max(started_late_ns)"),
	FACT("dropped_events", gaps.dropped_events, "sum(dropped_events)"),
	FACT("dropped_until_ns", gaps.dropped_until_ns, "max(dropped_until_ns)"),
	FACT(NULL, inherited.processes, "CAST(total(forked) AS INTEGER)"),
	FACT("inherited_blocks", inherited.blocks, "sum(inherited_blocks)"),
	FACT("inherited_bytes", inherited.bytes, "sum(inherited_bytes)"),
	FACT("inherited_frees", inherited.frees, "sum(inherited_frees)"),
	FACT("inherited_freed_bytes", inherited.freed_bytes, "sum(inherited_freed_bytes)"),
	FACT(NULL, before.processes, "count(before)"),
	FACT("before_blocks", before.blocks, "sum(before_blocks)"),
	FACT("before_bytes", before.bytes, "sum(before_bytes)"),
	FACT("before_largest", before.largest, "max(before_largest)"),
	FACT("before_frees", before.frees, "sum(before_frees)"),
	FACT("before_freed_bytes", before.freed_bytes, "sum(before_freed_bytes)"),
};
const size_t unrecorded_count = sizeof unrecorded / sizeof *unrecorded;

uint64_t unrecorded_figure(const struct model *m, size_t i)
{
	return figure_at(m, unrecorded[i].offset);
}

/* Of several processes the sums are known if all of them are; the state is the worst. */
static void take_before(struct model *m, bool some, bool part, const char *why)
{
	struct before *b = &m->before;
	b->state = !b->processes ? NULL : some ? "unknown" : part ? "part" : "whole";
	if (some)
		b->blocks = b->bytes = b->largest = b->frees = b->freed_bytes = UNKNOWN;
	b->why = why && b->state && strcmp(b->state, "whole") != 0 ? ms_arena_strdup(&m->arena, why)
								   : NULL;
}

static void take(struct reader *r)
{
	struct model *m = r->m;
	sqlite3_stmt *st = r->st;
	for (size_t i = 0; i < unrecorded_count; i++)
		*(uint64_t *)(void *)((char *)m + unrecorded[i].offset) = figure_in(st, 4 + (int)i);
	m->gaps.last = figure_in(st, 0) == 1;
	take_before(m, sqlite3_column_int64(st, 1) > 0, sqlite3_column_int64(st, 2) > 0,
		    (const char *)sqlite3_column_text(st, 3));
}

int unrecorded_read(struct model *m, struct ms_err *err)
{
	const char *sql = "SELECT max(options LIKE '%keep=last%'), sum(before = 'unknown'),"
			  " sum(before = 'part'), max(before_why)";
	for (size_t i = 0; i < unrecorded_count; i++)
		sql = ms_arena_printf(&m->arena, "%s, %s", sql, unrecorded[i].sql);
	return reader_read(m, take, ms_arena_printf(&m->arena, "%s FROM process", sql), err);
}

uint64_t unrecorded_frees(const struct model *m, uint64_t unknown_frees)
{
	uint64_t passed = m->gaps.paused_allocations;
	return passed == UNKNOWN || unknown_frees == UNKNOWN ? unknown_frees
	       : unknown_frees > passed                      ? unknown_frees - passed
							     : 0;
}

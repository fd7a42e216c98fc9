/* SPDX-License-Identifier: MIT
 * What forked processes inherited from their parents.
 */
#include "inherited.h"

#include "libcommon/base/err.h"
#include "libcommon/base/json_writer.h"

static uint64_t column(sqlite3_stmt *st, int i)
{
	return sqlite3_column_type(st, i) == SQLITE_INTEGER ? (uint64_t)sqlite3_column_int64(st, i)
							    : UNKNOWN;
}

int inherited_read(struct model *m, struct ms_err *err)
{
	sqlite3_stmt *st =
		ms_sql_prepare(m->db,
			       "SELECT total(forked), sum(inherited_blocks), sum(inherited_bytes),"
			       " sum(inherited_frees), sum(inherited_freed_bytes) FROM process",
			       err);
	if (!st)
		return -1;
	int rc = sqlite3_step(st);
	double forked = sqlite3_column_double(st, 0);
	m->inherited = (struct inherited){forked > 0 ? (uint64_t)forked : 0, column(st, 1),
					  column(st, 2), column(st, 3), column(st, 4)};
	sqlite3_finalize(st);
	return rc == SQLITE_ROW
		       ? 0
		       : ms_err_set(err, "cannot read the snapshot: %s", sqlite3_errmsg(m->db));
}

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

void inherited_words(struct model *m, struct words *w)
{
	const struct inherited *i = &m->inherited;
	bool one = m->processes.n == 1;
	if (!i->processes || i->blocks == UNKNOWN || !i->blocks || w->n == WORDS_MAX)
		return;
	const char *by =
		one ? "from the parent"
		    : SAY("by %s from their parents",
			  say_things(m, i->processes, "forked process", "forked processes"));
	if (one && m->processes.v[0].ppid != UNKNOWN)
		by = SAY("%s (pid %llu)", by, (unsigned long long)m->processes.v[0].ppid);
	const char *freed = i->frees == UNKNOWN
				    ? ""
				    : SAY(", of which %s freed %s", say_count(m, i->frees),
					  one ? "here" : "there");
	const char *bytes = i->bytes == UNKNOWN ? "" : SAY(" (%s)", say_size(m, i->bytes));
	w->v[w->n++] = SAY("%s%s inherited %s%s", say_things(m, i->blocks, "block", "blocks"),
			   bytes, by, freed);
}

void inherited_json(const struct model *m, struct ms_json *j)
{
	const struct inherited *i = &m->inherited;
	ms_json_number(j, "inherited_blocks", i->blocks);
	ms_json_number(j, "inherited_bytes", i->bytes);
	ms_json_number(j, "inherited_frees", i->frees);
	ms_json_number(j, "inherited_freed_bytes", i->freed_bytes);
}

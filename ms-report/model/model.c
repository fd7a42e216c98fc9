/* SPDX-License-Identifier: MIT
 * Figures that may not be known, rows of a query, and rows found by their ids.
 */
#include "model.h"

#include "libcommon/base/err.h"

uint64_t figure_add(uint64_t a, uint64_t b)
{
	if (a == UNKNOWN || b == UNKNOWN)
		return UNKNOWN;
	return a + b < a || a + b == UNKNOWN ? UNKNOWN - 1 : a + b;
}

uint64_t figure_sub(uint64_t a, uint64_t b)
{
	if (a == UNKNOWN || b == UNKNOWN)
		return UNKNOWN;
	return a > b ? a - b : 0;
}

void live_add(struct live *to, struct live l)
{
	to->bytes = figure_add(to->bytes, l.bytes);
	to->blocks = figure_add(to->blocks, l.blocks);
}

uint64_t figure_in(sqlite3_stmt *st, int column)
{
	int64_t v = sqlite3_column_type(st, column) == SQLITE_INTEGER
			    ? sqlite3_column_int64(st, column)
			    : -1;
	return v < 0 ? UNKNOWN : (uint64_t)v;
}

int model_each(struct model *m, const char *sql, model_row *row, struct ms_err *err)
{
	sqlite3_stmt *st = ms_sql_prepare(m->db, sql, err);
	int rc;
	if (!st)
		return -1;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		row(m, st);
	sqlite3_finalize(st);
	return rc == SQLITE_DONE
		       ? 0
		       : ms_err_set(err, "cannot read the snapshot: %s", sqlite3_errmsg(m->db));
}

uint32_t model_index(const void *v, size_t n, size_t size, int64_t want)
{
	const char *base = v;
	if (!base)
		return NONE;
#define ID(i) (*(const int64_t *)(const void *)(base + (i)*size))
	if (want >= 1 && (uint64_t)want <= n && ID((size_t)want - 1) == want)
		return (uint32_t)(want - 1);
	size_t lo = 0, hi = n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (ID(mid) < want)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && ID(lo) == want ? (uint32_t)lo : NONE;
#undef ID
}

const struct site *model_site(const struct model *m, int64_t want)
{
	uint32_t i = MODEL_FIND(m->sites, want);
	return i == NONE ? NULL : &m->sites.v[i];
}

const struct thread *model_thread(const struct model *m, int64_t want)
{
	uint32_t i = MODEL_FIND(m->threads, want);
	return i == NONE ? NULL : &m->threads.v[i];
}

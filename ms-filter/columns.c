/* SPDX-License-Identifier: MIT
 * Lists the columns of a site in one table, used by --where, its help and the query.
 */
#include "columns.h"

#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/snapshot/snapshot.h"

/* Lists the columns. Table aliases in the SQL: s = site, p = its process, t = the chosen moment, c
 * = live figures at t, q = the peak, d = live figures at q, x = change by ms-diff, f = the frame
 * that names the site, m = its module, g = growth. */
const struct column columns[] = {
	{"id", COLUMN_COUNT, "s.id", "number of the site"},
	{"pid", COLUMN_COUNT, "p.pid", "its process"},
	{"exe", COLUMN_TEXT, "p.exe", "path of the process's program"},
	{"live_bytes", COLUMN_SIZE, "iif(t.id IS NULL, NULL, coalesce(c.live_bytes, 0))",
	 "live at the end, or at the point of INPUT@POINT"},
	{"live_blocks", COLUMN_COUNT, "iif(t.id IS NULL, NULL, coalesce(c.live_blocks, 0))",
	 "the same in blocks"},
	{"age", COLUMN_DURATION, "c.oldest_ns", "of the oldest of these blocks"},
	{"peak_bytes", COLUMN_SIZE, "iif(q.id IS NULL, NULL, coalesce(d.live_bytes, 0))",
	 "live at the process's peak"},
	{"peak_blocks", COLUMN_COUNT, "iif(q.id IS NULL, NULL, coalesce(d.live_blocks, 0))",
	 "the same in blocks"},
	{"max_live_bytes", COLUMN_SIZE, "s.max_live_bytes", "the most that it ever held"},
	{"max_live_blocks", COLUMN_COUNT, "s.max_live_blocks", "the same in blocks"},
	{"allocations", COLUMN_COUNT, "s.allocations", "in the whole run"},
	{"allocated_bytes", COLUMN_SIZE, "s.allocated_bytes", "by all of them"},
	{"frees", COLUMN_COUNT, "s.frees", "of its blocks"},
	{"reallocations", COLUMN_COUNT, "s.reallocations", "allocations made by realloc"},
	{"failed_allocations", COLUMN_COUNT, "s.failed_allocations",
	 "calls that returned no block"},
	{"temporary", COLUMN_COUNT, "s.temporary",
	 "blocks freed by the same thread with no allocation by it in between"},
	{"lifetime", COLUMN_DURATION, "iif(s.frees > 0, s.lifetime_ns / s.frees, NULL)",
	 "of its freed blocks, on average"},
	{"min_size", COLUMN_SIZE, "s.min_size", "its smallest block"},
	{"max_size", COLUMN_SIZE, "s.max_size", "its largest block"},
	{"first", COLUMN_DURATION, "s.first_ns", "time from the start to its first allocation"},
	{"last", COLUMN_DURATION, "s.last_ns", "time from the start to its last allocation"},
	{"threads", COLUMN_COUNT, "(SELECT count(*) FROM site_thread x WHERE x.site = s.id)",
	 "how many threads allocated there"},
	{"maps", COLUMN_COUNT, "s.maps", "calls that took address space"},
	{"mapped_bytes", COLUMN_SIZE, "s.mapped_bytes", "by all of these"},
	{"verdict", COLUMN_TEXT, "s.verdict",
	 "unreachable, indirect, growing, unknown, reachable, or null"},
	{"one_time", COLUMN_TEXT, "s.one_time",
	 "known one-time allocation of the runtime: its name, or null"},
	{"trend", COLUMN_TEXT, "g.trend",
	 "of its live bytes: step, filling, doubling, growing, or null"},
	{"growth", COLUMN_SIZE, "g.bytes_per_minute", "bytes per minute, where there is a trend"},
	{"change", COLUMN_TEXT, "x.kind",
	 "by ms-diff: new, gone, grown, shrunk, unchanged, unmatched"},
	{"delta_live_bytes", COLUMN_SIZE, "x.delta_live_bytes", "by ms-diff: new minus old"},
	{"delta_live_blocks", COLUMN_COUNT, "x.delta_live_blocks", "the same in blocks"},
	{"delta_peak_bytes", COLUMN_SIZE, "x.delta_peak_bytes", "at the peaks"},
	{"delta_peak_blocks", COLUMN_COUNT, "x.delta_peak_blocks", "the same in blocks"},
	{"delta_allocations", COLUMN_COUNT, "x.delta_allocations", "in the whole runs"},
	{"delta_allocated_bytes", COLUMN_SIZE, "x.delta_allocated_bytes", "by all of them"},
	{"frames", COLUMN_COUNT, "k.depth + 1", "in its call stack, inlined ones too"},
	{"function", COLUMN_TEXT, "f.function", "of the frame that it is named after"},
	{"file", COLUMN_TEXT, "f.file", "of that frame"},
	{"line", COLUMN_COUNT, "f.line", "of that frame"},
	{"module", COLUMN_TEXT, "m.path", "of that frame"},
	{"stack", COLUMN_STACK, NULL, "the function of any of its frames"},
};
const size_t column_count = sizeof columns / sizeof *columns;

int column_find(const char *name, size_t n)
{
	for (size_t i = 0; i < column_count; i++)
		if (strlen(columns[i].name) == n && memcmp(columns[i].name, name, n) == 0)
			return (int)i;
	return -1;
}

const char *columns_help(struct ms_arena *a)
{
	static const char *const types[] = {"number", "size", "duration", "text", "text"};
	const char *out = "Columns of --where EXPR:\n\n";
	for (size_t i = 0; i < column_count; i++)
		out = ms_arena_printf(a, "%s  %-21s %-9s %s\n", out, columns[i].name,
				      types[columns[i].type], columns[i].what);
	return ms_arena_printf(
		a,
		"%s\nCompare with = != < <= > >=, match with ~ REGEX and !~ REGEX, join with and, "
		"or, "
		"not and ( ).\nSizes take k, M, G, T; durations ms, s, m, h; text may stand in "
		"'quotes'. COLUMN is null,\nCOLUMN is not null. No comparison with null is true.\n",
		out);
}

sqlite3_stmt *columns_query(sqlite3 *db, struct ms_arena *a, const char *point, struct ms_err *err)
{
	const char *list = "s.id";
	for (size_t i = 0; i < column_count; i++)
		list = ms_arena_printf(a, "%s, %s", list, columns[i].sql ? columns[i].sql : "NULL");
	sqlite3_stmt *q = ms_sql_prepare(
		db,
		ms_arena_printf(
			a,
			"SELECT %s FROM site s LEFT JOIN process p ON p.id = s.process"
			" LEFT JOIN snapshot t ON t.process = s.process AND t.label = ?1"
			" LEFT JOIN site_stat c ON c.snapshot = t.id AND c.site = s.id"
			" LEFT JOIN snapshot q ON q.process = s.process AND q.label = 'peak'"
			" LEFT JOIN site_stat d ON d.snapshot = q.id AND d.site = s.id"
			" LEFT JOIN stack k ON k.id = s.stack"
			" LEFT JOIN stack u ON u.id = s.user_frame"
			" LEFT JOIN frame f ON f.id = u.frame LEFT JOIN module m ON m.id = f.module"
			" LEFT JOIN site_diff x ON x.site = s.id"
			" LEFT JOIN growth g ON g.process = s.process AND g.site = s.id"
			" ORDER BY s.id",
			list),
		err);
	if (q)
		sqlite3_bind_text(q, 1, point ? point : "end", -1, SQLITE_STATIC);
	return q;
}

/* SPDX-License-Identifier: MIT
 * Lists the columns of a site in one table, used by --where, its help and the query.
 */
#include "where.h"

#include <string.h>

/* Lists the columns. Table aliases in the SQL: s = site, p = its process, t = the chosen moment, c
 * = live figures at t, q = the peak, d = live figures at q, x = change by ms-diff, f = the frame
 * that names the site, m = its module, g = growth. */
const struct column columns[] = {
	{"id", COLUMN_COUNT, "s.id", "number of the site"},
	{"pid", COLUMN_COUNT, "p.pid", "PID of its process"},
	{"exe", COLUMN_TEXT, "p.exe", "path of the executable of its process"},
	{"live_bytes", COLUMN_SIZE, "iif(t.id IS NULL, NULL, coalesce(c.live_bytes, 0))",
	 "bytes live at the end; with INPUT@POINT, at POINT"},
	{"live_blocks", COLUMN_COUNT, "iif(t.id IS NULL, NULL, coalesce(c.live_blocks, 0))",
	 "blocks live at the end; with INPUT@POINT, at POINT"},
	{"age", COLUMN_DURATION, "c.oldest_ns", "age of the oldest of these live blocks"},
	{"peak_bytes", COLUMN_SIZE, "iif(q.id IS NULL, NULL, coalesce(d.live_bytes, 0))",
	 "bytes live at the peak of the process"},
	{"peak_blocks", COLUMN_COUNT, "iif(q.id IS NULL, NULL, coalesce(d.live_blocks, 0))",
	 "blocks live at the peak of the process"},
	{"max_live_bytes", COLUMN_SIZE, "s.max_live_bytes",
	 "most bytes that were live at one time"},
	{"max_live_blocks", COLUMN_COUNT, "s.max_live_blocks",
	 "most blocks that were live at one time"},
	{"allocations", COLUMN_COUNT, "s.allocations", "allocations in the whole run"},
	{"allocated_bytes", COLUMN_SIZE, "s.allocated_bytes", "bytes allocated in the whole run"},
	{"frees", COLUMN_COUNT, "s.frees", "blocks freed in the whole run"},
	{"reallocations", COLUMN_COUNT, "s.reallocations", "allocations made by realloc"},
	{"failed_allocations", COLUMN_COUNT, "s.failed_allocations",
	 "allocation calls that failed and returned NULL"},
	{"temporary", COLUMN_COUNT, "s.temporary",
	 "blocks freed by their thread before it allocated anything else"},
	{"lifetime", COLUMN_DURATION, "iif(s.frees > 0, s.lifetime_ns / s.frees, NULL)",
	 "mean lifetime of its freed blocks"},
	{"min_size", COLUMN_SIZE, "s.min_size", "size of its smallest block"},
	{"max_size", COLUMN_SIZE, "s.max_size", "size of its largest block"},
	{"first", COLUMN_DURATION, "s.first_ns", "time from the start to its first allocation"},
	{"last", COLUMN_DURATION, "s.last_ns", "time from the start to its last allocation"},
	{"threads", COLUMN_COUNT,
	 "(SELECT count(DISTINCT coalesce(t.of_thread, t.id)) FROM site_thread x"
	 " JOIN thread t ON t.id = x.thread WHERE x.site = s.id)",
	 "number of threads that allocated there"},
	{"maps", COLUMN_COUNT, "s.maps", "mmap, mremap and brk calls that took address space"},
	{"mapped_bytes", COLUMN_SIZE, "s.mapped_bytes", "address space that these calls took"},
	{"verdict", COLUMN_TEXT, "s.verdict",
	 "worst verdict of its live blocks: unreachable, indirect, growing, unknown, "
	 "reachable, or null"},
	{"one_time", COLUMN_TEXT, "s.one_time",
	 "name of a known one-time allocation of the runtime, or null"},
	{"trend", COLUMN_TEXT, "g.trend",
	 "how live bytes rose: step, filling, doubling, growing, or null"},
	{"growth", COLUMN_SIZE, "g.bytes_per_minute",
	 "rise of live bytes per minute, where there is a trend"},
	{"change", COLUMN_TEXT, "x.kind",
	 "of a comparison: new, gone, grown, shrunk, unchanged, unmatched"},
	{"delta_live_bytes", COLUMN_SIZE, "x.delta_live_bytes",
	 "of a comparison: live bytes, new minus old"},
	{"delta_live_blocks", COLUMN_COUNT, "x.delta_live_blocks",
	 "of a comparison: live blocks, new minus old"},
	{"delta_peak_bytes", COLUMN_SIZE, "x.delta_peak_bytes",
	 "of a comparison: bytes live at the peak, new minus old"},
	{"delta_peak_blocks", COLUMN_COUNT, "x.delta_peak_blocks",
	 "of a comparison: blocks live at the peak, new minus old"},
	{"delta_allocations", COLUMN_COUNT, "x.delta_allocations",
	 "of a comparison: allocations, new minus old"},
	{"delta_allocated_bytes", COLUMN_SIZE, "x.delta_allocated_bytes",
	 "of a comparison: bytes allocated, new minus old"},
	{"frames", COLUMN_COUNT, "k.depth + 1",
	 "frames of its call stack, including inlined functions"},
	{"function", COLUMN_TEXT, "f.function", "function that the site is named after"},
	{"file", COLUMN_TEXT, "f.file", "source file of that function"},
	{"line", COLUMN_COUNT, "f.line", "source line in that function"},
	{"module", COLUMN_TEXT, "m.path", "program or library of that function"},
	{"stack", COLUMN_STACK, "f.function", "function of any frame of its call stack"},
};
const size_t column_count = sizeof columns / sizeof *columns;

const char columns_from[] =
	" FROM site s LEFT JOIN process p ON p.id = s.process"
	" LEFT JOIN snapshot t ON t.process = s.process AND t.label = coalesce(?4, 'end')"
	" LEFT JOIN site_stat c ON c.snapshot = t.id AND c.site = s.id"
	" LEFT JOIN snapshot q ON q.process = s.process AND q.label = 'peak'"
	" LEFT JOIN site_stat d ON d.snapshot = q.id AND d.site = s.id"
	" LEFT JOIN stack k ON k.id = s.stack"
	" LEFT JOIN stack u ON u.id = s.user_frame"
	" LEFT JOIN frame f ON f.id = u.frame LEFT JOIN module m ON m.id = f.module"
	" LEFT JOIN site_diff x ON x.site = s.id"
	" LEFT JOIN growth g ON g.process = s.process AND g.site = s.id";

/* Breaks `text` into lines that begin below each other, at column `at`. */
static const char *broken(struct ms_arena *a, const char *text, int at)
{
	enum { WIDTH = 80 };
	const char *out = "";
	while (strlen(text) > (size_t)(WIDTH - at)) {
		int n = WIDTH - at;
		while (n > 1 && text[n] != ' ')
			n--;
		out = ms_arena_printf(a, "%s%.*s\n%*s", out, n, text, at, "");
		text += n + 1;
	}
	return ms_arena_printf(a, "%s%s", out, text);
}

const char *columns_help(struct ms_arena *a)
{
	static const char *const types[] = {"number", "size", "duration", "text", "text"};
	const char *out = "Columns of a site, for --where EXPR:\n\n";
	for (size_t i = 0; i < column_count; i++)
		out = ms_arena_printf(a, "%s  %-21s %-9s %s\n", out, columns[i].name,
				      types[columns[i].type], broken(a, columns[i].what, 34));
	return ms_arena_printf(
		a,
		"%s\nCompare with = != < <= > >=, match with ~ REGEX and !~ REGEX, and combine "
		"with\nand, or, not, ( ). Sizes take k, M, G, T; durations ms, s, m, h; "
		"text may be in\n'quotes'. null means not known or none: test for it with COLUMN "
		"is null and\n"
		"COLUMN is not null; no other comparison with null is true.\n",
		out);
}

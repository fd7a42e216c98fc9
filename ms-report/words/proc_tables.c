/* SPDX-License-Identifier: MIT
 * Tables of figures from /proc: samples, regions and processes.
 */
#include "table.h"

#include "libcommon/model/facts.h"

#include "libcommon/base/units.h"

#include <stdlib.h>
#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

static bool has_rows(struct model *m, const char *table)
{
	return model_number(m, "SELECT EXISTS(SELECT 1 FROM %s)", table) == 1;
}

/* ---- samples ---- */

/* Selects a column of the sample with the largest heap. These figures are read rarely, and can be
 * compared only with the heap in the same sample. */
#define THEN(column) "max(CASE WHEN heap_bytes IS most THEN " column " END)"

static const struct column timeline_columns[] = {
	{"up to", "to_ns", CELL_TIME, .sql = "max(at)"},
	{NULL, "from_ns", CELL_TIME, .sql = "min(at)"},
	{"heap", "heap_bytes", CELL_SIZE, .sql = "max(heap_bytes)"},
	{"RSS", "rss_bytes", CELL_SIZE, .sql = "max(rss_bytes)"},
	{"VSZ", "vsz_bytes", CELL_SIZE, .sql = "max(vsz_bytes)"},
	{"private", "private_bytes", CELL_SIZE, .sql = THEN("private_bytes")},
	{"PSS", "pss_bytes", CELL_SIZE, .sql = THEN("pss_bytes"), .optional = true},
	{"swap", "swap_bytes", CELL_SIZE, .sql = THEN("swap_bytes"), .optional = true},
	{"faults", "minor_faults", CELL_COUNT, .sql = "max(minor_faults)", .optional = true},
	{NULL, "major_faults", CELL_COUNT, .sql = "max(major_faults)"},
	{"threads", "threads", CELL_COUNT, .sql = "max(threads)", .optional = true},
	{NULL, "process", CELL_ID, .sum = false},
};

/* Divides the time of all processes into `limit` spans, with one row per span and process that has
 * samples. */
struct table proc_timeline(struct model *m, size_t limit)
{
	struct table t = TABLE_OF(timeline_columns, .title = "TIMELINE of /proc figures",
				  .empty = "no samples in this snapshot");
	unsigned long long n = limit ? limit : 1;
	table_query(m, &t,
		    "FROM (SELECT *, max(heap_bytes) OVER (PARTITION BY n, process) AS most"
		    " FROM (SELECT sample.*, time_ns + p.offset_ns AS at,"
		    " min((time_ns + p.offset_ns) * %llu / max(%llu, 1), %llu - 1) AS n"
		    " FROM sample JOIN process p ON p.id = process))"
		    " GROUP BY n, process ORDER BY n, process",
		    n, (unsigned long long)m->duration_ns, n);
	return t;
}

/* ---- regions ---- */

static const struct column region_columns[] = {
	{"kind", "kind", CELL_TEXT, .sum = false},
	{"size", "size_bytes", CELL_SIZE, .sum = true, .sql = "r.\"end\" - r.start"},
	{"RSS", "rss_bytes", CELL_SIZE, .sum = true, .sql = "r.rss_bytes"},
	{"PSS", "pss_bytes", CELL_SIZE, .sum = true, .sql = "r.pss_bytes", .optional = true},
	{"private", "private_bytes", CELL_SIZE, .sum = true, .sql = "r.private_bytes"},
	{"swap", "swap_bytes", CELL_SIZE, .sum = true, .sql = "r.swap_bytes", .optional = true},
	{NULL, "shared_clean_bytes", CELL_SIZE, .sum = true},
	{NULL, "shared_dirty_bytes", CELL_SIZE, .sum = true},
	{NULL, "private_clean_bytes", CELL_SIZE, .sum = true},
	{NULL, "private_dirty_bytes", CELL_SIZE, .sum = true},
	{"pid", "pid", CELL_ID, .sum = false},
	{NULL, "name", CELL_TEXT, .sql = "p.comm"},
	{"perms", "perms", CELL_TEXT, .sum = false},
	{"start", "start", CELL_TEXT, .sql = "printf('0x%llx', r.start)", .optional = true},
	{NULL, "end", CELL_TEXT, .sql = "printf('0x%llx', r.\"end\")"},
	{NULL, "file_offset", CELL_ID, .sum = false},
	{"path", "path", CELL_PATH, .sql = "r.path"},
};
enum { REGION_PID = 10 };

static const struct column diff_columns[] = {
	{"process", "process", CELL_TEXT, .sum = false},
	{"change", "change", CELL_TEXT, .sum = false},
	{"kind", "kind", CELL_TEXT, .sum = false},
	{"RSS before", "old_rss_bytes", CELL_SIZE, .sum = false},
	{"RSS", "new_rss_bytes", CELL_SIZE, .sum = false},
	{"RSS change", NULL, CELL_VALUE, .sql = "delta_rss_bytes"},
	{"size", "new_bytes", CELL_SIZE, .sum = false},
	{NULL, "old_bytes", CELL_SIZE, .sum = false},
	{"size change", NULL, CELL_VALUE, .sql = "delta_bytes"},
	{NULL, "old_regions", CELL_COUNT, .sum = false},
	{NULL, "new_regions", CELL_COUNT, .sum = false},
	{NULL, "old_pss_bytes", CELL_SIZE, .sum = false},
	{NULL, "new_pss_bytes", CELL_SIZE, .sum = false},
	{NULL, "old_private_bytes", CELL_SIZE, .sum = false},
	{NULL, "new_private_bytes", CELL_SIZE, .sum = false},
	{NULL, "old_swap_bytes", CELL_SIZE, .sum = false},
	{NULL, "new_swap_bytes", CELL_SIZE, .sum = false},
	{NULL, "delta_bytes", CELL_VALUE, .sum = false},
	{NULL, "delta_rss_bytes", CELL_VALUE, .sum = false},
	{NULL, "delta_pss_bytes", CELL_VALUE, .sum = false},
	{NULL, "delta_private_bytes", CELL_VALUE, .sum = false},
	{NULL, "delta_swap_bytes", CELL_VALUE, .sum = false},
	{"path", "path", CELL_PATH, .sum = false},
};
enum { DIFF_BY_RSS = 5, DIFF_BY_SIZE = 8 };

/* Formats a difference in bytes from the query: "+12 KiB". */
static void say_delta(struct model *m, struct cell *c)
{
	char buf[MS_UNIT_BUF];
	if (c->s)
		c->s = SAY("%s", ms_format_delta(buf, strtoll(c->s, NULL, 10)));
}

static struct table diff(struct model *m, size_t limit)
{
	struct table t =
		TABLE_OF(diff_columns, .title = "REGIONS that changed, largest change first",
			 .empty = "no region changed");
	table_query(m, &t,
		    "FROM region_diff WHERE change != 'unchanged' OR delta_bytes != 0"
		    " ORDER BY max(abs(coalesce(delta_rss_bytes, 0)),"
		    " abs(coalesce(delta_bytes, 0)) / 1024) DESC, process, kind, path");
	for (size_t i = 0; i < t.n; i++) {
		say_delta(m, &t.rows[i].cells[DIFF_BY_RSS]);
		say_delta(m, &t.rows[i].cells[DIFF_BY_SIZE]);
	}
	table_finish(m, &t, -1, limit, "region", TOTAL_NONE);
	return t;
}

struct table proc_regions(struct model *m, size_t limit)
{
	if (has_rows(m, "region_diff"))
		return diff(m, limit);
	struct table t = TABLE_OF(
		region_columns, .title = "REGIONS of address space",
		.empty = "no regions in this snapshot: ms-snap --maps or --smaps reads them");
	table_query(m, &t,
		    "FROM region r JOIN snapshot s ON s.id = r.snapshot JOIN process p"
		    " ON p.id = r.process WHERE s.label = %Q ORDER BY r.rowid",
		    m->at_label);
	bool resident = t.n && t.rows[0].cells[2].n != UNKNOWN;
	if (m->processes.n == 1)
		table_retitle(m, &t, REGION_PID, NULL); /* not needed for one process */
	/* sorted by address if all are shown */
	table_finish(m, &t, limit < t.n ? (resident ? 2 : 1) : -1, limit, "region", TOTAL_NONE);
	return t;
}

static const struct column kind_columns[] = {
	{"kind", "kind", CELL_TEXT, .sum = false},
	{"regions", "regions", CELL_COUNT, .sum = true, .sql = "count(*)"},
	{"size", "size_bytes", CELL_SIZE, .sum = true, .sql = "sum(r.\"end\" - r.start)"},
	{"RSS", "rss_bytes", CELL_SIZE, .sum = true, .sql = "sum(r.rss_bytes)"},
	{"PSS", "pss_bytes", CELL_SIZE, .sum = true, .sql = "sum(r.pss_bytes)"},
	{"private", "private_bytes", CELL_SIZE, .sum = true, .sql = "sum(r.private_bytes)"},
	{"swap", "swap_bytes", CELL_SIZE, .sum = true, .sql = "sum(r.swap_bytes)",
	 .optional = true},
};

struct table proc_kinds(struct model *m)
{
	struct table t = TABLE_OF(
		kind_columns, .title = "REGIONS by kind",
		.empty = "no regions in this snapshot: ms-snap --maps or --smaps reads them");
	table_query(m, &t,
		    "FROM region r JOIN snapshot s ON s.id = r.snapshot WHERE s.label = %Q"
		    " GROUP BY kind ORDER BY kind LIMIT 64",
		    m->at_label);
	bool resident = t.n && t.rows[0].cells[3].n != UNKNOWN;
	table_finish(m, &t, resident ? 3 : 2, SIZE_MAX, "kind", TOTAL_OF_ROWS);
	return t;
}

/* ---- processes ---- */

static const struct column process_columns[] = {
	{"process", "name", CELL_TEXT, .sql = "p.comm"},
	{"pid", "pid", CELL_ID, .sum = false},
	{"PSS", "pss_bytes", CELL_SIZE, .sum = true, .sql = "s.pss_bytes"},
	{"private", "private_bytes", CELL_SIZE, .sum = true, .sql = "s.private_bytes"},
	{"RSS", "rss_bytes", CELL_SIZE, .sql = "s.rss_bytes"},
	{"heap", "heap_bytes", CELL_SIZE, .sum = true, .sql = "x.heap_bytes"},
	{"swap", "swap_bytes", CELL_SIZE, .sum = true, .sql = "s.swap_bytes", .optional = true},
	{"VSZ", "vsz_bytes", CELL_SIZE, .sql = "x.vsz_bytes", .optional = true},
	{"regions", "regions", CELL_COUNT, .sum = true, .sql = "coalesce(n.regions, 0)",
	 .optional = true},
};

struct table proc_processes(struct model *m, size_t limit)
{
	struct table t = TABLE_OF(process_columns, .title = "PROCESSES by PSS",
				  .empty = "no process in this snapshot");
	table_query(
		m, &t,
		"FROM snapshot s JOIN process p ON p.id = s.process JOIN sample x"
		" ON x.process = p.id AND x.time_ns = s.time_ns"
		" LEFT JOIN (SELECT snapshot, count(*) AS regions FROM region GROUP BY snapshot) n"
		" ON n.snapshot = s.id WHERE s.label = %Q ORDER BY p.pid",
		m->at_label);
	bool smaps = t.n && t.rows[0].cells[2].n != UNKNOWN;
	if (t.n && !smaps)
		t.title = "PROCESSES by RSS";
	table_finish(m, &t, smaps ? 2 : 4, limit, "process", TOTAL_NONE);
	return t;
}

static const struct column skipped_columns[] = {
	{"pid", "pid", CELL_ID, .sql = "DISTINCT pid"},
	{"process", "name", CELL_TEXT, .sum = false},
	{"why", "reason", CELL_TEXT, .sum = false},
};

struct table proc_skipped(struct model *m, size_t limit)
{
	struct table t =
		TABLE_OF(skipped_columns, .title = "SKIPPED: processes that could not be read",
			 .empty = "every process that was still running could be read");
	table_query(m, &t, "FROM skipped WHERE reason NOT LIKE 'ended%%' ORDER BY time_ns, pid");
	uint64_t ended = model_number(
		m, "SELECT count(DISTINCT pid) FROM skipped WHERE reason LIKE 'ended%%'");
	if (figure_some(ended))
		t.title = ms_arena_printf(&m->arena, "%s; %s ended during the snapshot", t.title,
					  say_things(m, ended, "more process"));
	table_finish(m, &t, -1, limit, "process", TOTAL_NONE);
	return t;
}

size_t proc_first(struct model *m, size_t limit, struct table out[PROC_TABLES])
{
	size_t n = 0;
	if (m->proc_only == PROC_ONLY_POLL) {
		out[n++] = proc_timeline(m, 12);
		return n;
	}
	if (has_rows(m, "region_diff")) {
		out[n++] = diff(m, limit);
		return n;
	}
	out[n++] = proc_kinds(m);
	if (m->processes.n > 1)
		out[n++] = proc_processes(m, limit);
	else
		out[n++] = proc_regions(m, limit);
	if (has_rows(m, "skipped"))
		out[n++] = proc_skipped(m, limit);
	return n;
}

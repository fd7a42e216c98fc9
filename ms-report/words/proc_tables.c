/* SPDX-License-Identifier: MIT
 * What /proc said: tables of samples, regions and processes.
 */
#include "table.h"

#include "ms-report/model/facts.h"

#include "libcommon/base/units.h"

#include <stdlib.h>
#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

static size_t rows_of(struct model *m, const char *table)
{
	int64_t n = ms_sql_int(m->db, SAY("SELECT count(*) FROM %s", table), 0);
	return n > 0 ? (size_t)n : 0;
}

/* ---- samples ---- */

static const struct column timeline_columns[] = {
	{"up to", "to_ns", CELL_TIME, .sum = false},
	{NULL, "from_ns", CELL_TIME, .sum = false},
	{"heap", "heap_bytes", CELL_SIZE, .sum = false},
	{"RSS", "rss_bytes", CELL_SIZE, .sum = false},
	{"VSZ", "vsz_bytes", CELL_SIZE, .sum = false},
	{"private", "private_bytes", CELL_SIZE, .sum = false},
	{"PSS", "pss_bytes", CELL_SIZE, .sum = false, .optional = true},
	{"swap", "swap_bytes", CELL_SIZE, .sum = false, .optional = true},
	{"faults", "minor_faults", CELL_COUNT, .sum = false, .optional = true},
	{NULL, "major_faults", CELL_COUNT, .sum = false},
	{"threads", "threads", CELL_COUNT, .sum = false, .optional = true},
	{NULL, "process", CELL_ID, .sum = false},
};

/* Spans are of all processes' time; each process that has samples in one has a row of it. */
static const char timeline_sql[] =
	"WITH span AS (SELECT process, time_ns + p.offset_ns AS at,"
	"  min((time_ns + p.offset_ns) * %llu / max(%llu, 1), %llu - 1) AS n,"
	"  heap_bytes, sample.rss_bytes, vsz_bytes, private_bytes, pss_bytes, swap_bytes,"
	"  minor_faults, major_faults, threads FROM sample JOIN process p ON p.id = process)"
	" SELECT max(at), min(at), max(heap_bytes), max(rss_bytes), max(vsz_bytes),"
	"  max(private_bytes), max(pss_bytes), max(swap_bytes), max(minor_faults),"
	"  max(major_faults), max(threads), process FROM span GROUP BY n, process"
	" ORDER BY n, process";

struct table proc_timeline(struct model *m, size_t limit)
{
	struct table t = TABLE_OF(timeline_columns, .title = "TIMELINE of what /proc said",
				  .empty = "no samples in this snapshot");
	unsigned long long n = limit ? limit : 1;
	size_t most = rows_of(m, "sample");
	table_query(m, &t, SAY(timeline_sql, n, (unsigned long long)m->duration_ns, n), most);
	return t;
}

/* ---- regions ---- */

static const struct column region_columns[] = {
	{"kind", "kind", CELL_TEXT, .sum = false},
	{"size", "size_bytes", CELL_SIZE, .sum = true},
	{"RSS", "rss_bytes", CELL_SIZE, .sum = true},
	{"PSS", "pss_bytes", CELL_SIZE, .sum = true, .optional = true},
	{"private", "private_bytes", CELL_SIZE, .sum = true},
	{"swap", "swap_bytes", CELL_SIZE, .sum = true, .optional = true},
	{NULL, "shared_clean_bytes", CELL_SIZE, .sum = true},
	{NULL, "shared_dirty_bytes", CELL_SIZE, .sum = true},
	{NULL, "private_clean_bytes", CELL_SIZE, .sum = true},
	{NULL, "private_dirty_bytes", CELL_SIZE, .sum = true},
	{"pid", "pid", CELL_ID, .sum = false},
	{NULL, "name", CELL_TEXT, .sum = false},
	{"perms", "perms", CELL_TEXT, .sum = false},
	{"start", "start", CELL_TEXT, .sum = false, .optional = true},
	{NULL, "end", CELL_TEXT, .sum = false},
	{NULL, "file_offset", CELL_ID, .sum = false},
	{"path", "path", CELL_PATH, .sum = false},
};
enum { REGION_PID = 10 };

static const struct column diff_columns[] = {
	{"process", "process", CELL_TEXT, .sum = false},
	{"change", "change", CELL_TEXT, .sum = false},
	{"kind", "kind", CELL_TEXT, .sum = false},
	{"RSS before", "old_rss_bytes", CELL_SIZE, .sum = false},
	{"RSS", "new_rss_bytes", CELL_SIZE, .sum = false},
	{"by", NULL, CELL_VALUE, .sum = false},
	{"size", "new_bytes", CELL_SIZE, .sum = false},
	{NULL, "old_bytes", CELL_SIZE, .sum = false},
	{"by", NULL, CELL_VALUE, .sum = false},
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

/* "+12 KiB": what SQL gave as a number. */
static void say_delta(struct model *m, struct cell *c)
{
	char buf[MS_UNIT_BUF];
	if (c->s)
		c->s = SAY("%s", ms_format_delta(buf, strtoll(c->s, NULL, 10)));
}

struct table proc_diff(struct model *m, size_t limit)
{
	struct table t = TABLE_OF(diff_columns, .title = "REGIONS that changed, most first",
				  .empty = "no region changed");
	table_query(m, &t,
		    "SELECT process, change, kind, old_rss_bytes, new_rss_bytes, delta_rss_bytes,"
		    " new_bytes, old_bytes, delta_bytes, old_regions, new_regions, old_pss_bytes,"
		    " new_pss_bytes, old_private_bytes, new_private_bytes, old_swap_bytes,"
		    " new_swap_bytes, delta_bytes, delta_rss_bytes, delta_pss_bytes, "
		    "delta_private_bytes,"
		    " delta_swap_bytes, path FROM region_diff WHERE change != 'unchanged'"
		    " OR delta_bytes != 0 ORDER BY max(abs(coalesce(delta_rss_bytes, 0)),"
		    " abs(coalesce(delta_bytes, 0)) / 1024) DESC, process, kind, path",
		    rows_of(m, "region_diff"));
	for (size_t i = 0; i < t.n; i++) {
		say_delta(m, &t.rows[i].cells[DIFF_BY_RSS]);
		say_delta(m, &t.rows[i].cells[DIFF_BY_SIZE]);
	}
	table_finish(m, &t, -1, limit, "regions", TOTAL_NONE);
	return t;
}

struct table proc_regions(struct model *m, size_t limit)
{
	if (rows_of(m, "region_diff"))
		return proc_diff(m, limit);
	struct table t = TABLE_OF(region_columns, .title = "REGIONS of address space",
				  .empty = "no regions in this snapshot");
	table_query(m, &t,
		    "SELECT kind, r.\"end\" - r.start, r.rss_bytes, r.pss_bytes, r.private_bytes,"
		    " r.swap_bytes, shared_clean_bytes, shared_dirty_bytes, private_clean_bytes,"
		    " private_dirty_bytes, p.pid, p.comm, perms, printf('0x%llx', r.start),"
		    " printf('0x%llx', r.\"end\"), file_offset, r.path"
		    " FROM region r JOIN snapshot s ON s.id = r.snapshot JOIN process p"
		    " ON p.id = r.process WHERE s.label = ?1 ORDER BY r.rowid",
		    rows_of(m, "region"));
	bool resident = t.n && t.rows[0].cells[2].n != UNKNOWN;
	if (m->processes.n == 1)
		table_retitle(m, &t, REGION_PID, NULL); /* people need no column for it */
	/* in order of address where all are shown */
	table_finish(m, &t, limit < t.n ? (resident ? 2 : 1) : -1, limit, "regions", TOTAL_NONE);
	return t;
}

static const struct column kind_columns[] = {
	{"kind", "kind", CELL_TEXT, .sum = false},
	{"regions", "regions", CELL_COUNT, .sum = true},
	{"size", "size_bytes", CELL_SIZE, .sum = true},
	{"RSS", "rss_bytes", CELL_SIZE, .sum = true},
	{"PSS", "pss_bytes", CELL_SIZE, .sum = true},
	{"private", "private_bytes", CELL_SIZE, .sum = true},
	{"swap", "swap_bytes", CELL_SIZE, .sum = true, .optional = true},
};

struct table proc_kinds(struct model *m)
{
	struct table t = TABLE_OF(kind_columns, .title = "REGIONS by what they are for",
				  .empty = "no regions in this snapshot");
	table_query(m, &t,
		    "SELECT kind, count(*), sum(r.\"end\" - r.start), sum(r.rss_bytes), "
		    "sum(r.pss_bytes),"
		    " sum(r.private_bytes), sum(r.swap_bytes) FROM region r JOIN snapshot s"
		    " ON s.id = r.snapshot WHERE s.label = ?1 GROUP BY kind ORDER BY kind",
		    64);
	bool resident = t.n && t.rows[0].cells[3].n != UNKNOWN;
	table_finish(m, &t, resident ? 3 : 2, SIZE_MAX, "kinds", TOTAL_OF_ROWS);
	return t;
}

/* ---- processes ---- */

static const struct column process_columns[] = {
	{"process", "name", CELL_TEXT, .sum = false},
	{"pid", "pid", CELL_ID, .sum = false},
	{"PSS", "pss_bytes", CELL_SIZE, .sum = true},
	{"private", "private_bytes", CELL_SIZE, .sum = true},
	{"RSS", "rss_bytes", CELL_SIZE, .sum = false},
	{"heap", "heap_bytes", CELL_SIZE, .sum = true},
	{"swap", "swap_bytes", CELL_SIZE, .sum = true, .optional = true},
	{"VSZ", "vsz_bytes", CELL_SIZE, .sum = false, .optional = true},
	{"regions", "regions", CELL_COUNT, .sum = true, .optional = true},
};

struct table proc_processes(struct model *m, size_t limit)
{
	struct table t = TABLE_OF(process_columns, .title = "PROCESSES by what they hold",
				  .empty = "no process in this snapshot");
	table_query(
		m, &t,
		"SELECT p.comm, p.pid, s.pss_bytes, s.private_bytes, s.rss_bytes, x.heap_bytes,"
		" s.swap_bytes, x.vsz_bytes, coalesce(n.regions, 0) FROM snapshot s JOIN process p"
		" ON p.id = s.process JOIN sample x ON x.process = p.id AND x.time_ns = s.time_ns"
		" LEFT JOIN (SELECT snapshot, count(*) AS regions FROM region GROUP BY snapshot) n"
		" ON n.snapshot = s.id WHERE s.label = ?1 ORDER BY p.pid",
		m->snapshots.n);
	bool smaps = t.n && t.rows[0].cells[2].n != UNKNOWN;
	table_finish(m, &t, smaps ? 2 : 4, limit, "processes", TOTAL_NONE);
	return t;
}

static const struct column skipped_columns[] = {
	{"pid", "pid", CELL_ID, .sum = false},
	{"process", "name", CELL_TEXT, .sum = false},
	{"why", "reason", CELL_TEXT, .sum = false},
};

struct table proc_skipped(struct model *m, size_t limit)
{
	size_t n = rows_of(m, "skipped");
	struct table t =
		TABLE_OF(skipped_columns, .title = "SKIPPED: processes that could not be read",
			 .empty = "every process could be read");
	table_query(m, &t, "SELECT DISTINCT pid, name, reason FROM skipped ORDER BY time_ns, pid",
		    n);
	table_finish(m, &t, -1, limit, "processes", TOTAL_NONE);
	return t;
}

size_t proc_first(struct model *m, size_t limit, struct table out[PROC_TABLES])
{
	size_t n = 0;
	if (m->proc_only == PROC_ONLY_POLL) {
		out[n++] = proc_timeline(m, 12);
		return n;
	}
	if (rows_of(m, "region_diff")) {
		out[n++] = proc_diff(m, limit);
		return n;
	}
	out[n++] = proc_kinds(m);
	if (m->processes.n > 1)
		out[n++] = proc_processes(m, limit);
	else
		out[n++] = proc_regions(m, limit);
	if (rows_of(m, "skipped"))
		out[n++] = proc_skipped(m, limit);
	return n;
}

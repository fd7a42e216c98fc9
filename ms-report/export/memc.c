/* SPDX-License-Identifier: MIT
 * Writes JSON of memory regions: the layout of memc, and the parts of our own layout outside its
 * tables.
 */
#include "formats.h"

#include "libcommon/model/facts.h"
#include "ms-report/output/out.h"

#include "libcommon/base/json_writer.h"

static const char *text(sqlite3_stmt *st, int i)
{
	return (const char *)sqlite3_column_text(st, i);
}

/* Returns kilobytes of 1024 bytes, as the kernel counts. */
static uint64_t kb(uint64_t bytes)
{
	return bytes == UNKNOWN ? 0 : bytes / 1024;
}

void json_skipped(struct model *m, struct ms_json *j)
{
	if (m->proc_only != PROC_ONLY_REGIONS)
		return;
	sqlite3_stmt *st = model_ask(m, "SELECT time_ns, pid, name, reason FROM skipped"
					" ORDER BY time_ns, pid");
	ms_json_open(j, "skipped_processes", '[');
	while (model_next(&st)) {
		ms_json_format(j, "{time_ns:%lu pid:%lu name:%s reason:%s}", figure_in(st, 0),
			       figure_in(st, 1), text(st, 2), text(st, 3));
	}
	ms_json_close(j, ']');
}

/* ---- memc ---- */

struct memc {
	struct model *m;
	struct ms_json j;
	sqlite3_stmt *regions; /* query of the regions by snapshot, at its current row; or NULL */
};

static void address(struct ms_json *j, const char *key, int64_t v)
{
	ms_json_print(j, key, "0x%llx", (unsigned long long)v);
}

/* Writes the figures that come from /proc/PID/smaps; --maps does not record any of these. */
static void put_figures(struct ms_json *j, sqlite3_stmt *st)
{
	static const char *const keys[] = {
		"rss_kb",           "pss_kb",           "shared_clean_kb", "shared_dirty_kb",
		"private_clean_kb", "private_dirty_kb", "swap_kb"};
	for (int i = 0; i < 7; i++)
		ms_json_number(j, keys[i], kb(figure_in(st, 6 + i)));
}

static void put_region(struct ms_json *j, sqlite3_stmt *st)
{
	int64_t start = sqlite3_column_int64(st, 1), end = sqlite3_column_int64(st, 2);
	const char *path = text(st, 5);
	ms_json_open(j, NULL, '{');
	address(j, "start", start);
	address(j, "end", end);
	ms_json_format(j, "type:%s perm:%s size_kb:%lu pathname:%s", text(st, 3), text(st, 4),
		       ((uint64_t)end - (uint64_t)start) / 1024, path ? path : "");
	if (sqlite3_column_type(st, 6) != SQLITE_NULL)
		put_figures(j, st);
	ms_json_close(j, '}');
}

/* Writes the regions of a snapshot, or only skips them, together with those of earlier snapshots.
 */
static void put_regions(struct memc *c, int64_t snapshot, bool write)
{
	while (c->regions && sqlite3_column_int64(c->regions, 0) <= snapshot) {
		if (write && sqlite3_column_int64(c->regions, 0) == snapshot)
			put_region(&c->j, c->regions);
		model_next(&c->regions);
	}
}

/* Writes a process. Columns of `st`: snapshot, time on the shared clock, wall time, pid, name, RSS,
 * VSZ, regions. */
static void put_process(struct memc *c, const char *key, sqlite3_stmt *st)
{
	struct ms_json *j = &c->j;
	ms_json_open(j, key, '{');
	ms_json_format(j,
		       "pid:%lu timestamp_ms:%lu total_rss_kb:%lu total_vsize_kb:%lu"
		       " region_count:%lu regions:[",
		       figure_in(st, 3), figure_in(st, 2) / 1000000, kb(figure_in(st, 5)),
		       kb(figure_in(st, 6)), figure_in(st, 7));
	put_regions(c, sqlite3_column_int64(st, 0), true);
	ms_json_format(j, "]}");
}

/* Writes all processes of one time. Moves `st` from the first process of that time to the first of
 * the next. */
static void put_time(struct memc *c, sqlite3_stmt **st)
{
	int64_t at = sqlite3_column_int64(*st, 1);
	struct ms_json *j = &c->j;
	ms_json_format(j, "{timestamp_ms:%lu process_count:%lu skipped:%lu processes:[",
		       figure_in(*st, 2) / 1000000,
		       model_number(c->m,
				    "SELECT count(*) FROM snapshot s JOIN process p"
				    " ON p.id = s.process WHERE s.time_ns + p.offset_ns = %lld",
				    (long long)at),
		       model_number(c->m,
				    "SELECT count(*) FROM skipped WHERE time_ns = %lld"
				    " AND reason NOT LIKE 'ended%%'",
				    (long long)at));
	do {
		ms_json_format(j, "{pid:%lu name:%s", figure_in(*st, 3), text(*st, 4));
		put_process(c, "snapshot", *st);
		ms_json_close(j, '}');
	} while (model_next(st) && sqlite3_column_int64(*st, 1) == at);
	ms_json_format(j, "]}");
}

static const char processes_sql[] =
	"SELECT s.id, s.time_ns + p.offset_ns, p.started_ns + s.time_ns, p.pid, p.comm,"
	" s.rss_bytes, x.vsz_bytes, coalesce(n.regions, 0), s.label"
	" FROM snapshot s JOIN process p ON p.id = s.process"
	" LEFT JOIN sample x ON x.process = p.id AND x.time_ns = s.time_ns"
	" LEFT JOIN (SELECT snapshot, count(*) AS regions FROM region GROUP BY snapshot) n"
	" ON n.snapshot = s.id WHERE %d OR s.label = %Q ORDER BY s.id";

static const char regions_sql[] =
	"SELECT snapshot, start, \"end\", kind, perms, path, rss_bytes, pss_bytes,"
	" shared_clean_bytes, shared_dirty_bytes, private_clean_bytes, private_dirty_bytes,"
	" swap_bytes FROM region ORDER BY snapshot, rowid";

void json_memc(struct model *m, struct out *o, bool at)
{
	struct memc c = {.m = m, .j = out_json(o), .regions = model_ask(m, regions_sql)};
	bool all = model_number(m, "SELECT value FROM meta WHERE key = 'all'") == 1;
	sqlite3_stmt *st = model_ask(m, processes_sql, !at, m->at_label);
	model_next(&c.regions);
	model_next(&st);
	while (st) {
		put_regions(&c, sqlite3_column_int64(st, 0) - 1, false);
		c.j.comma = false;
		if (all) {
			put_time(&c, &st);
		} else {
			put_process(&c, NULL, st);
			model_next(&st);
		}
		out_char(o, '\n');
	}
	sqlite3_finalize(c.regions);
}

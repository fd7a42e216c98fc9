/* SPDX-License-Identifier: MIT
 * The columns of each file, and the queries that fill them. ms-dataset(5) documents their meaning.
 */
#include "dataset_private.h"

#include <string.h>

/* Sums a column; NULL if any of its values is NULL. */
#define SUM(x) "iif(count(*) = count(" x "), sum(" x "), NULL)"
#define ONE(x) "iif(count(*) = 1, " x ", NULL)"
#define FIRST(x) "(SELECT " x " FROM process ORDER BY id LIMIT 1)"
#define WHOLE_HEAP(x)                                                                              \
	"(SELECT " x " FROM growth WHERE site = 0 ORDER BY bytes_per_minute DESC, process LIMIT "  \
	"1)"
#define SUMMED(x)                                                                                  \
	{                                                                                          \
		x, SUM(x)                                                                          \
	}
#define GROWTH(where)                                                                              \
	{"trend", where("trend")}, {"bytes_per_minute", where("bytes_per_minute")},                \
		{"low", where("low")}, {"high", where("high")},                                    \
	{                                                                                          \
		"confidence", where("confidence")                                                  \
	}

static const struct dataset_column run[] = {
	{"run", "?1"},
	{"time_s", "coalesce(?3, min(started_ns) / 1000000000)"},
	{"commit_id", "json_extract(?2, '$.commit')"},
	{"test", "json_extract(?2, '$.test')"},
	{"keys", "?2"},
	{"exe", FIRST("exe")},
	{"recorder", FIRST("recorder")},
	{"started_ns", "min(started_ns)"},
	{"duration_ns", "max(offset_ns + duration_ns)"},
	{"processes", "count(*)"},
	{"complete", "?4"},
	{"exit_status", FIRST("exit_status")},
	{"sampled_bytes", "max(sampled_bytes)"},
	{"events_lost", "sum(events_lost)"},
	SUMMED("allocations"),
	SUMMED("frees"),
	SUMMED("reallocations"),
	SUMMED("failed_allocations"),
	SUMMED("allocated_bytes"),
	SUMMED("temporary_allocations"),
	{"peak_bytes", "iif(count(*) = 1, peak_bytes,"
		       " (SELECT value FROM meta WHERE key = 'sum_peak_bytes'))"},
	{"peak_blocks", ONE("peak_blocks")},
	SUMMED("unfreed_bytes"),
	SUMMED("unfreed_blocks"),
	SUMMED("unreachable_bytes"),
	SUMMED("unreachable_blocks"),
	{"peak_rss_bytes", ONE("coalesce(peak_rss_bytes, (SELECT max(rss_bytes) FROM sample))")},
	{"end_rss_bytes", ONE("(SELECT rss_bytes FROM sample WHERE rss_bytes IS NOT NULL"
			      " ORDER BY time_ns DESC LIMIT 1)")},
	{"mapped_peak_bytes", ONE("mapped_peak_bytes")},
	GROWTH(WHOLE_HEAP),
};

#define OF_GROUP(x) "g." x
#define OF_TREND(x) "w." x
#define GROUPED(x)                                                                                 \
	{                                                                                          \
		x, OF_GROUP(x)                                                                     \
	}
#define BASE_NAME(x) "substr(" x ", length(rtrim(" x ", replace(" x ", '/', ''))) + 1)"
/* Lists the callers of the site's function, the innermost first. */
#define CALLERS                                                                                    \
	"(WITH RECURSIVE up(stack, n, names) AS (SELECT parent, 0, NULL FROM stack"                \
	" WHERE id = s.user_frame UNION ALL SELECT k.parent, n + 1,"                               \
	" coalesce(names || ' < ', '') || coalesce(f.function, f.note, '?') FROM up"               \
	" JOIN stack k ON k.id = up.stack JOIN frame f ON f.id = k.frame WHERE n < 5)"             \
	" SELECT names FROM up ORDER BY n DESC LIMIT 1)"
/* Returns a figure of lost blocks; NULL if the run was not checked for leaks. */
#define LOST(x)                                                                                    \
	"iif((SELECT count(*) FROM process WHERE unreachable_bytes IS NULL) = 0,"                  \
	" coalesce(u." x ", 0), NULL)"

static const struct dataset_column site[] = {
	{"run", "?1"},
	{"site", "g.site"},
	{"function", "p.function"},
	{"file", "p.file"},
	{"line", "p.line"},
	{"module", BASE_NAME("p.module")},
	{"callers", CALLERS},
	{"entry", "s.entry"},
	{"one_time", "s.one_time"},
	{"sites", "g.sites"},
	{"verdict", "CASE g.worst WHEN 5 THEN 'unreachable' WHEN 4 THEN 'indirect' WHEN 3 THEN"
		    " 'growing' WHEN 2 THEN 'unknown' WHEN 1 THEN 'reachable' END"},
	{"unreachable_bytes", LOST("bytes")},
	{"unreachable_blocks", LOST("blocks")},
	GROUPED("allocations"),
	GROUPED("frees"),
	GROUPED("reallocations"),
	GROUPED("allocated_bytes"),
	GROUPED("temporary"),
	GROWTH(OF_TREND),
};

static const struct dataset_column site_stat[] = {
	{"run", "?1"},
	{"moment", "t.label"},
	{"site", "coalesce(s.key, '')"},
	{"live_bytes", SUM("c.live_bytes")},
	{"live_blocks", SUM("c.live_blocks")},
};

/* Groups sites by key. Calls of one function from different lines have the same key. */
static const char from_site[] =
	" FROM (SELECT coalesce(key, '') AS site, min(id) AS first, count(*) AS sites,"
	" max(CASE verdict WHEN 'unreachable' THEN 5 WHEN 'indirect' THEN 4 WHEN 'growing' THEN 3"
	" WHEN 'unknown' THEN 2 WHEN 'reachable' THEN 1 END) AS worst,"
	" " SUM("allocations") " AS allocations, " SUM(
		"frees") " AS frees,"
			 " " SUM("reallocations") " AS reallocations, " SUM(
				 "allocated_bytes") " AS allocated_bytes,"
						    " " SUM("temporary") " AS temporary FROM site "
									 "GROUP BY 1) g"
									 " JOIN site s ON s.id = "
									 "g.first JOIN place p ON "
									 "p.site = g.first"
									 " LEFT JOIN (SELECT "
									 "coalesce(key, '') AS "
									 "site, trend, "
									 "max(bytes_per_minute) AS"
									 " bytes_per_minute, low, "
									 "high, confidence FROM "
									 "growth JOIN site ON "
									 "site.id = growth.site"
									 " GROUP BY 1) w ON w.site "
									 "= g.site"
									 " LEFT JOIN (SELECT "
									 "coalesce(key, '') AS "
									 "site, sum(v.bytes) AS "
									 "bytes, sum(v.blocks) AS"
									 " blocks FROM "
									 "site_verdict v JOIN site "
									 "ON site.id = v.site"
									 " JOIN scan c ON "
									 "c.process = site.process "
									 "AND c.scan = v.scan AND "
									 "c.label = 'end'"
									 " WHERE v.verdict IN "
									 "('unreachable', "
									 "'indirect') GROUP BY 1) "
									 "u ON u.site = g.site"
									 " ORDER BY g.first";
static const char from_site_stat[] =
	" FROM site_stat c JOIN snapshot t ON t.id = c.snapshot JOIN site s ON s.id = c.site"
	" WHERE c.live_blocks > 0 OR c.live_bytes > 0 GROUP BY t.label, coalesce(s.key, '')"
	" ORDER BY min(t.id), min(s.id)";

#define COUNT(a) (sizeof(a) / sizeof *(a))
const struct dataset_file dataset_files[DATASET_FILES] = {
	{"run", run, COUNT(run), " FROM process"},
	{"site", site, COUNT(site), from_site},
	{"site_stat", site_stat, COUNT(site_stat), from_site_stat},
};
_Static_assert(COUNT(run) <= DATASET_COLUMNS_MAX, "rows are read into so many fields");

size_t dataset_column(const struct dataset_file *f, const char *name)
{
	size_t i = 0;
	while (strcmp(f->columns[i].name, name) != 0)
		i++;
	return i;
}

char *dataset_column_list(const struct dataset_file *f, bool sql, struct ms_arena *a)
{
	char *all = "";
	for (size_t i = 0; i < f->n; i++)
		all = ms_arena_printf(a, "%s%s%s", all, i ? ", " : "",
				      sql ? f->columns[i].sql : f->columns[i].name);
	return all;
}

/* SPDX-License-Identifier: MIT
 * Traces into snapshots: every column of a small trace worked out by hand, points, several
 * processes, cuts and damage.
 */
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/trace/recording.h"
#include "libcommon/snapshot/snapshot.h"

#include "tests/unit/check.h"
#include "tests/unit/example_trace.h"

#include <sys/stat.h>

static sqlite3 *build(const char *const *paths, size_t n, const char *const *points,
		      size_t point_count, struct ms_build_result *res, struct ms_err *err)
{
	struct ms_build_options opt = {
		.points = points, .point_count = point_count, .no_symbols = true};
	err->text[0] = '\0';
	return ms_snapshot_build(paths, n, &opt, res, err);
}

static sqlite3 *build_one(const char *path)
{
	struct ms_err err = {0};
	struct ms_build_result res;
	sqlite3 *db = build(&path, 1, NULL, 0, &res, &err);
	CHECK(db, "%s", err.text);
	return db;
}

/* The first row of a query as text, columns with | between. */
static const char *row(sqlite3 *db, const char *sql)
{
	static char out[4096];
	struct ms_err err = {0};
	sqlite3_stmt *s = ms_sql_prepare(db, sql, &err);
	size_t n = 0;
	out[0] = '\0';
	if (!s || sqlite3_step(s) != SQLITE_ROW)
		snprintf(out, sizeof out, "no row %s", err.text);
	else
		for (int i = 0; i < sqlite3_column_count(s); i++) {
			const char *v = (const char *)sqlite3_column_text(s, i);
			n += (size_t)snprintf(out + n, n < sizeof out ? sizeof out - n : 0, "%s%s",
					      i ? "|" : "", v ? v : "null");
		}
	sqlite3_finalize(s);
	return out;
}

struct answer {
	const char *sql, *want;
};
static const struct answer example[] = {
	{"SELECT pid, exe, command, started_ns, offset_ns, duration_ns, exit_status, exit_signal, "
	 "end_reason, machine, allocator FROM process",
	 "77|/bin/"
	 "app|[\"app\",\"--say=\\\"hi\\\"\\u000a\"]|1700000000000000000|0|2000000|0|null|exit|x86_"
	 "64|glibc 2.36"},
	{"SELECT complete, state, events, events_lost, sampled_bytes, attached, inferred_frees, "
	 "unknown_frees, damaged_bytes FROM process",
	 "1|complete|7|0|0|0|0|0|0"},
	{"SELECT allocations, frees, reallocations, failed_allocations, allocated_bytes, "
	 "temporary_allocations FROM process",
	 "4|3|1|1|457|2"},
	{"SELECT peak_bytes, peak_blocks, peak_time_ns, unfreed_bytes, unfreed_blocks, "
	 "unreachable_bytes FROM process",
	 "307|2|600000|300|1|null"},
	{"SELECT frames_without_symbol FROM process", "0"},
	{"SELECT group_concat(label || ' ' || time_ns || ' ' || live_bytes || ' ' || live_blocks "
	 "|| ' ' || ifnull(rss_bytes, '-') || ' ' || "
	 "ifnull(pss_bytes, '-'), ', ') FROM snapshot",
	 "peak 600000 307 2 4096 -, end 2000000 300 1 8192 8000"},
	{"SELECT group_concat(id || ' ' || path || ' ' || ifnull(build_id, '-') || ' ' || "
	 "ifnull(unloaded_ns, '-') || ' ' || "
	 "ifnull(symbols, '-'), ', ') FROM module",
	 "1 /bin/app 01abcd - dwarf, 2 /usr/lib/libstdc++.so.6 - 1500000 -"},
	/* sites: B has 300 at the end, then C 7 at the peak, then A */
	{"SELECT group_concat(s.id || ' ' || f.function || ' ' || s.allocations || ' ' || s.frees "
	 "|| ' ' || s.reallocations || ' ' || "
	 "s.failed_allocations || ' ' || s.allocated_bytes || ' ' || s.temporary, ', ') FROM site "
	 "s JOIN stack k ON k.id = s.stack "
	 "JOIN frame f ON f.id = k.frame",
	 "1 other 2 1 1 0 350 1, 2 other 1 1 0 0 7 1, 3 operator new(unsigned long) 1 1 0 1 100 0"},
	{"SELECT group_concat(min_size || ' ' || max_size || ' ' || max_live_bytes || ' ' || "
	 "max_live_blocks || ' ' || first_ns || ' ' || "
	 "last_ns || ' ' || lifetime_ns || ' ' || lifetime_allocations || ' ' || marked, ', ') "
	 "FROM site",
	 "50 300 300 1 200000 600000 300000 1 0, 7 7 7 1 300000 300000 900000 1 0, 100 100 100 1 "
	 "100000 400000 500000 2 0"},
	{"SELECT group_concat(site || ' ' || function || ' ' || ifnull(file, '-') || ':' || "
	 "ifnull(line, '-') || ' ' || module, ', ') FROM place",
	 "1 other app.cc:30 /bin/app, 2 other app.cc:30 /bin/app, 3 helper helper.h:3 /bin/app"},
	{"SELECT group_concat(label || ' ' || site || ' ' || live_bytes || ' ' || live_blocks, ', "
	 "') FROM live",
	 "peak 1 300 1, peak 2 7 1, end 1 300 1"},
	{"SELECT count(*), max(id), sum(inlined), sum(runtime) FROM frame", "7|7|1|3"},
	{"WITH RECURSIVE up(id, parent, depth, text) AS (SELECT k.id, k.parent, k.depth, "
	 "f.function FROM site s JOIN stack k ON k.id = s.stack "
	 "JOIN frame f ON f.id = k.frame WHERE s.id = 3 UNION ALL SELECT k.id, k.parent, k.depth, "
	 "up.text || ' < ' || f.function FROM up JOIN "
	 "stack k ON k.id = up.parent JOIN frame f ON f.id = k.frame) SELECT text, depth FROM up "
	 "WHERE parent IS NULL",
	 "operator new(unsigned long) < helper < work < main < _start|0"},
	{"SELECT f.note, f.function, f.module, f.address, c.function FROM site s JOIN stack k ON "
	 "k.id = s.stack JOIN stack p ON p.id = k.parent "
	 "JOIN frame f ON f.id = p.frame JOIN stack q ON q.id = p.parent JOIN frame c ON c.id = "
	 "q.frame WHERE s.id = 2",
	 "cut|null|null|null|_start"},
	{"SELECT group_concat(tid || ' ' || name || ' ' || start_ns || ' ' || allocations || ' ' "
	 "|| frees || ' ' || allocated_bytes || ' ' || "
	 "temporary || ' ' || live_bytes || ' ' || live_blocks || ' ' || events_lost, ', ') FROM "
	 "thread",
	 "77 app 100000 3 2 450 1 300 1 0, 78 io-\xef\xbf\xbd 300000 1 1 7 1 0 0 0"},
	{"SELECT group_concat(site || ' ' || thread || ' ' || allocations || ' ' || "
	 "allocated_bytes || ' ' || live_bytes || ' ' || live_blocks, "
	 "', ') FROM site_thread",
	 "1 1 2 350 300 1, 2 2 1 7 0 0, 3 1 1 100 0 0"},
	{"SELECT group_concat(low || '-' || high || ' ' || allocations || ' ' || allocated_bytes "
	 "|| ' ' || temporary || ' ' || peak_bytes || ' ' "
	 "|| peak_blocks || ' ' || live_bytes || ' ' || live_blocks, ', ') FROM size_class",
	 "4-7 1 7 1 7 1 0 0, 32-63 1 50 1 0 0 0 0, 64-127 1 100 0 0 0 0 0, 256-511 1 300 0 300 1 "
	 "300 1"},
	{"SELECT count(*), max(time_ns), max(live_max), sum(allocations), sum(frees), "
	 "sum(allocated_bytes) FROM timeline",
	 "21|2000000|307|4|3|457"},
	{"SELECT live_min, live_max, live_last, blocks_last FROM timeline WHERE time_ns = 600000",
	 "107|307|307|2"},
	{"SELECT group_concat(seq || ' ' || name || ' ' || time_ns || ' ' || event, ', ') FROM "
	 "mark",
	 "1 warm 200000 2, 2 reload 600000 4, 3 warm 1000000 6"},
	{"SELECT group_concat(site || ' ' || low || '-' || high || ' ' || allocations || ' ' || "
	 "allocated_bytes || ' ' || temporary || ' ' || peak_bytes || ' ' || peak_blocks || ' ' "
	 "|| live_bytes || ' ' || live_blocks, ', ') FROM site_size",
	 "1 32-63 1 50 1 0 0 0 0, 1 256-511 1 300 0 300 1 300 1, 2 4-7 1 7 1 7 1 0 0, 3 64-127 1 "
	 "100 0 0 0 0 0"},
	{"SELECT group_concat(site || ' ' || unit || ' ' || low || '-' || high || ' ' || frees, "
	 "', ') FROM site_lifetime",
	 "1 allocations 1-9 1, 1 ns 0-999999 1, 2 allocations 1-9 1, 2 ns 0-999999 1, 3 "
	 "allocations 1-9 1, 3 ns 0-999999 1"},
	{"SELECT count(*) FROM loss", "0"},
	{"SELECT group_concat(key || '=' || value, ' ') FROM meta",
	 "complete=1 processes=1 sum_peak_bytes=307 sum_peak_time_ns=600000 symbols=0"},
};

/* Holds the answers for the same trace with two events lost, and what that makes unknowable. */
static const struct answer lossy[] = {
	{"SELECT complete, state, events, events_lost, allocations, allocated_bytes, peak_bytes, "
	 "temporary_allocations FROM process",
	 "1|complete|7|2|4|457|307|null"},
	{"SELECT from_ns, to_ns, events, reason, thread FROM loss", "5|9|2|overflow|2"},
	{"SELECT sum(events_lost), sum(allocations), sum(temporary) FROM thread", "2|4|null"},
	{"SELECT sum(allocations), sum(temporary), sum(lifetime_ns), sum(lifetime_allocations) "
	 "FROM site",
	 "4|null|null|null"},
	{"SELECT (SELECT count(*) FROM size_class), (SELECT count(*) FROM site_size), (SELECT "
	 "count(*) FROM site_lifetime)",
	 "0|0|0"},
};

static void check_answers(const char *path, const struct answer *v, size_t n)
{
	sqlite3 *db = build_one(path);
	for (size_t i = 0; db && i < n; i++) {
		const char *got = row(db, v[i].sql);
		CHECK(strcmp(got, v[i].want) == 0, "%s\n  got  %s\n  want %s", v[i].sql, got,
		      v[i].want);
	}
	sqlite3_close(db);
}

static void test_example(void)
{
	make_example("example.trace", false);
	check_answers("example.trace", example, sizeof example / sizeof *example);
	make_example("lossy.trace", true);
	check_answers("lossy.trace", lossy, sizeof lossy / sizeof *lossy);
}

/* Checks that a snapshot has the same bytes however the trace is named and each time it is made. */
static void test_same_bytes(void)
{
	struct ms_err err = {0};
	unsigned char *image[2];
	size_t size[2];
	for (unsigned i = 0; i < 2; i++) {
		sqlite3 *db = build_one(i ? "./example.trace" : "example.trace");
		image[i] = ms_snapshot_image(db, &size[i], &err);
		sqlite3_close(db);
	}
	CHECK(image[0] && image[1] && size[0] == size[1] &&
		      memcmp(image[0], image[1], size[0]) == 0,
	      "images differ");
	sqlite3_free(image[0]);
	sqlite3_free(image[1]);
}

static const struct {
	const char *point, *want; /* time, live bytes, blocks; or the message */
} points[] = {
	{"start", "0|0|0"},
	{"200us", "200000|150|2"},
	{"0.299ms", "299000|150|2"},
	{"0.3ms", "300000|157|3"},
	{"2ms", "2000000|300|1"},
	{"-1400us", "600000|307|2"},
	{"-2ms", "0|0|0"},
	{"mark:warm", "200000|150|2"},
	{"mark:warm#2", "1000000|307|2"},
	{"mark:warm#last", "1000000|307|2"},
	{"mark:reload", "600000|157|3"},
	{"22:13:20", "0|0|0"},
	{"mark:cold", "no point 'mark:cold' in the recording: its marks are: warm, reload, warm"},
	{"mark:warm#3",
	 "no point 'mark:warm#3' in the recording: its marks are: warm, reload, warm"},
	{"3ms", "no point '3ms' in the recording: it lasted 2.0 ms"},
	{"-3ms", "no point '-3ms' in the recording: it lasted 2.0 ms"},
	{"22:13:21", "no point '22:13:21' in the recording: it lasted 2.0 ms"},
	{"half", "bad point 'half': use peak, end, start, 1.5s, -10m, 14:30:05, mark:NAME, "
		 "mark:NAME#3, mark:NAME#last or scan:2"},
	{"25:00", "bad point '25:00': use"},
	{"mark:", "bad point 'mark:': use"},
	{"mark:a#0", "bad point 'mark:a#0': use"},
	{"-", "bad point '-': use"},
	{"", "bad point '': use"},
};

static void test_points(void)
{
	const char *path = "example.trace";
	for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
		struct ms_err err;
		struct ms_build_result res;
		sqlite3 *db = build(&path, 1, &points[i].point, 1, &res, &err);
		const char *got =
			db ? row(db, "SELECT time_ns, live_bytes, live_blocks FROM snapshot")
			   : err.text;
		CHECK(strncmp(got, points[i].want, strlen(points[i].want)) == 0,
		      "%s: got %s, want %s", points[i].point, got, points[i].want);
		if (db)
			CHECK(ms_sql_int(db,
					 "SELECT ifnull(sum(c.live_bytes), 0) - t.live_bytes FROM "
					 "snapshot t LEFT JOIN site_stat c",
					 -1) == 0,
			      "%s: sites do not add up", points[i].point);
		sqlite3_close(db);
	}
}

/* Cut at every byte: a snapshot with the state up to there, or a message when not even the file
 * header is left. */
static void test_cuts(void)
{
	struct ms_err err = {0};
	void *data;
	size_t n;
	int fd = open("example.trace", O_RDONLY);
	CHECK(ms_read_all(fd, "example.trace", 1 << 20, &data, &n, &err) == 0, "%s", err.text);
	close(fd);
	int64_t last = 0;
	for (size_t cut = 0; cut <= n; cut++) {
		const char *path = "cut.trace";
		struct ms_build_result res;
		unlink(path); /* a trace is never replaced */
		CHECK(ms_write_file(path, data, cut, &err) == 0, "%s", err.text);
		sqlite3 *db = build(&path, 1, NULL, 0, &res, &err);
		CHECK(cut < MS_FILE_HEADER_SIZE ? !db && err.text[0] : db != NULL, "cut at %zu: %s",
		      cut, err.text);
		if (!db)
			continue;
		int64_t events = ms_sql_int(db, "SELECT events FROM process", -1);
		bool complete = !ms_snapshot_incomplete(db);
		CHECK(events >= last && (events == 0 || events == 4 || events == 7),
		      "cut at %zu: %lld events", cut, (long long)events);
		CHECK(res.incomplete == !complete && (cut < n || complete), "cut at %zu", cut);
		CHECK(ms_sql_int(db, "SELECT unfreed_bytes FROM process", -1) == (events == 7 ? 300
										  : events == 4
											  ? 157
											  : 0),
		      "cut at %zu", cut);
		last = events;
		sqlite3_close(db);
	}
	free(data);
}

/* Two bytes of three flipped in turn: said, or the same meaning. */
static void test_flips(void)
{
	struct ms_err err = {0};
	void *data;
	size_t n;
	int fd = open("example.trace", O_RDONLY);
	CHECK(ms_read_all(fd, "example.trace", 1 << 20, &data, &n, &err) == 0, "%s", err.text);
	close(fd);
	for (size_t i = 0; i < n; i += 1 + i % 3) {
		const char *path = "flip.trace";
		struct ms_build_result res;
		((unsigned char *)data)[i] ^= 0x10;
		unlink(path); /* a trace is never replaced */
		CHECK(ms_write_file(path, data, n, &err) == 0, "%s", err.text);
		((unsigned char *)data)[i] ^= 0x10;
		sqlite3 *db = build(&path, 1, NULL, 0, &res, &err);
		CHECK(db || err.text[0], "byte %zu: neither database nor message", i);
		if (db && !ms_snapshot_incomplete(db))
			CHECK(ms_sql_int(db,
					 "SELECT unfreed_bytes + allocations * 1000 FROM process",
					 -1) == 4300,
			      "byte %zu: other meaning", i);
		sqlite3_close(db);
	}
	free(data);
}

static void make_simple(const char *path, uint64_t pid, uint64_t start, uint64_t size,
			uint64_t from, uint64_t to, const char *successor)
{
	struct made m;
	struct ms_event events[] = {
		{.kind = MS_EV_ALLOC, .size = size, .time_ticks = from},
		{.kind = MS_EV_FREE, .freed = 0, .time_ticks = to},
		{.kind = MS_EV_ALLOC, .size = 1, .time_ticks = to},
	};
	made_open(&m, path);
	made_info(&m, pid, start);
	made_events(&m, events, 3);
	made_end(&m, TICKS(to + 2), successor);
	made_close(&m);
}

/* Three processes: the sum is largest where they overlap, not where any of them is. */
static void test_processes(void)
{
	mkdir("run.d", 0700);
	make_simple("run.trace", 1, TICKS(100), 1000, 0, 50,
		    "run.d/next.1.1.trace"); /* 100..150, its last byte to 152 */
	make_simple("run.d/next.1.1.trace", 1, TICKS(152), 600, 10, 30,
		    NULL); /* 162..182, its last byte to 184 */
	make_simple("run.d/child.2.2.trace", 2, TICKS(140), 500, 5, 40,
		    NULL); /* 145..180, its last byte to 182 */
	const char *both[] = {"run.trace", "run.d", "run.d/child.2.2.trace"};
	struct ms_err err;
	struct ms_build_result res;
	sqlite3 *db = build(both, 3, NULL, 0, &res, &err);
	CHECK(db, "%s", err.text);
	CHECK(res.traces == 3 && res.incomplete == 0 && res.events == 9, "%u traces", res.traces);
	const char *got =
		row(db, "SELECT group_concat(pid || ' ' || (offset_ns / 100000) || ' ' || "
			"peak_bytes || ' ' || trace, ', ') FROM process");
	CHECK(strcmp(got,
		     "1 0 1000 run.trace, 2 40 500 child.2.2.trace, 1 52 600 next.1.1.trace") == 0,
	      "%s", got);
	got = row(db, "SELECT (SELECT value FROM meta WHERE key = 'sum_peak_bytes'), (SELECT value "
		      "FROM meta WHERE key = 'sum_peak_time_ns')");
	CHECK(strcmp(got, "1500|4500000") == 0, "%s", got);
	sqlite3_close(db);
	/* From 2 ms of each on: the second one has 500 from 60 to 80 then, the third 600 from 72. */
	const struct ms_build_options from = {.no_symbols = true, .from = "2ms"};
	db = ms_snapshot_build(both, 3, &from, &res, &err);
	got = row(db, "SELECT (SELECT value FROM meta WHERE key = 'sum_peak_bytes'), (SELECT value "
		      "FROM meta WHERE key = 'sum_peak_time_ns'), (SELECT "
		      "group_concat(at_sum_peak_bytes) FROM process), min(time_ns), max(live_max) "
		      "FROM sum_timeline");
	CHECK(strcmp(got, "1100|7200000|0,500,600|2000000|1100") == 0, "%s", got);
	sqlite3_close(db);
	const char *first = "run.trace";
	db = build(&first, 1, NULL, 0, &res, &err);
	got = row(db, "SELECT group_concat(pid || ' ' || end_reason, ', ') FROM process");
	CHECK(strcmp(got, "1 exec, 1 exit") == 0, "the successor is followed: %s", got);
	sqlite3_close(db);
	for (int fifo = 0; fifo < 2; fifo++) {
		unlink("run.d/next.1.1.trace");
		if (fifo) /* which nobody writes */
			mkfifo("run.d/next.1.1.trace", 0700);
		db = build(&first, 1, NULL, 0, &res, &err);
		got = row(db, "SELECT value FROM meta WHERE key = 'successor_missing'");
		CHECK(strcmp(got, "run.d/next.1.1.trace") == 0, "%s", got);
		sqlite3_close(db);
	}
	const char *empty = "none.d";
	mkdir(empty, 0700);
	db = build(&empty, 1, NULL, 0, &res, &err);
	CHECK(!db && strcmp(err.text, "no traces in the folder 'none.d'") == 0, "%s", err.text);
}

/* The sum of a span that begins in the midst of a tick, whose bucket began with an event before that:
 * what comes in the rest of the tick counts, and what was before does not. */
static void test_tick(void)
{
	static const char *const from[] = {"peak", "mark:m", "mark:n"}, *const want[] = {
										"1110|1110",
										"610|610",
										"117|117"};
	const char *path = "tick.trace";
	struct made m;
	struct ms_event ev[] = {
		{.kind = MS_EV_ALLOC, .size = 100, .time_ticks = 10},
		{.kind = MS_EV_ALLOC, .size = 10, .time_ticks = 2000},
		{.kind = MS_EV_ALLOC, .size = 1000, .time_ticks = 2001}, /* the peak */
		{.kind = MS_EV_FREE, .freed = 2, .time_ticks = 2001},
		{.kind = MS_EV_ALLOC, .size = 500, .time_ticks = 2001}, /* behind the mark */
		{.kind = MS_EV_FREE, .freed = 3, .time_ticks = 2001},
		{.kind = MS_EV_ALLOC,
		 .size = 7,
		 .time_ticks = 3000}, /* the first one behind mark n */
	};
	made_open(&m, path);
	made_info(&m, 1, 0);
	made_records(&m);
	for (uint64_t i = 0; i < 2; i++) {
		if (i)
			made_next_record(&m);
		ms_record_string(&m.records, MS_MARK_NAME, i ? "n" : "m");
		ms_record_number(&m.records, MS_MARK_TIME, TICKS(2001) + MS_TRACE_TICK_NS / 2);
		ms_record_number(&m.records, MS_MARK_EVENT, 4 + 2 * i);
	}
	made_write(&m, MS_BLOCK_MARKS);
	made_events(&m, ev, 7);
	made_end(&m, TICKS(3010), NULL);
	made_close(&m);
	for (int i = 0; i < 3; i++) {
		struct ms_err err = {0};
		struct ms_build_result res;
		const struct ms_build_options opt = {.no_symbols = true, .from = from[i]};
		sqlite3 *db = ms_snapshot_build(&path, 1, &opt, &res, &err);
		CHECK(db, "%s", err.text);
		const char *got = row(db, "SELECT (SELECT max(live_max) FROM sum_timeline), value "
					  "FROM meta WHERE key = 'sum_peak_bytes'");
		CHECK(strcmp(got, want[i]) == 0, "from %s: %s", from[i], got);
		sqlite3_close(db);
	}
}

/* Checks that an event after the last time that there is is damage, and the rest is reported. */
static void test_late(void)
{
	const uint64_t last = INT64_MAX / MS_TRACE_TICK_NS, ticks[] = {last, last + 1, UINT64_MAX};
	for (size_t late = 0; late < 3; late++) {
		struct made m;
		struct ms_event ev[] = {
			{.kind = MS_EV_ALLOC, .size = 100, .stack = 4, .time_ticks = 1},
			{.kind = MS_EV_ALLOC, .size = 70, .stack = 5, .time_ticks = ticks[late]}};
		made_open(&m, "late.trace");
		made_info(&m, 5, 0);
		made_stacks(&m, frames, 6, nodes, 7);
		made_events(&m, ev, 2);
		made_end(&m, TICKS(20), NULL);
		made_close(&m);
		const char *path = "late.trace";
		struct ms_err err = {0};
		struct ms_build_result res;
		sqlite3 *db = build(&path, 1, NULL, 0, &res, &err);
		const char *got = row(db, "SELECT complete, peak_bytes, peak_time_ns, duration_ns, "
					  "unfreed_blocks FROM process");
		CHECK(!strcmp(got, late ? "0|100|100000|2000000|1"
					: "1|170|9223372036854700000|9223372036854700000|2"),
		      "%s, %s", got, err.text);
		sqlite3_close(db);
	}
}

/* Blocks that lived as long as a trace can be: what their times add up to is not known where it is
 * more than a number holds. */
static void test_lifetimes(void)
{
	const uint64_t last = INT64_MAX / MS_TRACE_TICK_NS;
	for (unsigned n = 1; n <= 3; n++) {
		struct made m;
		struct ms_event ev[6] = {0};
		for (unsigned i = 0; i < n; i++) {
			ev[i] = (struct ms_event){.kind = MS_EV_ALLOC, .size = 1, .stack = 4};
			ev[n + i] = (struct ms_event){
				.kind = MS_EV_FREE, .freed = i, .time_ticks = last};
		}
		made_open(&m, "old.trace");
		made_info(&m, 5, 0);
		made_stacks(&m, frames, 6, nodes, 7);
		made_events(&m, ev, 2 * n);
		made_end(&m, TICKS(last), NULL);
		made_close(&m);
		sqlite3 *db = build_one("old.trace");
		const char *got = row(db, "SELECT frees, lifetime_ns FROM site");
		CHECK(!strcmp(got, n == 1   ? "1|9223372036854700000"
				   : n == 2 ? "2|null"
					    : "3|null"),
		      "%s", got);
		sqlite3_close(db);
	}
}

static void make_sampled(const char *path, uint64_t pid, uint64_t start, uint64_t size,
			 uint64_t end)
{
	struct made m;
	struct ms_event ev[] = {{.kind = MS_EV_ALLOC, .size = size, .stack = 4, .time_ticks = 1},
				{.kind = MS_EV_ALLOC, .size = size, .stack = 5, .time_ticks = 2},
				{.kind = MS_EV_ALLOC, .size = 5, .stack = 5, .time_ticks = 8}};
	made_open(&m, path);
	made_records(&m);
	ms_record_number(&m.records, MS_INFO_PID, pid);
	ms_record_string(&m.records, MS_INFO_EXE, "/bin/app");
	ms_record_number(&m.records, MS_INFO_START_MONO, start);
	ms_record_number(&m.records, MS_INFO_SAMPLE_BYTES, 1); /* all of them */
	made_write(&m, MS_BLOCK_INFO);
	made_stacks(&m, frames, 6, nodes, 7);
	made_events(&m, ev, 3);
	made_end(&m, TICKS(end), NULL);
	made_close(&m);
}

/* Checks a moment at which one of two processes was over already: the other's figures stand there
 * with how sure they are, and so do those of later moments. */
static void test_sampled(void)
{
	const char *paths[] = {"one.trace", "two.trace"}, *at[] = {"3ms", "0.5ms", "end"};
	struct ms_err err;
	struct ms_build_result res;
	make_sampled("one.trace", 1, TICKS(0), 100, 10);
	make_sampled("two.trace", 2, TICKS(5), 70, 50);
	sqlite3 *db = build(paths, 2, at, 3, &res, &err);
	CHECK(db, "%s", err.text);
	const char *got = row(
		db,
		"SELECT group_concat(p.pid || ' ' || s.label || ' ' || s.live_bytes || ' ' || "
		"s.live_blocks || ' ' || (SELECT group_concat(e.figure || ' ' || e.low || ' ' || "
		"e.seen, ' ') FROM estimate e WHERE e.snapshot = s.id AND e.site = 0), ', ') FROM "
		"snapshot s JOIN process p ON p.id = s.process");
	CHECK(strcmp(got, "1 0.5ms 200 2 live_blocks 2 2 live_bytes 200 200, "
			  "1 end 205 3 live_blocks 3 3 live_bytes 205 205, "
			  "2 3ms 145 3 live_blocks 3 3 live_bytes 145 145, "
			  "2 0.5ms 140 2 live_blocks 2 2 live_bytes 140 140, "
			  "2 end 145 3 live_blocks 3 3 live_bytes 145 145") == 0,
	      "%s", got);
	sqlite3_close(db);
	/* Counting begins in the middle of a span of the timeline. */
	const struct ms_build_options from = {.no_symbols = true, .from = "0.15ms"};
	make_sampled("three.trace", 3, 0, 100, 2000);
	db = ms_snapshot_build((const char *[]){"three.trace"}, 1, &from, &res, &err);
	got = row(db, "SELECT min(time_ns), count(*) > 2, count(*) - count(live_low), "
		      "count(blocks_last), count(allocations) FROM timeline");
	CHECK(strcmp(got, "100000|1|0|0|0") == 0, "%s", got);
	sqlite3_close(db);
}

/* Checks that what was lost with a site's roots is left out if it is more than there was; a scan
 * that ran out of time has no verdicts at all. */
static void test_roots(void)
{
	const struct ms_verdict_root good[] = {{5, 2, 20}, {7, 1, 10}},
				     blocks[] = {{5, 2, 20}, {7, 2, 10}},
				     bytes[] = {{5, 2, 20}, {7, 1, 11}};
	const struct ms_verdict_root *roots[] = {good, blocks, bytes, good};
	static const char *const want[] = {"2|3|30|1", "0|null|null|1", "0|null|null|1",
					   "0|null|null|0"};
	for (size_t i = 0; i < 4; i++) {
		struct made m;
		struct ms_verdict_scan scan = {.scan = 1,
					       .state = i < 3 ? MS_SCAN_DONE : MS_SCAN_TIME,
					       .label = "end",
					       .label_size = 3};
		struct ms_verdict_site site = {
			.scan = 1, .stack = 4, .roots = roots[i], .root_count = 2};
		site.blocks[MS_VERDICT_IS_INDIRECT] = 3;
		site.bytes[MS_VERDICT_IS_INDIRECT] = 30;
		made_open(&m, "roots.trace");
		made_info(&m, 5, 0);
		made_stacks(&m, frames, 6, nodes, 7);
		put_events(&m);
		ms_record_writer_init(&m.records, m.record_memory, sizeof m.record_memory);
		CHECK(ms_verdict_put_scan(&m.records, &scan), "scan");
		CHECK(ms_verdict_put_site(&m.records, &site), "site");
		struct ms_column c = ms_record_column(&m.records);
		made_block(&m, MS_BLOCK_VERDICTS, &c, 1);
		made_end(&m, TICKS(20), NULL);
		made_close(&m);
		sqlite3 *db = build_one("roots.trace");
		const char *got =
			row(db, "SELECT count(*), sum(blocks), sum(bytes), (SELECT count(*) FROM "
				"site_verdict) FROM lost_with");
		CHECK(strcmp(got, want[i]) == 0, "roots %zu: %s", i, got);
		sqlite3_close(db);
	}
}

/* A writer's lock says that the trace still grows: no damage, and no error. */
static void test_growing(void)
{
	struct made m;
	made_open(&m, "growing.trace");
	made_info(&m, 5, 0);
	made_stacks(&m, frames, 6, nodes, 7);
	put_events(&m);
	CHECK(ms_trace_lock(m.fd) == 0, "lock");
	const char *path = "growing.trace";
	struct ms_err err;
	struct ms_build_result res;
	sqlite3 *db = build(&path, 1, NULL, 0, &res, &err);
	CHECK(db && res.growing == 1 && res.incomplete == 0, "%s", err.text);
	const char *got = row(db, "SELECT complete, state, exit_status, end_reason, duration_ns, "
				  "unfreed_bytes FROM process");
	CHECK(strcmp(got, "1|growing|null|null|1200000|300") == 0, "%s", got);
	sqlite3_close(db);
	made_close(&m);
	db = build(&path, 1, NULL, 0, &res, &err);
	got = row(db, "SELECT complete, state FROM process");
	CHECK(strcmp(got, "0|no end") == 0, "%s", got);
	sqlite3_close(db);
}

int main(void)
{
	test_example();
	test_same_bytes();
	test_points();
	test_cuts();
	test_flips();
	test_processes();
	test_tick();
	test_late();
	test_lifetimes();
	test_sampled();
	test_roots();
	test_growing();
	return failures != 0;
}

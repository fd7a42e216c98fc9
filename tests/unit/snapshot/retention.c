/* SPDX-License-Identifier: MIT
 * What keeps live blocks reachable, from a block made by hand into the tables: every column, what
 * is missing or wrong in it, cuts and flips; and snapshots from before there were these tables.
 */
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/snapshot/anonymize.h"
#include "libcommon/snapshot/snapshot.h"
#include "libcommon/trace/recording.h"
#include "format/retention.h"
#include "format/verdict.h"

#include "tests/unit/check.h"
#include "tests/unit/made_trace.h"

/* ---- the trace ----
 *
 * Live: 2 x 100 bytes of fill, 2 x 50 of Session, 100 of name; kept 400 in 5 blocks, unreachable 10
 * in 1. Node 4 is a frame of a thread, of which nothing was allocated.
 */

enum { MAIN = 1, FILL, SESSION, FRAME, NAME };
static const struct ms_frame frames[] = {
	{0x401001, 1, 0}, {0x401002, 1, 0}, {0x401003, 1, 0}, {0x401004, 1, 0}, {0x401005, 1, 0}};
static const struct ms_node nodes[] = {{0, 1}, {MAIN, 2}, {FILL, 3}, {0, 4}, {MAIN, 5}};
static const char *const symbols[] = {"main", "fill", "Session::Session", "Pool::run", "name"};

static const struct ms_retention_root roots[] = {
	{.root = 1,
	 .kind = MS_KEEPER_VARIABLE,
	 .module = 1,
	 .offset = 0x4010,
	 .size = 56,
	 .name = "_ZN3BusB5cxx118instanceE",
	 .type = "std::map<int, Session *>"},
	{.root = 2,
	 .kind = MS_KEEPER_VARIABLE,
	 .module = 1,
	 .offset = 0x4050,
	 .size = 8,
	 .observes = 1,
	 .name = "_ZN2rs8SESSIONS17h0123456789abcdefE"},
	{.root = 3, .kind = MS_KEEPER_SECTION, .module = 2, .offset = 0x8000, .name = ".bss"},
	{.root = 4, .kind = MS_KEEPER_THREAD_LOCAL, .module = 1, .thread = 2, .name = "t_scratch"},
	{.root = 5, .kind = MS_KEEPER_FRAME, .size = 96, .thread = 2, .stack = FRAME},
	{.root = 6, .kind = MS_KEEPER_REGISTERS, .thread = 1},
	{.root = 7, .kind = MS_KEEPER_MAPPING, .size = 8 << 20, .stack = SESSION},
	{.root = 8, .kind = MS_KEEPER_OTHER, .name = "memory that was not recorded"},
	{.root = 9, .kind = MS_KEEPER_FRAME, .thread = 99, .stack = 77, .observes = 9},
};
#define ROOTS (sizeof roots / sizeof *roots)

static const uint64_t both[] = {1, 2}, other[] = {5};
static const struct ms_retention_set sets[] = {
	{.set = 1, .roots = both, .root_count = 2},
	{.set = 2, .roots = other, .root_count = 1, .others = true}};
#define SETS (sizeof sets / sizeof *sets)

static const struct ms_retention_step path[] = {
	{FILL, 2, false}, {77, 3, true}, {SESSION, 1, false}};
static const struct ms_retention_row rows[] = {
	{.row = 1, .root = 1, .retained_bytes = 250, .retained_blocks = 3, .offset = 8},
	{.row = 2,
	 .parent = 1,
	 .stack = FILL,
	 .bytes = 200,
	 .blocks = 2,
	 .retained_bytes = 250,
	 .retained_blocks = 3,
	 .offset = MS_RETENTION_NO_OFFSET,
	 .depth = 2},
	{.row = 3,
	 .parent = 2,
	 .stack = SESSION,
	 .bytes = 50,
	 .blocks = 1,
	 .retained_bytes = 50,
	 .retained_blocks = 1,
	 .offset = 40,
	 .type = "_ZTV7Session",
	 .path_root = 1,
	 .path = path,
	 .path_count = 3,
	 .path_blocks = 1,
	 .path_cut = true},
	{.row = 4, .set = 2, .retained_bytes = 100, .retained_blocks = 1},
	{.row = 5,
	 .parent = 4,
	 .flags = MS_KEPT_MAPPING,
	 .retained_bytes = 100,
	 .retained_blocks = 1,
	 .mapped_bytes = 4096,
	 .type = "PyDict_Type"},
	{.row = 6,
	 .parent = 5,
	 .stack = NAME,
	 .bytes = 100,
	 .blocks = 1,
	 .retained_bytes = 100,
	 .retained_blocks = 1},
	{.row = 7,
	 .flags = MS_KEPT_REST,
	 .bytes = 50,
	 .blocks = 1,
	 .retained_bytes = 50,
	 .retained_blocks = 1,
	 .offset = MS_RETENTION_NO_OFFSET},
};
#define ROWS (sizeof rows / sizeof *rows)

/* Says what of the block is other than above. */
struct change {
	uint64_t state; /* 0 = done */
	uint64_t kept;  /* 0 = 400 */
	size_t row;     /* number of the row that is replaced by `as`; 0 = none */
	struct ms_retention_row as;
	size_t lost;  /* record that is missing: 1 is the first root */
	bool no_scan; /* no verdicts */
};

static void put_small(struct made *m)
{
	static const char *const names[] = {"app", "worker-3"};
	for (unsigned i = 0; i < 2; i++) {
		made_records(m);
		ms_record_number(&m->records, MS_MODULE_ID, i + 1);
		ms_record_string(&m->records, MS_MODULE_PATH,
				 i ? "/usr/lib/libfoo.so" : "/bin/app");
		ms_record_number(&m->records, MS_MODULE_START, 0x400000);
		ms_record_number(&m->records, MS_MODULE_END, 0x500000);
		made_write(m, MS_BLOCK_MODULES);
		made_records(m);
		ms_record_number(&m->records, MS_THREAD_INDEX, i);
		ms_record_number(&m->records, MS_THREAD_TID, 77 + i);
		ms_record_string(&m->records, MS_THREAD_NAME, names[i]);
		made_write(m, MS_BLOCK_THREADS);
	}
}

static void put_variable(struct made *m, unsigned module, uint64_t address, bool in_thread,
			 unsigned line)
{
	made_next_record(m);
	ms_record_number(&m->records, MS_SYM_VARIABLE, module);
	ms_record_number(&m->records, MS_SYM_ADDRESS, address);
	if (in_thread)
		ms_record_number(&m->records, MS_SYM_IN_THREAD, 1);
	ms_record_number(&m->records, MS_SYM_TYPE, 7);
	ms_record_number(&m->records, MS_SYM_FILE, 6);
	ms_record_number(&m->records, MS_SYM_LINE, line);
}

static void put_symbols(struct made *m)
{
	made_records(m);
	for (unsigned i = 0; i < 5; i++) {
		ms_record_string(&m->records, MS_SYM_STRING, symbols[i]);
		made_next_record(m);
	}
	ms_record_string(&m->records, MS_SYM_STRING, "app.cc");
	made_next_record(m);
	ms_record_string(&m->records, MS_SYM_STRING, "long [4]");
	made_next_record(m);
	for (unsigned i = 0; i < 5; i++) {
		ms_record_number(&m->records, MS_SYM_FRAME, i + 1);
		if (i == FRAME - 1) { /* something is inlined into the frame */
			ms_record_number(&m->records, MS_SYM_FUNCTION, 1);
			ms_record_number(&m->records, MS_SYM_LINE, 1);
		}
		ms_record_number(&m->records, MS_SYM_FUNCTION, i + 1);
		ms_record_number(&m->records, MS_SYM_FILE, 6);
		ms_record_number(&m->records, MS_SYM_LINE, 10 * (i + 1));
		if (i < 4)
			made_next_record(m);
	}
	put_variable(m, 2, 0x4050, false, 1);
	put_variable(m, 1, 0, false, 2);
	put_variable(m, 1, 0, true, 7); /* t_scratch */
	put_variable(m, 1, 0x4050, true, 3);
	put_variable(m, 1, 0x4050, false, 8); /* SESSIONS */
	put_variable(m, 1, 0x4010, false, 9); /* Bus::instance, whose root has a type of its own */
	made_write(m, MS_BLOCK_SYMBOLS);
}

static void put_events(struct made *m)
{
	static const struct {
		uint32_t stack;
		uint64_t size;
	} v[] = {{FILL, 100}, {FILL, 100}, {SESSION, 50}, {SESSION, 50}, {NAME, 100}, {MAIN, 10}};
	struct ms_event ev[6] = {0};
	for (unsigned i = 0; i < 6; i++)
		ev[i] = (struct ms_event){.kind = MS_EV_ALLOC,
					  .stack = v[i].stack,
					  .size = v[i].size,
					  .time_ticks = i};
	made_events(m, ev, 6);
}

static void begin(struct made *m)
{
	ms_record_writer_init(&m->records, m->record_memory, sizeof m->record_memory);
}

static void put_verdicts(struct made *m)
{
	struct ms_verdict_site site = {.scan = 2, .stack = MAIN};
	begin(m);
	ms_verdict_put_scan(&m->records, &(struct ms_verdict_scan){.scan = 2,
								   .time_ns = 500000,
								   .event = 6,
								   .state = MS_SCAN_DONE,
								   .label = "request",
								   .label_size = 7});
	site.blocks[MS_VERDICT_IS_DIRECT] = site.retained_blocks = 1;
	site.bytes[MS_VERDICT_IS_DIRECT] = site.retained_bytes = 10;
	ms_verdict_put_site(&m->records, &site);
	made_block(m, MS_BLOCK_VERDICTS, &(struct ms_column[]){ms_record_column(&m->records)}[0],
		   1);
}

static bool put_record(struct ms_record_writer *w, size_t i, const struct change *c)
{
	if (i < ROOTS) {
		struct ms_retention_root r = roots[i];
		r.scan = 2;
		r.name_size = r.name ? strlen(r.name) : 0;
		r.type_size = r.type ? strlen(r.type) : 0;
		return ms_retention_put_root(w, &r);
	}
	if (i < ROOTS + SETS) {
		struct ms_retention_set s = sets[i - ROOTS];
		s.scan = 2;
		return ms_retention_put_set(w, &s);
	}
	size_t n = i - ROOTS - SETS;
	struct ms_retention_row r = c->row == n + 1 ? c->as : rows[n];
	r.scan = 2;
	r.type_size = r.type ? strlen(r.type) : 0;
	return ms_retention_put_row(w, &r);
}

static void put_retention(struct made *m, const struct change *c)
{
	struct ms_retention_head head = {.scan = 2,
					 .state = c->state ?: MS_SCAN_DONE,
					 .live_bytes = 410,
					 .kept_bytes = c->kept ?: 400,
					 .unreachable_bytes = 10,
					 .blocks = 6,
					 .edges = 9,
					 .took_ns = 12345,
					 .rows = ROWS};
	begin(m);
	CHECK(ms_retention_put_head(&m->records, &head), "head");
	for (size_t i = 0; i < ROOTS + SETS + ROWS && !c->state; i++)
		if (i + 1 != c->lost)
			CHECK(put_record(&m->records, i, c), "record %zu", i);
	made_block(m, MS_BLOCK_RETENTION, &(struct ms_column[]){ms_record_column(&m->records)}[0],
		   1);
}

static void make_trace(const char *name, const struct change *c)
{
	struct made m;
	made_open(&m, name);
	made_info(&m, 77, 0);
	put_small(&m);
	made_stacks(&m, frames, 5, nodes, 5);
	put_events(&m);
	if (!c->no_scan)
		put_verdicts(&m);
	put_retention(&m, c);
	made_end(&m, 1000000, NULL);
	put_symbols(&m);
	made_end(&m, 1000000, NULL);
	made_close(&m);
}

/* ---- the tables ---- */

static sqlite3 *build(const char *name, struct ms_build_result *res, struct ms_err *err)
{
	struct ms_build_options opt = {.no_symbols = true};
	err->text[0] = '\0';
	return ms_snapshot_build(&name, 1, &opt, res, err);
}

/* All rows of a query as text, columns with | between, rows with a line break. */
static const char *rows_of(sqlite3 *db, const char *sql)
{
	static char out[8192];
	struct ms_err err = {0};
	sqlite3_stmt *s = ms_sql_prepare(db, sql, &err);
	size_t n = 0;
	out[0] = '\0';
	if (!s)
		snprintf(out, sizeof out, "%s", err.text);
	for (bool first = true; s && sqlite3_step(s) == SQLITE_ROW; first = false)
		for (int i = 0; i < sqlite3_column_count(s); i++) {
			const char *v = (const char *)sqlite3_column_text(s, i);
			n += (size_t)snprintf(out + n, n < sizeof out ? sizeof out - n : 0, "%s%s",
					      i       ? "|"
					      : first ? ""
						      : "\n",
					      v ? v : "-");
		}
	sqlite3_finalize(s);
	return out;
}

static void expect(sqlite3 *db, const char *what, const char *sql, const char *want)
{
	const char *got = db ? rows_of(db, sql) : "no database";
	CHECK(strcmp(got, want) == 0, "%s: %s\n  got  %s\n  want %s", what, sql, got, want);
}

#define COUNTS                                                                                     \
	"SELECT (SELECT count(*) FROM keeper), (SELECT count(*) FROM keeper_set), (SELECT "        \
	"count(*) FROM kept)"

/* Sites by live bytes: 1 fill, 2 name, 3 Session, 4 main. */
static const struct {
	const char *sql, *want;
} answers[] = {
	{"SELECT group_concat(site || ' ' || function, ', ') FROM place",
	 "1 fill, 2 Session::Session, 3 name, 4 main"},
	{"SELECT * FROM retention", "1|2|done|410|400|10|6|9|12345"},
	{"SELECT id, kind, name, module, offset, size, file, line, type, thread, site, observes "
	 "FROM "
	 "keeper ORDER BY id",
	 "1|variable|Bus::instance|/bin/app|16400|56|app.cc|9|std::map<int, Session *>|-|-|-\n"
	 "2|variable|rs::SESSIONS|/bin/app|16464|8|app.cc|8|long [4]|-|-|1\n"
	 "3|section|libfoo.so .bss|/usr/lib/libfoo.so|32768|-|-|-|-|-|-|-\n"
	 "4|thread_local|t_scratch|/bin/app|0|-|app.cc|7|long [4]|worker-3|-|-\n"
	 "5|frame|Pool::run|-|-|96|app.cc|40|-|worker-3|-|-\n"
	 "6|registers|-|-|-|-|-|-|-|app|-|-\n"
	 "7|mapping|-|-|-|8388608|-|-|-|-|2|-\n"
	 "8|other|memory that was not recorded|-|-|-|-|-|-|-|-|-\n"
	 "9|frame|-|-|-|-|-|-|-|-|-|-"},
	{"SELECT process, scan, id, keeper FROM keeper_set ORDER BY rowid",
	 "1|2|1|1\n1|2|1|2\n1|2|2|5\n1|2|2|-"},
	{"SELECT id, parent, keeper, set_id, site, bytes, blocks, retained_bytes, retained_blocks, "
	 "mapped_bytes, offset, depth, rest, type, path, path_blocks, path_cut FROM kept ORDER BY "
	 "id",
	 "1|-|1|-|-|0|0|250|3|-|-|1|0|-|-|-|-\n"
	 "2|1|-|-|1|200|2|250|3|-|-|2|0|-|-|-|-\n"
	 "3|2|-|-|2|50|1|50|1|-|40|1|0|Session|[1,[1,2],[null,3,1],[2,1]]|1|1\n"
	 "4|-|-|2|-|0|0|100|1|-|-|1|0|-|-|-|-\n"
	 "5|4|-|-|-|0|0|100|1|4096|0|1|0|PyDict_Type|-|-|-\n"
	 "6|5|-|-|3|100|1|100|1|-|0|1|0|-|-|-|-\n"
	 "7|-|-|-|-|50|1|50|1|-|-|1|1|-|-|-|-"},
	{"SELECT * FROM kept_by", "1|2|1|1|-|200|2\n1|2|3|-|2|100|1\n1|2|2|1|-|50|1"},
	{"SELECT r.kept_bytes - sum(k.retained_bytes), r.live_bytes - r.kept_bytes - "
	 "r.unreachable_bytes FROM retention r JOIN kept k USING (process, scan) WHERE k.parent IS "
	 "NULL",
	 "0|0"},
	{"SELECT scan, label, state FROM scan", "2|request|done"},
	{"SELECT j.value ->> 0 FROM kept k, json_each(k.path) j WHERE k.id = 3 AND j.key = 3", "2"},
};

static void test_tables(void)
{
	struct ms_err err = {0};
	struct ms_build_result res;
	make_trace("retention.trace", &(struct change){0});
	sqlite3 *db = build("retention.trace", &res, &err);
	CHECK(db && !res.incomplete, "%s", err.text);
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
		expect(db, "tables", answers[i].sql, answers[i].want);
	CHECK(ms_snapshot_write(db, "retention.db", &err) == 0, "%s", err.text);
	sqlite3_close(db);
	db = ms_snapshot_open("retention.db", NULL, 0, &(const char *){NULL}, NULL, &err);
	CHECK(db, "%s", err.text);
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
		expect(db, "a copy", answers[i].sql, answers[i].want);
	sqlite3_close(db);
}

/* ---- what is missing or wrong ---- */

#define RECORD(n) (ROOTS + SETS + (n)) /* number of a row among the records */

static const struct {
	const char *what;
	struct change c;
	bool bad; /* the trace counts as damaged */
	const char *want;
} changes[] = {
	{"out of memory", {.state = MS_SCAN_KEPT_MEMORY}, false, "memory|-|12345"},
	{"out of time", {.state = MS_SCAN_KEPT_TIME}, false, "time|-|12345"},
	{"its scan was not done", {.state = MS_SCAN_THREADS}, false, "threads|-|12345"},
	{"an unknown state", {.state = 99}, false, "-|-|12345"},
	{"a root lost", {.lost = 4}, true, "damaged|-|12345"},
	{"a set lost", {.lost = ROOTS + 1}, true, "damaged|-|12345"},
	{"a row lost", {.lost = RECORD(2)}, true, "damaged|-|12345"},
	{"the last row lost", {.lost = RECORD(7)}, false, "damaged|-|12345"},
	{"a later parent", {.row = 3, .as = {.row = 3, .parent = 4}}, true, "damaged|-|12345"},
	{"its own parent", {.row = 3, .as = {.row = 3, .parent = 3}}, true, "damaged|-|12345"},
	{"no such root", {.row = 4, .as = {.row = 4, .root = 10}}, true, "damaged|-|12345"},
	{"no such set", {.row = 4, .as = {.row = 4, .set = 3}}, true, "damaged|-|12345"},
	{"two places", {.row = 4, .as = {.row = 4, .root = 1, .set = 1}}, true, "damaged|-|12345"},
	{"no place", {.row = 7, .as = {.row = 7}}, true, "damaged|-|12345"},
	{"twice", {.row = 7, .as = {.row = 6, .root = 2}}, true, "damaged|-|12345"},
	{"less is kept", {.kept = 399}, false, "damaged|-|12345"},
	{"far too much", {.kept = UINT64_MAX}, false, "damaged|-|12345"},
	{"more than its parent",
	 {.row = 3, .as = {.row = 3, .parent = 2, .retained_bytes = 51, .retained_blocks = 1}},
	 false,
	 "damaged|-|12345"},
	{"more blocks than its parent",
	 {.row = 3, .as = {.row = 3, .parent = 2, .retained_bytes = 1, .retained_blocks = 2}},
	 false,
	 "damaged|-|12345"},
	{"more than it retains",
	 {.row = 6, .as = {.row = 6, .parent = 5, .bytes = 2, .retained_bytes = 1}},
	 false,
	 "damaged|-|12345"},
	{"no scan", {.no_scan = true}, false, ""},
	{"nothing", {0}, false, "done|400|12345"},
};

static void test_changes(void)
{
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		struct ms_err err = {0};
		struct ms_build_result res;
		unlink("changed.trace");
		make_trace("changed.trace", &changes[i].c);
		sqlite3 *db = build("changed.trace", &res, &err);
		const char *what = changes[i].what;
		bool done = strncmp(changes[i].want, "done", 4) == 0;
		CHECK(db && (res.incomplete != 0) == changes[i].bad, "%s: %s", what, err.text);
		expect(db, what, "SELECT state, kept_bytes, took_ns FROM retention",
		       changes[i].want);
		expect(db, what, COUNTS, done ? "9|4|7" : "0|0|0");
		expect(db, what, "SELECT sum(unreachable_blocks) FROM scan",
		       changes[i].c.no_scan ? "-" : "1");
		sqlite3_close(db);
	}
}

/* ---- cuts and flips ---- */

struct bytes {
	unsigned char *data;
	size_t n;
};

static struct bytes read_trace(void)
{
	struct ms_err err = {0};
	struct bytes b;
	void *data;
	int fd = open("retention.trace", O_RDONLY);
	CHECK(ms_read_all(fd, "retention.trace", 1 << 20, &data, &b.n, &err) == 0, "%s", err.text);
	close(fd);
	b.data = data;
	return b;
}

/* Builds from changed bytes: all rows of the retention are there, or none; and what else the trace
 * says is not touched by damage in that block. */
static void check_bytes(const unsigned char *data, size_t n, const char *how, size_t at)
{
	struct ms_err err = {0};
	struct ms_build_result res;
	unlink("damaged.trace");
	CHECK(ms_write_file("damaged.trace", data, n, &err) == 0, "%s", err.text);
	sqlite3 *db = build("damaged.trace", &res, &err);
	CHECK(db || err.text[0], "%s %zu: neither database nor message", how, at);
	if (!db)
		return;
	char counts[64];
	snprintf(counts, sizeof counts, "%s", rows_of(db, COUNTS));
	bool all = strcmp(counts, "9|4|7") == 0;
	const char *state = rows_of(db, "SELECT state FROM retention");
	CHECK(all || strcmp(counts, "0|0|0") == 0, "%s %zu: %s", how, at, counts);
	CHECK(all == (strcmp(state, "done") == 0), "%s %zu: %s, '%s'", how, at, counts, state);
	CHECK(all || res.incomplete, "%s %zu: rows are missing, but the trace is complete", how,
	      at);
	/* it is complete without symbols, too, which come last */
	if (all && !res.incomplete &&
	    ms_sql_int(db, "SELECT function = 'main' FROM frame WHERE id = 1", 0))
		for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
			expect(db, how, answers[i].sql, answers[i].want);
	sqlite3_close(db);
}

static void test_damage(void)
{
	enum { TIMES = 200 };
	struct bytes b = read_trace();
	for (size_t i = 0; i < TIMES; i++)
		check_bytes(b.data, b.n * i / TIMES, "cut at", b.n * i / TIMES);
	for (size_t i = 0; i < TIMES; i++) {
		size_t at = b.n * i / TIMES;
		b.data[at] ^= (unsigned char)(1 << i % 8);
		check_bytes(b.data, b.n, "flipped", at);
		b.data[at] ^= (unsigned char)(1 << i % 8);
	}
	free(b.data);
}

/* ---- names replaced ---- */

static void test_anonymous(void)
{
	struct ms_err err = {0};
	struct ms_build_result res;
	sqlite3 *db = build("retention.trace", &res, &err);
	CHECK(db && ms_snapshot_anonymize(db, NULL, &err) == 0, "%s", err.text);
	expect(db, "anonymous",
	       "SELECT count(*) FROM keeper WHERE name GLOB 'f[0-9]*' OR name GLOB 'std::f[0-9]*'",
	       "5");
	expect(db, "anonymous", "SELECT count(*) FROM keeper WHERE type GLOB '*f[0-9]*'", "3");
	expect(db, "anonymous",
	       "SELECT k.module = m.path AND k.thread = t.name FROM keeper k JOIN module m ON m.id "
	       "= 1 "
	       "JOIN thread t ON t.id = 2 WHERE k.id = 4",
	       "1");
	expect(db, "anonymous", "SELECT group_concat(name, ';') FROM keeper WHERE kind = 'other'",
	       "memory that was not recorded");
	expect(db, "anonymous",
	       "SELECT count(*) FROM keeper WHERE name LIKE '%run' OR name LIKE '%bss' OR type "
	       "LIKE "
	       "'%Session%'",
	       "0");
	expect(db, "anonymous", "SELECT count(*) FROM kept WHERE type LIKE '%Session%'", "0");
	sqlite3_close(db);
}

/* ---- other snapshots ---- */

static const struct {
	const char *what, *sql, *error; /* NULL = opens */
} others[] = {
	{"an earlier one",
	 "DROP TABLE retention; DROP TABLE keeper; DROP TABLE keeper_set; DROP TABLE "
	 "kept; DROP VIEW kept_by",
	 NULL},
	{"one of them missing", "DROP TABLE keeper", NULL},
	{"another table", "DROP TABLE kept; CREATE TABLE kept(id INTEGER)",
	 "its table 'kept' is not defined as in a MemScope snapshot"},
	{"a view", "DROP TABLE kept; CREATE VIEW Kept AS SELECT 1 AS id",
	 "its table 'kept' is not defined as in a MemScope snapshot"},
	{"a loop", "UPDATE kept SET parent = 3 WHERE id = 2",
	 "a row in table 'kept' has no earlier row as its parent"},
	{"no parent", "DELETE FROM kept WHERE id = 2",
	 "a row in table 'kept' has no earlier row as its parent"},
	{"a text", "UPDATE kept SET parent = 'x' WHERE id = 2",
	 "a row in table 'kept' has no earlier row as its parent"},
};

static void test_others(void)
{
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		struct ms_err err = {0};
		struct ms_build_result res;
		sqlite3 *db = build("retention.trace", &res, &err), *file = NULL;
		unlink("other.db");
		CHECK(db && ms_snapshot_write(db, "other.db", &err) == 0, "%s", err.text);
		sqlite3_close(db);
		CHECK(sqlite3_open("other.db", &file) == SQLITE_OK &&
			      sqlite3_exec(file, others[i].sql, NULL, NULL, NULL) == SQLITE_OK,
		      "%s: %s", others[i].what, sqlite3_errmsg(file));
		sqlite3_close(file);
		db = ms_snapshot_open("other.db", NULL, 0, &(const char *){NULL}, NULL, &err);
		CHECK(others[i].error ? !db && strstr(err.text, others[i].error) : db != NULL,
		      "%s: %s", others[i].what, err.text);
		if (db && i == 0) {
			expect(db, others[i].what, COUNTS, "0|0|0");
			expect(db, others[i].what, "SELECT count(*) FROM kept_by", "0");
			expect(db, others[i].what, "SELECT count(*) FROM scan", "1");
		}
		sqlite3_close(db);
	}
}

int main(void)
{
	test_tables();
	test_changes();
	test_damage();
	test_anonymous();
	test_others();
	return failures != 0;
}

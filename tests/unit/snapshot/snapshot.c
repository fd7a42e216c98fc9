/* SPDX-License-Identifier: MIT
 * The snapshot database: same bytes for the same content, round trip by file and pipe, and hostile
 * databases refused.
 */
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/snapshot/snapshot.h"
#include "libcommon/snapshot/snapshot_insert.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/check.h"

static const char content[] =
	"INSERT INTO meta VALUES('complete', 1);"
	"INSERT INTO process(id, pid, exe, complete) VALUES(1, 77, '/bin/app', 1);"
	"INSERT INTO snapshot(id, process, label, time_ns, live_bytes, live_blocks) VALUES(1, 1, "
	"'peak', 5, 64, 2), (2, 1, 'end', 9, 0, 0);"
	"INSERT INTO module(id, process, path) VALUES(1, 1, '/bin/app');"
	"INSERT INTO frame(id, process, module, address, function, file, line) VALUES(1, 1, 1, 16, "
	"'main', 'm.c', 3), (2, 1, 1, 32, 'f', 'f.c', 9);"
	"INSERT INTO stack VALUES(1, 1, NULL, 1, 0), (2, 1, 1, 2, 1);"
	"INSERT INTO site(id, process, stack, user_frame, allocations) VALUES(1, 1, 2, 2, 4);"
	"INSERT INTO site_stat(snapshot, site, live_bytes, live_blocks) VALUES(1, 1, 64, 2);";

static sqlite3 *example(void)
{
	struct ms_err err = {0};
	sqlite3 *db = ms_snapshot_new(&err);
	CHECK(db, "%s", err.text);
	CHECK(sqlite3_exec(db, content, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
	return db;
}

static void test_round_trip(void)
{
	struct ms_err err = {0};
	sqlite3 *a = example(), *b = example();
	size_t an, bn;
	unsigned char *ai = ms_snapshot_image(a, &an, &err), *bi = ms_snapshot_image(b, &bn, &err);
	CHECK(ai && bi && an == bn && memcmp(ai, bi, an) == 0, "images differ");
	CHECK(ai[18] == 1 && ai[16] == 0x10, "journal %d page %d", ai[18], ai[16]);
	CHECK(ms_snapshot_write(a, "a.db", &err) == 0, "%s", err.text);
	const char *point;
	sqlite3 *c = ms_snapshot_open("a.db", NULL, 0, &point, NULL, &err);
	CHECK(c && !point, "%s", err.text);
	size_t cn;
	unsigned char *ci = ms_snapshot_image(c, &cn, &err);
	CHECK(ci && cn == an && memcmp(ai, ci, an) == 0, "a copy has other bytes");
	CHECK(ms_sql_int(c, "SELECT bytes FROM peak", -1) == 64, "peak view");
	CHECK(!ms_snapshot_incomplete(c), "complete");
	sqlite3_free(ai);
	sqlite3_free(bi);
	sqlite3_free(ci);
	sqlite3_close(a);
	sqlite3_close(b);
	sqlite3_close(c);
}

/* An empty text is none that is missing, also as the first of all. */
static void test_empty_text(void)
{
	struct ms_err err = {0};
	sqlite3 *db = ms_snapshot_new(&err);
	struct ms_insert in = ms_insert(db, "meta", &err);
	ms_put_row(&in, ms_text("key", ""), ms_int("value", 7));
	CHECK(ms_insert_close(&in) == 0, "%s", err.text);
	CHECK(ms_sql_int(db, "SELECT value FROM meta WHERE key = ''", -1) == 7, "it is null");
	sqlite3_close(db);
}

static void test_point_of_file(void)
{
	struct ms_err err = {0};
	const char *point = NULL;
	sqlite3 *db = ms_snapshot_open("a.db@end", NULL, 0, &point, NULL, &err);
	CHECK(db && point && strcmp(point, "end") == 0, "%s", err.text);
	sqlite3_close(db);
	db = ms_snapshot_open("a.db@1.5s", NULL, 0, &point, NULL, &err);
	CHECK(!db && strstr(err.text, "its points are: peak, end"), "%s", err.text);
	err.text[0] = 0;
	db = ms_snapshot_open("a.db@nonsense", NULL, 0, &point, NULL, &err);
	CHECK(!db && strstr(err.text, "mark:NAME#last"), "%s", err.text);
	err.text[0] = 0;
	CHECK(rename("a.db", "b@end") == 0, "rename");
	db = ms_snapshot_open("b@end", NULL, 0, &point, NULL, &err);
	CHECK(db && !point, "%s", err.text);
	sqlite3_close(db);
	unlink("b@end");
}

/* Standard input takes the place of `path` while a tool opens "-". */
static sqlite3 *open_piped(const char *path, struct ms_err *err)
{
	char command[256];
	snprintf(command, sizeof command, "cat '%s'", path);
	FILE *pipe = popen(command, "r");
	int saved = dup(STDIN_FILENO);
	dup2(fileno(pipe), STDIN_FILENO);
	sqlite3 *db = ms_snapshot_open("-", NULL, 0, NULL, NULL, err);
	dup2(saved, STDIN_FILENO);
	close(saved);
	pclose(pipe);
	return db;
}

static const struct {
	const char *name, *sql; /* applied to a good snapshot by an ordinary connection */
	const char *error;      /* NULL = still good */
} cases[] = {
	{"as it is", "SELECT 1", NULL},
	{"other application", "PRAGMA application_id=1", "not a MemScope snapshot"},
	{"newer version", "PRAGMA user_version=3", "made by a newer MemScope (snapshot version 3"},
	{"older version", "PRAGMA user_version=1",
	 "made by an older MemScope (snapshot version 1, this one reads 2); make it again from "
	 "its trace: ms-snap"},
	{"version 0", "PRAGMA user_version=0", "bad snapshot version 0"},
	{"table missing", "DROP TABLE mark", "its table 'mark'"},
	{"column added", "ALTER TABLE site ADD COLUMN evil TEXT", "its table 'site'"},
	{"view for a table", "DROP TABLE loss; CREATE VIEW loss AS SELECT 1", "its table 'loss'"},
	{"virtual table for a table", "DROP TABLE loss; CREATE VIRTUAL TABLE loss USING fts5(a)",
	 "its table 'loss'"},
	{"own view, index, trigger and table stay behind",
	 "CREATE VIEW mine AS SELECT 1; CREATE TABLE more(a); CREATE INDEX i ON stack(parent);"
	 "CREATE TRIGGER t AFTER INSERT ON meta BEGIN SELECT 1; END",
	 NULL},
	{"view of ours replaced", "DROP VIEW peak; CREATE VIEW peak AS SELECT 1 AS bytes", NULL},
	{"caller cycle", "UPDATE stack SET parent = 2 WHERE id = 1",
	 "a row in table 'stack' has no earlier row"},
	{"caller missing", "UPDATE stack SET parent = -7 WHERE id = 2",
	 "a row in table 'stack' has no earlier row"},
	{"caller is text", "UPDATE stack SET parent = 'x' WHERE id = 2",
	 "a row in table 'stack' has no earlier row"},
	{"frame missing", "DELETE FROM frame WHERE id = 2",
	 "a row in table 'stack' refers to a missing frame"},
	{"stack missing", "UPDATE site SET stack = 99",
	 "a row in table 'site' refers to a missing stack"},
	{"site missing", "UPDATE site_stat SET site = 5",
	 "a row in table 'site_stat' refers to a missing site"},
	{"process missing", "UPDATE snapshot SET process = 5",
	 "a row in table 'snapshot' refers to a missing process"},
};

static void test_hostile(bool piped)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ms_err err = {0};
		sqlite3 *db = example();
		CHECK(ms_snapshot_write(db, "case.db", &err) == 0, "%s", err.text);
		sqlite3_close(db);
		sqlite3_open("case.db", &db);
		CHECK(sqlite3_exec(db, cases[i].sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s",
		      cases[i].name, sqlite3_errmsg(db));
		sqlite3_close(db);
		db = piped ? open_piped("case.db", &err)
			   : ms_snapshot_open("case.db", NULL, 0, NULL, NULL, &err);
		if (cases[i].error) {
			CHECK(!db && strstr(err.text, cases[i].error), "%s: '%s'", cases[i].name,
			      err.text);
		} else {
			CHECK(db, "%s: %s", cases[i].name, err.text);
			CHECK(ms_sql_int(db, "SELECT bytes FROM peak", -1) == 64,
			      "%s: not our view", cases[i].name);
			CHECK(ms_sql_int(db,
					 "SELECT count(*) FROM sqlite_schema WHERE name IN "
					 "('mine','more','i','t')",
					 -1) == 0,
			      "%s: foreign objects came along", cases[i].name);
		}
		sqlite3_close(db);
	}
	unlink("case.db");
}

/* Bytes of an image flipped, one at a time: never a crash, and whatever opens has acyclic
 * stacks. */
static void test_flipped(void)
{
	struct ms_err err = {0};
	sqlite3 *db = example();
	size_t n;
	unsigned char *image = ms_snapshot_image(db, &n, &err);
	sqlite3_close(db);
	for (size_t i = 0; i < n; i += i < 1000 ? 7 : 199) {
		image[i] ^= 0x55;
		int fd = open("flip.db", O_CREAT | O_TRUNC | O_WRONLY, 0600);
		CHECK(ms_write_all(fd, image, n) == 0, "write");
		close(fd);
		image[i] ^= 0x55;
		struct ms_err why = {0};
		db = ms_snapshot_open("flip.db", NULL, 0, NULL, NULL, &why);
		CHECK(db || why.text[0], "byte %zu: no database and no message", i);
		if (db)
			CHECK(ms_sql_int(db, "SELECT 1 FROM stack WHERE parent >= id", 0) == 0,
			      "byte %zu", i);
		sqlite3_close(db);
	}
	sqlite3_free(image);
	unlink("flip.db");
}

static void test_wal(void)
{
	struct ms_err err = {0};
	sqlite3 *db = example(), *writer;
	CHECK(ms_snapshot_write(db, "wal.db", &err) == 0, "%s", err.text);
	sqlite3_close(db);
	sqlite3_open("wal.db", &writer);
	sqlite3_exec(writer, "PRAGMA journal_mode=WAL; UPDATE site_stat SET live_bytes = 65", NULL,
		     NULL, NULL);
	db = ms_snapshot_open("wal.db", NULL, 0, NULL, NULL, &err);
	CHECK(db && ms_sql_int(db, "SELECT bytes FROM peak", -1) == 65, "from the log: %s",
	      err.text);
	sqlite3_close(db);
	db = open_piped("wal.db", &err);
	CHECK(!db && strstr(err.text, "journal_mode=DELETE"), "%s", err.text);
	sqlite3_close(db);
	sqlite3_close(writer);
	unlink("wal.db");
}

/* Checks that what has a meaning in the address that SQLite is given has none in a name, and that
 * slashes at the beginning are as good as one. */
static void test_names(void)
{
	static const char *const names[] = {"a%41.db", "b?c=d.db", "e#f.db", "g&h i.db"};
	static const char *const slashes[] = {"", "/", "//", "///"};
	char folder[2048], path[4096];
	if (!getcwd(folder, sizeof folder))
		abort();
	for (size_t i = 0; i < 16; i++) {
		struct ms_err err = {0};
		sqlite3 *db = example();
		const char *name = names[i / 4];
		snprintf(path, sizeof path, "%s%s/%s", slashes[i % 4], folder, name);
		CHECK(ms_snapshot_write(db, name, &err) == 0, "%s", err.text);
		sqlite3_close(db);
		db = ms_snapshot_open(path, NULL, 0, NULL, NULL, &err);
		CHECK(db && ms_sql_int(db, "SELECT bytes FROM peak", -1) == 64, "%s: %s", path,
		      err.text);
		sqlite3_close(db);
		unlink(name);
	}
}

static void test_not_snapshots(void)
{
	static const struct {
		const char *bytes, *error;
	} inputs[] = {
		{"", "empty file"},
		{"hello, this is text and not much of it\n",
		 "neither a MemScope trace nor a snapshot"},
		{"SQLite format 3", "neither a MemScope trace nor a snapshot"},
	};
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
		struct ms_err err = {0};
		FILE *f = fopen("in", "w");
		fputs(inputs[i].bytes, f);
		fclose(f);
		CHECK(!ms_snapshot_open("in", NULL, 0, NULL, NULL, &err) &&
			      strstr(err.text, inputs[i].error),
		      "%s", err.text);
		err.text[0] = 0;
		CHECK(!open_piped("in", &err) && strstr(err.text, inputs[i].error), "%s", err.text);
	}
	unlink("in");
	struct ms_err err = {0};
	CHECK(!ms_snapshot_open("nosuch", NULL, 0, NULL, NULL, &err) &&
		      strstr(err.text, "cannot open 'nosuch': No such"),
	      "%s", err.text);
}

int main(void)
{
	test_round_trip();
	test_empty_text();
	test_point_of_file();
	test_hostile(false);
	test_hostile(true);
	test_flipped();
	test_wal();
	test_names();
	test_not_snapshots();
	return failures != 0;
}

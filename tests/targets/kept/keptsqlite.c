/* SPDX-License-Identifier: MIT
 * Two databases in memory, a large one and one of ROWS rows: keptsqlite ROWS. Writes to the file `truth` how much memory sqlite had for the first and for both, then to
 * `ready`, and goes on when `go` can be opened: see tests/targets/kept.sh.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static sqlite3 *g_first;
static struct {
	int x;
	sqlite3 *db;
} g_second;

static sqlite3 *make(int rows)
{
	sqlite3 *db;
	char text[300];
	snprintf(text, sizeof text,
		 "CREATE TABLE t (a, b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
		 "FROM n WHERE i < %d) "
		 "INSERT INTO t SELECT i, hex(randomblob(40)) FROM n",
		 rows);
	if (sqlite3_open(":memory:", &db) || sqlite3_exec(db, text, NULL, NULL, NULL))
		return NULL;
	return db;
}

int main(int argc, char **argv)
{
	g_first = make(300000);
	long long first = sqlite3_memory_used();
	g_second.db = make(argc > 1 ? atoi(argv[1]) : 1);
	FILE *f = fopen("truth", "w");
	fprintf(f, "first %lld\nsecond %lld\n", first, (long long)sqlite3_memory_used() - first);
	fclose(f);
	fclose(fopen("ready", "w"));
	close(open("go", O_RDONLY));
	return !g_first || sqlite3_close(g_first) || sqlite3_close(g_second.db);
}

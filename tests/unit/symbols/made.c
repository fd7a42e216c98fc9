/* SPDX-License-Identifier: MIT
 * Code made at run time: perf maps and jitdumps, whose they are, what was where and when.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/symbols/symbols_made.h"

#define PID 4711
#define MAP "root/tmp/perf-4711.map"
#define DUMP "root/tmp/jit-4711.dump"

static int failures;
#define CHECK(x) ((x) ? (void)0 : (void)(printf("%s:%d: %s\n", __FILE__, __LINE__, #x), failures++))

static struct ms_made_by is;

static FILE *create(const char *path)
{
	FILE *f = fopen(path, "w");
	if (!f) {
		perror(path);
		exit(2);
	}
	return f;
}

/* Is the code at `address` called so, of that place? */
static bool found(uint64_t address, const char *function, const char *file, uint32_t line)
{
	struct ms_made *m = ms_made_open("root", &is);
	struct ms_location l = {0};
	if (m)
		ms_made_find(m, address, &l);
	bool good = !function == !l.function && !file == !l.file && l.line == line &&
		    (!function || !strcmp(function, l.function)) &&
		    (!file || !strcmp(file, l.file));
	if (!good)
		printf("%lx: %s %s:%u\n", (unsigned long)address, l.function ? l.function : "-",
		       l.file ? l.file : "-", l.line);
	ms_made_free(m);
	return good;
}

static void test_map(void)
{
	FILE *f = create(MAP);
	fputs("1000 100 JS:~inner /app/a b.js:7:15\n"
	      "1100 100 JS:*inner file:///app/a.js:7:15\n"
	      "1200 100 JS:~ node:internal/main:1:1\n"
	      "1300 100 LazyCompile:^f /x.js:12:3\n"
	      "1400 100 py::work:/app/work.py\n"
	      "1500 100 void Work.outer(int)\n"
	      "1600 100 JS:~odd /x.js\n"
	      "1700 0 empty\n"
	      "nonsense\n"
	      "1800 100\n"
	      "ffffffffffffff00 200 wraps\n"
	      "2000 100 first\n2080 100 second\n2000 100 third\n2000 100 third\n"
	      "3000 100 JS:~g /x.js:1:1\n3000 100 JS:*g /x.js:1:1\n",
	      f);
	fclose(f);
	CHECK(found(0x1000, "inner", "/app/a b.js", 7));
	CHECK(found(0x10ff, "inner", "/app/a b.js", 7));
	CHECK(found(0x1100, "inner", "/app/a.js", 7));
	CHECK(found(0x1200, "(anonymous)", "node:internal/main", 1));
	CHECK(found(0x1300, "f", "/x.js", 12));
	CHECK(found(0x1400, "work", "/app/work.py", 0));
	CHECK(found(0x1500, "void Work.outer(int)", NULL, 0));
	CHECK(found(0x1600, "JS:~odd /x.js", NULL, 0));
	CHECK(found(0x1700, NULL, NULL, 0));
	CHECK(found(0x1800, NULL, NULL, 0));
	CHECK(found(0xffffffffffffff10, NULL, NULL, 0));
	/* who was there before is told, too, but once */
	CHECK(found(0x2000, "third|first", NULL, 0));
	CHECK(found(0x2090, "third|second|first", NULL, 0));
	CHECK(found(0x2170, "second", NULL, 0));
	CHECK(found(0x3000, "g", "/x.js", 1));
}

static void test_whose(void)
{
	struct timespec old[2] = {{100, 0}, {100, 0}};
	is.uid++;
	CHECK(geteuid() == 0 || !ms_made_open("root", &is)); /* root's are believed */
	if (geteuid() == 0) {
		CHECK(chown(MAP, 12345, 12345) == 0);
		CHECK(!ms_made_open("root", &is));
		is.uid = 12345;
		CHECK(found(0x1300, "f", "/x.js", 12));
		CHECK(chown(MAP, 0, 0) == 0);
	}
	is.uid = getuid();
	CHECK(rename(MAP, "root/tmp/other") == 0 && symlink("other", MAP) == 0);
	CHECK(!ms_made_open("root", &is));
	CHECK(unlink(MAP) == 0 && mkfifo(MAP, 0600) == 0);
	CHECK(!ms_made_open("root", &is));
	CHECK(unlink(MAP) == 0 && rename("root/tmp/other", MAP) == 0);
	is.from_ns = 200000000000;
	CHECK(found(0x1300, "f", "/x.js", 12));
	CHECK(utimensat(AT_FDCWD, MAP, old, 0) == 0);
	CHECK(!ms_made_open("root", &is)); /* of an earlier process of that number */
	is.from_ns = 0;
}

/* ---- jitdump ---- */

static void put32(FILE *f, uint32_t v)
{
	fwrite(&v, 4, 1, f);
}

static void put64(FILE *f, uint64_t v)
{
	fwrite(&v, 8, 1, f);
}

static void head(FILE *f, uint32_t mark, uint64_t flags)
{
	fputs("DTiJ", f);
	put32(f, 1);
	put32(f, 40);
	put32(f, 62);
	put32(f, mark);
	put32(f, PID);
	put64(f, 0);
	put64(f, flags);
}

static void record(FILE *f, uint32_t kind, size_t bytes, uint64_t ns)
{
	put32(f, kind);
	put32(f, (uint32_t)(16 + bytes));
	put64(f, ns);
}

static void load(FILE *f, uint64_t ns, uint64_t address, uint64_t bytes, const char *name)
{
	static const char code[256];
	record(f, 0, 40 + strlen(name) + 1 + bytes, ns);
	put64(f, 0);
	put64(f, 0);
	put64(f, address);
	put64(f, bytes);
	put64(f, 0);
	fwrite(name, 1, strlen(name) + 1, f);
	fwrite(code, 1, bytes, f);
}

static void move(FILE *f, uint64_t ns, uint64_t from, uint64_t to, uint64_t bytes)
{
	record(f, 1, 48, ns);
	put64(f, 0);
	put64(f, 0);
	put64(f, from);
	put64(f, to);
	put64(f, bytes);
	put64(f, 0);
}

static void lines(FILE *f, uint64_t address, uint64_t skew)
{
	record(f, 2, 16 + 3 * 16 + strlen("/a.js") + 1 + 2 + strlen("/b.js") + 1, 1);
	put64(f, address);
	put64(f, 3);
	put64(f, address + skew + 8);
	put32(f, 20);
	put32(f, 1);
	fwrite("/a.js", 1, 6, f);
	put64(f, address + skew + 16);
	put32(f, 21);
	put32(f, 1);
	fwrite("\xff", 1, 2, f);
	put64(f, address + skew);
	put32(f, 19);
	put32(f, 1);
	fwrite("/b.js", 1, 6, f);
}

static void test_dump(uint32_t mark, uint64_t skew)
{
	FILE *f = create(DUMP);
	head(f, mark, 0);
	lines(f, 0x1000, skew);
	load(f, 100, 0x1000, 64, "JS:*f /c.js:3:1");
	load(f, 200, 0x2000, 64, "early");
	load(f, 300, 0x3000, 64, "moves");
	record(f, 4, 8, 350); /* of a kind that is not known */
	put64(f, 1);
	move(f, 400, 0x3000, 0x4000, 64);
	move(f, 400, 0x7000, 0x8000, 64); /* of nothing */
	load(f, 500, 0x3000, 32, "later");
	load(f, 600, 0x2000, 64, "late");
	load(f, 700, 0x5000, 64, "JS:~g /c.js:9:1");
	record(f, 0, 4000, 800); /* is not all there */
	fclose(f);
	CHECK(found(0x1000, "f", "/b.js", 19));
	CHECK(found(0x1008, "f", "/a.js", 20));
	CHECK(found(0x103f, "f", "/a.js", 21));
	CHECK(found(0x1040, NULL, NULL, 0));
	CHECK(found(0x2000, "late|early", NULL, 0));
	CHECK(found(0x3000, "later|moves", NULL, 0));
	CHECK(found(0x3030, "moves", NULL, 0));
	CHECK(found(0x4000, "moves", NULL, 0));
	CHECK(found(0x5000, "g", "/c.js", 9));
	is.since_ns = 450; /* what was gone by then is of no interest */
	CHECK(found(0x2000, "late|early", NULL, 0));
	CHECK(found(0x3000, "later", NULL, 0));
	CHECK(found(0x3030, NULL, NULL, 0));
	CHECK(found(0x4000, "moves", NULL, 0));
	is.since_ns = 650;
	CHECK(found(0x2000, "late", NULL, 0));
	is.since_ns = 0;
}

static void test_own_clock(void)
{
	FILE *f = create(DUMP);
	head(f, 0, 1);
	load(f, 100, 0x1000, 64, "a");
	load(f, 200, 0x1000, 64, "b");
	fclose(f);
	is.since_ns = 1000000; /* nobody knows what that is on its clock */
	CHECK(found(0x1000, "b|a", NULL, 0));
	is.since_ns = 0;
	is.pid++;
	CHECK(!ms_made_open("root", &is));
	is.pid--;
}

int main(void)
{
	char folder[] = "/tmp/made-XXXXXX";
	if (!mkdtemp(folder) || chdir(folder) || mkdir("root", 0700) || mkdir("root/tmp", 0700))
		return 2;
	is = (struct ms_made_by){
		.pid = PID, .uid = getuid(), .to_ns = UINT64_MAX, .cwd = "/nowhere"};
	test_map();
	test_whose();
	test_dump(0, 0);
	test_dump(0xdeadbeef, 64);
	test_own_clock();
	if (chdir("/"))
		return 2;
	char command[64];
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	return system(command) || failures;
}

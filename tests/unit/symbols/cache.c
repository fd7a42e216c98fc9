/* SPDX-License-Identifier: MIT
 * The cache of symbols: what is written is read again, every prefix and every changed byte of it is
 * refused, and what was not used for longest goes.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "libcommon/symbols/symbols_cache.h"

#define WANT(cond) CHECK(cond, "%s", #cond)

static struct ms_arena arena;

static void fill(int folder)
{
	struct ms_cached c = {.name = "name", .key = "key", .state = 2, .source = "/lib/a"};
	const struct ms_location v[] = {{"inner", "a.c", 7, 3, true}, {"outer", NULL, 0, 0, false}};
	ms_cached_add(&c, 40, v, 2, &arena);
	ms_cached_add(&c, 10, v + 1, 1, &arena);
	ms_cached_saw(&c, "/nowhere/at/all", NULL, true, &arena);
	ms_cached_write(&c, folder, &arena);
	ms_cached_free(&c);
}

static void test_again(int folder)
{
	struct ms_cached c = {.name = "name", .key = "key"};
	ms_cached_read(&c, folder, &arena);
	WANT(c.sorted == 2 && c.files.n == 1 && c.state == 2 && !strcmp(c.source, "/lib/a"));
	const struct ms_cached_chain *x = ms_cached_find(&c, 40);
	WANT(x && x->n == 2 && !strcmp(x->v[0].function, "inner") && x->v[0].line == 7 &&
	     x->v[0].column == 3 && x->v[0].inlined && !x->v[1].file && !x->v[1].inlined);
	WANT(!ms_cached_find(&c, 11) && ms_cached_find(&c, 10));
	ms_cached_free(&c);
	struct ms_cached other = {.name = "name", .key = "another"};
	ms_cached_read(&other, folder, &arena);
	WANT(!other.chains.n);
}

static bool parses(const uint8_t *data, size_t n)
{
	struct ms_cached c = {.name = "name", .key = "key"};
	bool good = ms_cached_parse(&c, data, n, &arena);
	ms_cached_free(&c);
	return good;
}

static void test_damage(int folder)
{
	uint8_t data[4096];
	int fd = openat(folder, "name", O_RDONLY);
	size_t n = (size_t)read(fd, data, sizeof data);
	close(fd);
	WANT(parses(data, n));
	for (size_t i = 0; i < n; i++) {
		WANT(!parses(data, i));
		data[i] ^= 0x10;
		WANT(!parses(data, n));
		data[i] ^= 0x10;
	}
}

static void test_trim(int folder)
{
	for (int i = 0; i < 4; i++) {
		char name[16];
		snprintf(name, sizeof name, "f%d", i);
		int fd = openat(folder, name, O_WRONLY | O_CREAT, 0600);
		WANT(ftruncate(fd, 100000) == 0);
		close(fd);
		struct timespec t[2] = {{1000 - i, 0}, {1000 - i, 0}};
		WANT(utimensat(folder, name, t, 0) == 0);
	}
	int left =
		openat(folder, "name.7-1", O_WRONLY | O_CREAT, 0600); /* by an interrupted writer */
	WANT(futimens(left, (struct timespec[2]){{1000, 0}, {1000, 0}}) == 0 && close(left) == 0);
	ms_cache_trim(folder, 300000);
	WANT(faccessat(folder, "name.7-1", F_OK, 0) != 0);
	WANT(faccessat(folder, "f3", F_OK, 0) != 0 && faccessat(folder, "f2", F_OK, 0) != 0);
	WANT(!faccessat(folder, "f1", F_OK, 0) && !faccessat(folder, "f0", F_OK, 0));
	WANT(!faccessat(folder, "name", F_OK, 0));
}

int main(void)
{
	char base[] = "/tmp/memscope-cache.XXXXXX", command[64];
	WANT(mkdtemp(base));
	setenv("XDG_CACHE_HOME", base, 1);
	int folder = ms_cache_folder();
	WANT(folder >= 0);
	fill(folder);
	test_again(folder);
	test_damage(folder);
	test_trim(folder);
	close(folder);
	ms_arena_free(&arena);
	snprintf(command, sizeof command, "rm -r %s", base);
	WANT(system(command) == 0);
	return 0;
}

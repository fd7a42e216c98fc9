/* SPDX-License-Identifier: MIT
 * Allocates by functions that hand on what malloc gives, and by some that only look so.
 */
#include <stdlib.h>
#include <string.h>

void *keep[100];
static int n;

static void *get_mem(size_t size)
{
	void *p = malloc(size);
	if (!p)
		abort();
	return p;
}

static char *dup_text(const char *s)
{
	return strcpy(get_mem(strlen(s) + 1), s);
}

static void parse(void)
{
	keep[n++] = get_mem(1000);
}
static void read_all(void)
{
	keep[n++] = get_mem(2000);
}
static void index_it(void)
{
	keep[n++] = get_mem(3000);
}
static void names_of(void)
{
	keep[n++] = dup_text("hello");
}

void *xmalloc(size_t size)
{
	void *p = malloc(size);
	if (!p)
		abort();
	return p;
}

static char *xdup(const char *s)
{
	return strcpy(xmalloc(strlen(s) + 1), s);
}

static void one(void)
{
	keep[n++] = xdup("one");
}
static void two(void)
{
	keep[n++] = xdup("two");
}
static void three(void)
{
	keep[n++] = xdup("three");
}

static void load(size_t size)
{
	keep[n++] = malloc(size);
}
static void load_a(void)
{
	load(1);
	load(2);
}
static void load_b(void)
{
	load(3);
	load(4);
}
static void load_c(void)
{
	load(5);
	load(6);
}

/* Three lines. */
static void build(void)
{
	keep[n++] = malloc(20);
	keep[n++] = malloc(30);
	keep[n++] = malloc(40);
}
static void pair(void)
{
	build();
}
static void first(void)
{
	pair();
}
static void second(void)
{
	pair();
}
static void third(void)
{
	build();
}
static void fourth(void)
{
	build();
}

static void fifth(void)
{
	build();
}

/* Called by the C library at the start, and by nothing of ours. */
__attribute__((constructor)) static void xcalloc(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "alone") == 0) {
		keep[n++] = xmalloc(10);
		exit(0);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";
	if (strcmp(what, "list") == 0) {
		one();
		two();
		three();
		keep[n++] = malloc(77);
	} else if (strcmp(what, "share") == 0) {
		parse();
		read_all();
		index_it();
		names_of();
	} else if (strcmp(what, "load") == 0) {
		load_a();
		load_b();
		load_c();
	} else if (strcmp(what, "main") == 0) {
		keep[n++] = malloc(10), keep[n++] = malloc(20);
		keep[n++] = strdup("abc");
	} else if (strcmp(what, "inside") == 0) {
		first();
		second();
		third();
		fourth();
		fifth();
	}
	return 0;
}

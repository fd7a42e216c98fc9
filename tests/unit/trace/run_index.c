/* SPDX-License-Identifier: MIT
 * The list of what a run recorded: names with codes in them, names that lead elsewhere, lines that are
 * cut or mean nothing, and which image a process went on as.
 */
#include "libcommon/trace/run_index.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

static struct ms_arena arena;

/* The lines of an image, a parent, a pid and a trace. */
#define LINE(image, parent, pid, trace)                                                            \
	image "\t" parent "\t" pid "\t3\t4\t5\t6\t7\t8\t" trace "\t10\n"

static void parse(struct ms_run_index *x, const char *text)
{
	char *copy = ms_arena_strdup(&arena, text);
	ms_run_index_parse(x, copy, strlen(copy), &arena);
}

static void names(void)
{
	static const struct {
		const char *line, *want;
	} t[] = {
		{LINE("1", "-", "7", "a.1.2.trace"), "a.1.2.trace"},
		{LINE("1", "-", "7", "../run.trace"), "../run.trace"},
		{LINE("1", "-", "7", "a\\040b\\011c\\134.trace"), "a b\tc\\.trace"},
		{LINE("1", "-", "7", "\\377\\400\\08\\1"), "\377\\400\\08\\1"},
		{LINE("1", "-", "7", "\\18x\\118\\1178"), "\\18x\\118O8"},
		{LINE("1", "-", "7", "\\x41\\/"), NULL},
		{LINE("1", "-", "7", "a\\057b"), NULL}, /* a slash */
		{LINE("1", "-", "7", "../../x"), NULL},
		{LINE("1", "-", "7", "../.."), NULL},
		{LINE("1", "-", "7", ".."), NULL},
		{LINE("1", "-", "7", "."), NULL},
		{LINE("1", "-", "7", "../"), NULL},
		{LINE("1", "-", "7", ""), NULL},
		{LINE("1", "-", "7", "-"), NULL},
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct ms_run_index x;
		parse(&x, t[i].line);
		const char *got = x.n == 1 ? x.v[0].trace : "not one";
		CHECK(t[i].want ? got && !strcmp(got, t[i].want) : !got, "line %zu: %s", i, got);
		ms_run_index_free(&x);
	}
}

static void lines(void)
{
	struct ms_run_index x;
	parse(&x,
	      "# image\tparent\n" LINE("12", "3", "70", "c") LINE("x", "3", "70", "c")
		      LINE("", "3", "70", "c") LINE("-1", "3", "70", "c") LINE(
			      "4294967295", "3", "70", "c") LINE("4294967294", "", "8", "d")
			      LINE("3", "4294967295", "-9", "a") "5\t3\t70\n"
								 "6\t3\t70\t3\t4\t5\t6\t7\t8\tcut");
	CHECK(x.n == 3, "%zu lines", x.n);
	CHECK(x.n == 3 && x.v[0].number == 3 && !x.v[0].parent && x.v[0].pid == -9, "the first");
	CHECK(x.n == 3 && x.v[1].number == 12 && x.v[1].parent == 4 && x.v[1].pid == 70, "12");
	CHECK(x.n == 3 && x.v[2].number == 4294967294 && !x.v[2].parent, "the last");
	CHECK(ms_run_index_find(&x, 12) == &x.v[1] && !ms_run_index_find(&x, 5), "found");
	ms_run_index_free(&x);
	parse(&x, "");
	CHECK(!x.n && !ms_run_index_find(&x, 0) && !ms_run_index_next(&x, 0), "nothing");
	ms_run_index_free(&x);
}

/* The image that has it as its parent, and the same pid; not a child of another one. */
static void successors(void)
{
	struct ms_run_index x;
	parse(&x, LINE("0", "0", "7", "a") LINE("1", "0", "8", "b") LINE("2", "0", "7", "c")
			  LINE("3", "2", "9", "d") LINE("4", "1", "8", "-"));
	const struct ms_run_image *next = ms_run_index_next(&x, 0);
	CHECK(next && next->number == 2, "0 goes on as 2");
	next = ms_run_index_next(&x, 1);
	CHECK(next && next->number == 4 && !next->trace, "1 goes on as 4");
	CHECK(!ms_run_index_next(&x, 2) && !ms_run_index_next(&x, 4), "over");
	CHECK(!ms_run_index_next(&x, 9), "not listed");
	ms_run_index_free(&x);
}

int main(void)
{
	names();
	lines();
	successors();
	ms_arena_free(&arena);
	return failures != 0;
}

/* SPDX-License-Identifier: MIT
 * Regular expressions that are taken, and those that would take for ever.
 */
#include "libcommon/base/pattern.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

/* `why`: a part of the refusal; NULL = taken. */
static void check(const char *text, const char *why)
{
	char room[MS_PATTERN_WHY];
	regex_t re;
	const char *got = ms_pattern_compile(&re, text, 0, room);
	if (!got)
		regfree(&re);
	if (why ? got && strstr(got, why) : !got)
		return;
	printf("'%.60s': %s instead of %s\n", text, got ? got : "taken", why ? why : "taken");
	failures++;
}

static void check_long(size_t n, const char *why)
{
	char *text = calloc(1, n + 1);
	memset(text, 'a', n);
	check(text, why);
	free(text);
}

static void check_match(const char *pattern, const char *text, bool matches)
{
	char room[MS_PATTERN_WHY];
	regex_t re;
	if (ms_pattern_compile(&re, pattern, REG_ICASE, room)) {
		printf("'%s' is not taken\n", pattern);
		failures++;
		return;
	}
	if (!regexec(&re, text, 0, NULL, 0) != matches) {
		printf("'%s' and '%s': %d\n", pattern, text, !matches);
		failures++;
	}
	regfree(&re);
}

/* How many of 'a' those marks take: of none, one and two. */
static void check_marks(const char *marks, bool none, bool one, bool two)
{
	char pattern[32];
	snprintf(pattern, sizeof pattern, "^[?+*]x\\+a%s$", marks);
	check_match(pattern, "+X+", none);
	check_match(pattern, "?X+A", one);
	check_match(pattern, "*X+AA", two);
}

static void check_matches(void)
{
	check_match("VECTOR<(int|long)>", "std::vector<long>", true);
	check_match("VECTOR<(int|long)>", "std::vector<short>", false);
	check_marks("", false, true, false);
	check_marks("?", true, true, false);
	check_marks("??", true, true, false);
	check_marks("+", false, true, true);
	check_marks("++", false, true, true);
	check_marks("*", true, true, true);
	check_marks("*?", true, true, true);
	check_marks("+?", true, true, true);
	check_marks("?+", true, true, true);
	check_marks("{2}", false, false, true);
	check_marks("{0,1}+", true, true, true);
}

int main(void)
{
	static const char *const good[] = {"",
					   "a|b",
					   "^std::(vector|map)<.*>$",
					   "operator\\(\\)",
					   "[\\1]",
					   "[]\\2]x",
					   "[^]\\3]x",
					   "[[:alpha:]\\4]",
					   "[[.].]\\5]",
					   "[[=a=]\\6]",
					   "\\\\1",
					   "a{255}",
					   "a{0,255}",
					   "(ab{3}){100}",
					   "x{1,}",
					   "a+b*c?",
					   "((a+)+)+",
					   "(a+b*)?(c{2}|d)+((e?)f)*",
					   "a???+++++++++++++++++++++++++",
					   "\\.so\\.[0-9]+",
					   "[{300}]",
					   "\\{300\\}"};
	static const char *const back[] = {"(a)\\1", "(a)(b)\\2", "[[:alpha:]]\\9",      "\\\\\\1",
					   "[a]\\1", "[]]\\1",    "(.*)(.*)(.*)(.*)\\1x"};
	static const char *const repeats[] = {"a{256}", "a{0,256}", "a{256,}",
					      "a{99999999999999999999}"};
	static const char *const out[] = {"(a{255}){255}",   "(a{100}){10}b",
					  "(a{255}b{255})+", "((a?){60}){60}",
					  "a{255}{4}",       "[abc]{255}.{255}\\.{255}(x|y){255}"};
	static const char *const deep[] = {"(((a+)+)+)+", "((((a+)b)+c)+d)+",
					   "(x(a(b{2}c*)?d|e)*y)?", "((a|(b?)+)*c)?"};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		check(good[i], NULL);
	for (size_t i = 0; i < sizeof back / sizeof *back; i++)
		check(back[i], "back-references");
	for (size_t i = 0; i < sizeof repeats / sizeof *repeats; i++)
		check(repeats[i], "at most 255");
	for (size_t i = 0; i < sizeof out / sizeof *out; i++)
		check(out[i], "more than 1000 characters");
	for (size_t i = 0; i < sizeof deep / sizeof *deep; i++)
		check(deep[i], "nested more than 3 deep");
	check("(", "nmatched");
	check("[a", "nmatched");
	check_long(1000, NULL);
	check_long(1001, "longer than 1000 bytes");
	check_matches();
	return failures != 0;
}

/* SPDX-License-Identifier: MIT
 * Suppressions against call stacks: a table of files, stacks and what must come out.
 */
#include "libcommon/base/err.h"
#include "libcommon/suppress/suppress.h"

#include <stdio.h>
#include <string.h>

/* A stack with operator new in it, one without names, and one of C. */
static const struct ms_suppress_frame cxx[] = {
	{"operator new(unsigned long)", NULL, "/usr/lib/libstdc++.so.6", 0},
	{"ns::Parser::dup(char const*)", "/src/parser.cpp", "/usr/bin/app", 218},
	{"main", "/src/main.cpp", "/usr/bin/app", 10},
};
static const struct ms_suppress_frame bare[] = {
	{NULL, NULL, "/usr/lib/libx.so.1", 0},
	{"main", "/src/main.cpp", "/usr/bin/app", 12},
};
static const struct ms_suppress_frame c[] = {
	{"load", "/src/load.c", "/usr/bin/app", 7},
	{"twice", NULL, "/usr/bin/app", 0},
	{"twice", NULL, "/usr/bin/app", 0},
	{"main", "/src/main.c", "/usr/bin/app", 20},
};

#define V(lines) "{\n name\n Memcheck:Leak\n" lines "}\n"
enum { NO = MS_SUPPRESS_NO, YES = MS_SUPPRESS_YES, NAMES = MS_SUPPRESS_NAMES };
enum { VERDICT = MS_SUPPRESS_VERDICT };

static const struct test {
	const char *file;
	int cxx, bare, c; /* what the stacks come to; without a verdict */
} tests[] = {
	/* The allocation function may be named, or be an operator new that is there, or both. */
	{V("fun:malloc\n fun:load\n"), NO, NAMES, YES},
	{V("fun:load\n"), NO, NAMES, YES},
	{V("fun:*alloc\n fun:loa?\n fun:twice\n"), NO, NO, YES},
	{V("fun:_Znwm\n fun:*dup*\n"), YES, NAMES, NO},
	{V("fun:_Znwm\n fun:_ZN2ns6Parser3dupEPKc\n"), YES, NAMES, NO},
	{V("fun:_Zn*\n fun:main\n"), NO, NAMES, NO},
	{V("obj:*/vgpreload_memcheck-amd64-linux.so\n fun:load\n"), NO, NAMES, YES},
	{V("fun:malloc\n fun:main\n"), NO, NAMES, NO},
	/* A mangled name with wildcards cannot be compared, where one could be meant. */
	{V("fun:_Znwm\n fun:_ZN2ns*dup*\n"), NAMES, NAMES, NO},
	/* Any number of frames, none too; and lines that match in more than one place. */
	{V("...\n fun:main\n"), YES, YES, YES},
	{V("fun:load\n ...\n fun:twice\n fun:main\n"), NO, NO, YES},
	{V("fun:load\n ...\n ...\n fun:twice\n"), NO, NO, YES},
	{V("fun:load\n ...\n fun:load\n"), NO, NO, NO},
	{V("fun:load\n fun:twice\n fun:twice\n fun:main\n fun:_start\n"), NO, NO, NO},
	/* Objects and sources. */
	{V("obj:/usr/lib/libx.so.?\n"), NO, YES, NO},
	{V("obj:*app\n src:*\n"), NO, NO, NAMES},
	{V("src:load.c\n"), NAMES, NAMES, YES},
	{V("src:/src/load.c:7\n"), NAMES, NAMES, YES},
	{V("src:load.c:8\n"), NAMES, NAMES, NO},
	/* Kinds of leaks need a verdict. */
	{V("match-leak-kinds: definite\n fun:load\n"), NO, NAMES, VERDICT},
	{V("match-leak-kinds: definite,indirect,possible,reachable\n fun:load\n"), NO, NAMES, YES},
	{V("match-leak-kinds: none\n fun:load\n"), NO, NO, NO},
};

static const struct pattern {
	const char *file;
	int met; /* by {"ns::f(int)", "/src/f.cpp", "/lib/libf.so"} */
} patterns[] = {
	{"leak:f(int)", YES},       {"leak:^ns::", YES},
	{"leak:^f(", NO},           {"leak:int)$", YES},
	{"leak:ns$", NO},           {"leak:^ns::f(int)$", YES},
	{"leak:n*f*)", YES},        {"leak:^n*t)$", YES},
	{"leak:^n*t$", NO},         {"leak:f.cpp", YES},
	{"leak:^/src/*.cpp$", YES}, {"leak:libf", YES},
	{"leak:libg", NO},          {"leak:N", NO},
	{"leak:f?int)", NO},        {"  leak:libf.so  ", YES},
};

static const struct limit {
	const char *file;
	uint64_t most; /* 0 = it is no suppression */
} limits[] = {
	{"leak:f", MS_SUPPRESS_ANY},
	{"leak<=10:f", 10},
	{"  leak<=010:f", 10},
	{"leak<=18446744073709551614:f", MS_SUPPRESS_ANY - 1},
	{"leak<=18446744073709551615:f", 0},
	{"leak<=99999999999999999999:f", 0},
	{"leak<=:f", 0},
	{"leak<=1", 0},
	{"leak<=-1:f", 0},
	{"leak<= 1:f", 0},
	{"leak<=1 :f", 0},
	{"leak<1:f", 0},
	{"leak<=1:", 0},
	{"leak<=1:*", 0},
	{V("fun:load\n"), MS_SUPPRESS_ANY},
};

static int failures;

static void check(const char *file, const char *what, int got, int wanted)
{
	if (got == wanted)
		return;
	failures++;
	printf("%s%s: %d, not %d\n", file, what, got, wanted);
}

static void try_stacks(const struct test *t)
{
	struct ms_err err = {0};
	struct ms_suppressions *s = ms_suppressions_parse(t->file, strlen(t->file), "x", &err);
	const struct ms_suppression *rule = s ? s->rules.v : NULL;
	check(t->file, err.text, rule != NULL, 1);
	if (rule) {
		check(t->file, "C++", (int)ms_suppress_stack(rule, cxx, 3, NULL), t->cxx);
		check(t->file, "bare", (int)ms_suppress_stack(rule, bare, 2, NULL), t->bare);
		check(t->file, "C", (int)ms_suppress_stack(rule, c, 4, NULL), t->c);
	}
	ms_suppressions_free(s);
}

static void try_limit(const struct limit *t)
{
	struct ms_err err = {0};
	struct ms_suppressions *s = ms_suppressions_parse(t->file, strlen(t->file), "x", &err);
	check(t->file, ": read", s != NULL, t->most != 0);
	if (s)
		check(t->file, ": maximum", s->rules.n == 1 && s->rules.v[0].most == t->most, 1);
	ms_suppressions_free(s);
}

static void try_verdicts(void)
{
	static const char file[] = V("match-leak-kinds: definite reachable\n fun:load\n");
	struct ms_suppressions *s = ms_suppressions_parse(file, sizeof file - 1, "x", NULL);
	const struct ms_suppression *rule = s->rules.v;
	static const struct {
		const char *verdict;
		int met;
	} verdicts[] = {{"unreachable", YES},
			{"indirect", NO},
			{"unknown", NO},
			{"growing", YES},
			{"reachable", YES}};
	for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
		check("kinds: ", verdicts[i].verdict,
		      (int)ms_suppress_stack(rule, c, 4, verdicts[i].verdict), verdicts[i].met);
	ms_suppressions_free(s);
}

static void try_pattern(const struct pattern *p)
{
	static const struct ms_suppress_frame frame = {"ns::f(int)", "/src/f.cpp", "/lib/libf.so",
						       3};
	static const struct ms_suppress_frame unnamed = {NULL, NULL, "/lib/libf.so", 0};
	struct ms_suppressions *s = ms_suppressions_parse(p->file, strlen(p->file), "x", NULL);
	const struct ms_suppression *rule = s ? s->rules.v : NULL;
	check(p->file, ": parsed", rule != NULL, 1);
	if (rule) {
		check(p->file, "", (int)ms_suppress_frame(rule, &frame), p->met);
		bool module = strstr(p->file, "libf") != NULL;
		check(p->file, ": unnamed", (int)ms_suppress_frame(rule, &unnamed),
		      module ? YES : NAMES);
	}
	ms_suppressions_free(s);
}

int main(void)
{
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		try_stacks(&tests[i]);
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
		try_pattern(&patterns[i]);
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		try_limit(&limits[i]);
	try_verdicts();
	printf("%d failures\n", failures);
	return failures != 0;
}

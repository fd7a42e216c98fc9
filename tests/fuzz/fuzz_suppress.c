/* SPDX-License-Identifier: MIT
 * Fuzzes the reader and the matcher of suppression files: the input is a file, which is then held
 * against some call stacks.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "libcommon/base/err.h"
#include "libcommon/suppress/suppress.h"

static const struct ms_suppress_frame frames[] = {
	{"operator new(unsigned long)", NULL, "/usr/lib/libstdc++.so.6", 0},
	{"ns::Parser::dup(char const*)", "/src/parser.cpp", "/usr/bin/app", 218},
	{NULL, NULL, "/usr/lib/libfontconfig.so.1", 0},
	{"main", "main.c", "/usr/bin/app", 10},
};
enum { FRAMES = sizeof frames / sizeof *frames };

static void hold(const struct ms_suppression *s)
{
	static const char *const verdicts[] = {NULL, "unreachable", "reachable"};
	for (size_t from = 0; from < FRAMES; from++) {
		if (s->by_frame)
			ms_suppress_frame(s, &frames[from]);
		for (size_t v = 0; v < 3 && !s->by_frame; v++)
			ms_suppress_stack(s, frames + from, FRAMES - from, verdicts[v]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct ms_err err = {0};
	if (n > 8192)
		return 0;
	struct ms_suppressions *s = ms_suppressions_parse((const char *)data, n, "input", &err);
	if (!s != (err.text[0] != '\0'))
		abort();
	unsigned line = 0;
	for (size_t i = 0; s && i < s->rules.n; i++) {
		const struct ms_suppression *rule = &s->rules.v[i];
		if (rule->line <= line)
			abort();
		line = rule->line;
		hold(rule);
	}
	ms_suppressions_free(s);
	return 0;
}

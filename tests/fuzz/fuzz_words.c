/* SPDX-License-Identifier: MIT
 * Fuzzes what people type: sizes, durations, counts, points, and the command line of ms-filter.
 *
 * Input: words, each ended by a NUL.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/point.h"
#include "libcommon/base/units.h"

/* part of a tool, not of a library */
#include "ms-filter/arguments.c"
#include "ms-filter/columns.c"
#include "ms-filter/options.c"
#include "ms-filter/where.c"

#define WORDS 16

static void refused(const struct ms_err *err)
{
	if (!err->text[0])
		abort();
}

static void one_word(const char *s)
{
	struct ms_err err = {0};
	struct ms_point p;
	uint64_t v = 0;
	char buf[MS_UNIT_BUF];
	if (ms_parse_size(s, &v, &err) != 0)
		refused(&err);
	else if (strlen(ms_format_size(buf, v)) >= sizeof buf ||
		 strlen(ms_format_delta(buf, (int64_t)v)) >= sizeof buf)
		abort();
	err.text[0] = '\0';
	if (ms_parse_duration(s, &v, &err) != 0)
		refused(&err);
	else if (strlen(ms_format_duration(buf, v)) >= sizeof buf)
		abort();
	err.text[0] = '\0';
	if (ms_parse_count(s, "number", 3, 1u << 20, &v, &err) != 0)
		refused(&err);
	else if (v < 3 || v > 1u << 20)
		abort();
	err.text[0] = '\0';
	if (ms_point_parse(s, &p, &err) != 0)
		refused(&err);
	else if (p.kind == MS_POINT_MARK &&
		 (p.mark < s || p.mark_length < 0 || p.mark + p.mark_length > s + strlen(s)))
		abort();
	ms_point_split(s);
}

/* glibc's regular expressions are not on trial, and take for ever on some: letters only. */
static void tame(char *word)
{
	if (strncmp(word, "--", 2) == 0)
		for (char *c = word; *c; c++)
			if (strchr("{}()*+|\\", *c))
				*c = '.';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct ms_arena a = {0};
	struct ms_err err = {0};
	struct options o = {0};
	char *argv[WORDS + 2] = {"ms-filter"};
	int argc = 1;
	if (n > 4096)
		return 0;
	char *text = ms_arena_strndup(&a, "", 0), *at;
	text = ms_arena_alloc(&a, n + 1);
	memcpy(text, data, n);
	text[n] = '\0';
	for (at = text; at < text + n && argc <= WORDS; at += strlen(at) + 1) {
		one_word(at);
		tame(at);
		argv[argc++] = at;
	}
	optind = 0;
	if (options_parse(&o, argc, argv, &a, &err) != 0)
		refused(&err);
	options_free(&o);
	ms_arena_free(&a);
	return 0;
}

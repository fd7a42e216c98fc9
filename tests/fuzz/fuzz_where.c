/* SPDX-License-Identifier: MIT
 * Fuzzes expressions of ms-filter --where: parsed, then evaluated for sites of which all, some and
 * nothing is known. "not (x)" must be the opposite of x.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"

/* part of a tool, not of a library */
#include "ms-filter/columns.c"
#include "ms-filter/where.c"

static bool frame_at(const void *arg, unsigned i, const char **function)
{
	static const char *const functions[] = {"load", NULL, "main"};
	unsigned count = *(const unsigned *)arg;
	*function = i < count ? functions[i] : NULL;
	return i < count;
}

static void judge(const struct where *w, const struct where *opposite)
{
	struct value v[64];
	for (unsigned known = 0; known < 3; known++) {
		for (size_t i = 0; i < column_count; i++)
			v[i] = (struct value){known == 2 || (known == 1 && i % 2),
					      (int64_t)i * 1000, "load"};
		unsigned frames = known;
		struct where_row row = {v, frame_at, &frames};
		enum truth a = where_holds(w, &row);
		enum truth b = opposite ? where_holds(opposite, &row) : a;
		if (opposite && (a == UNSURE) != (b == UNSURE))
			abort();
		if (opposite && a != UNSURE && a == b)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct ms_arena a = {0};
	struct ms_err err = {0}, other = {0};
	if (n > 2048)
		return 0;
	char *text = ms_arena_strndup(&a, (const char *)data, n);
	/* glibc's regular expressions are not on trial, and take for ever on some. */
	for (char *c = text; *c; c++)
		if (strchr("{}*+|\\", *c))
			*c = '.';
	struct where *w = where_parse(&a, text, &err);
	if (!w != (err.text[0] != '\0'))
		abort();
	if (w) {
		struct where *opposite =
			where_parse(&a, ms_arena_printf(&a, "not (%s)", text), &other);
		judge(w, opposite);
		where_free(opposite);
		where_free(w);
	}
	ms_arena_free(&a);
	return 0;
}

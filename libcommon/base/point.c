/* SPDX-License-Identifier: MIT
 * Parses a POINT.
 */
#include "point.h"

#include "arena.h"
#include "err.h"
#include "units.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int bad_point(const char *s, struct ms_err *err)
{
	return ms_err_set(err,
			  "bad point '%s': use peak, end, start, 1.5s, -10m, 14:30:05, mark:NAME, "
			  "mark:NAME#3, mark:NAME#last or scan:2",
			  s);
}

/* Parses NAME, NAME#3 or NAME#last; a # followed by anything else is part of the name. */
static int parse_mark(struct ms_point *p)
{
	p->kind = MS_POINT_MARK;
	p->mark_length = (int)strlen(p->mark);
	p->nth = 1;
	const char *hash = strrchr(p->mark, '#');
	if (hash && strcmp(hash, "#last") == 0) {
		p->nth = 0;
		p->mark_length = (int)(hash - p->mark);
	} else if (hash && isdigit((unsigned char)hash[1])) {
		char *end;
		uint64_t n = strtoull(hash + 1, &end, 10);
		if (*end == '\0') {
			p->nth = n;
			p->mark_length = (int)(hash - p->mark);
			if (n == 0)
				return -1;
		}
	}
	return p->mark_length > 0 ? 0 : -1;
}

static bool two_digits(const char *s, unsigned limit, unsigned *out)
{
	if (!isdigit((unsigned char)s[0]) || !isdigit((unsigned char)s[1]))
		return false;
	*out = (unsigned)(s[0] - '0') * 10 + (unsigned)(s[1] - '0');
	return *out < limit;
}

/* Parses HH:MM or HH:MM:SS. */
static int parse_clock(const char *s, struct ms_point *p)
{
	unsigned h, m, sec = 0;
	size_t n = strlen(s);
	if ((n != 5 && n != 8) || !two_digits(s, 24, &h) || s[2] != ':' ||
	    !two_digits(s + 3, 60, &m))
		return -1;
	if (n == 8 && (s[5] != ':' || !two_digits(s + 6, 60, &sec)))
		return -1;
	p->kind = MS_POINT_CLOCK;
	p->ns = ((uint64_t)h * 3600 + m * 60 + sec) * 1000000000u;
	return 0;
}

int ms_point_parse(const char *s, struct ms_point *p, struct ms_err *err)
{
	*p = (struct ms_point){.label = s};
	if (strcmp(s, "peak") == 0) {
		p->kind = MS_POINT_PEAK;
	} else if (strcmp(s, "end") == 0) {
		p->kind = MS_POINT_END;
	} else if (strcmp(s, "start") == 0) {
		p->kind = MS_POINT_START;
	} else if (strncmp(s, "mark:", 5) == 0) {
		p->mark = s + 5;
		if (parse_mark(p) != 0)
			return bad_point(s, err);
	} else if (strncmp(s, "scan:", 5) == 0) {
		p->kind = MS_POINT_SCAN;
		if (ms_parse_count(s + 5, "scan", 1, UINT32_MAX, &p->nth, NULL) != 0)
			return bad_point(s, err);
	} else if (strchr(s, ':')) {
		if (parse_clock(s, p) != 0)
			return bad_point(s, err);
	} else {
		bool before = s[0] == '-';
		p->kind = before ? MS_POINT_BEFORE : MS_POINT_AFTER;
		if (!isdigit((unsigned char)s[before]) ||
		    ms_parse_duration(s + before, &p->ns, NULL) != 0)
			return bad_point(s, err);
	}
	return 0;
}

const char *ms_point_split(const char *path)
{
	const char *at = strrchr(path, '@');
	if (!at || at == path || access(path, F_OK) == 0)
		return NULL;
	char *file = ms_xstrndup(path, (size_t)(at - path));
	bool there = strcmp(file, "-") == 0 || access(file, F_OK) == 0;
	free(file);
	return there ? at : NULL;
}

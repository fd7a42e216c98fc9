/* SPDX-License-Identifier: MIT
 * Parses the arguments of conditions: sizes, spans, regular expressions and others.
 */
#include "options.h"

#include "where.h"

#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/pattern.h"
#include "libcommon/suppress/suppress.h"
#include "libcommon/base/units.h"

int regex_check(const char *name, const char *regex, struct ms_err *err)
{
	char room[MS_PATTERN_WHY];
	regex_t compiled;
	const char *why = ms_pattern_compile(&compiled, regex, 0, room);
	if (why)
		return ms_err_set(err, "option '--%s': bad regular expression '%s': %s", name,
				  regex, why);
	regfree(&compiled);
	return 0;
}

/* Splits "LOW..HIGH", "LOW.." or "..HIGH" into its two ends; for other texts both ends are the
 * whole text. */
static void split(struct ms_arena *a, const char *arg, const char *ends[2])
{
	const char *dots = strstr(arg, "..");
	ends[0] = dots ? ms_arena_strndup(a, arg, (size_t)(dots - arg)) : arg;
	ends[1] = dots ? dots + 2 : arg;
}

static int size_argument(struct condition *c, const char *name, const char *arg, struct ms_arena *a,
			 struct ms_err *err)
{
	const char *ends[2];
	split(a, arg, ends);
	c->value = 0;
	c->high = UINT64_MAX;
	if (!ends[0][0] && !ends[1][0])
		return ms_err_set(err,
				  "option '--%s': '%s' has no limit: give SIZE, LOW..HIGH, "
				  "LOW.. or ..HIGH",
				  name, arg);
	if ((ends[0][0] && ms_parse_size(ends[0], &c->value, err) != 0) ||
	    (ends[1][0] && ms_parse_size(ends[1], &c->high, err) != 0))
		return -1;
	if (c->value > c->high)
		return ms_err_set(err,
				  "option '--%s': in '%s' the lower limit is above the upper one",
				  name, arg);
	return 0;
}

/* Tells whether the span certainly ends before it begins. Returns false if the points are relative
 * to different ends of the recording. */
static bool backwards(const struct ms_point *from, const struct ms_point *to)
{
	if (from->kind == MS_POINT_AFTER && to->kind == MS_POINT_AFTER)
		return from->ns > to->ns;
	if (from->kind == MS_POINT_BEFORE && to->kind == MS_POINT_BEFORE)
		return from->ns < to->ns;
	return (from->kind == MS_POINT_END && to->kind != MS_POINT_END) ||
	       (to->kind == MS_POINT_START && from->kind != MS_POINT_START);
}

static int span_argument(struct condition *c, const char *name, const char *arg, struct ms_arena *a,
			 struct ms_err *err)
{
	const char *ends[2];
	if (!strstr(arg, ".."))
		return ms_err_set(err,
				  "option '--%s': '%s' is no span: give FROM..TO, FROM.. or ..TO",
				  name, arg);
	split(a, arg, ends);
	if (!ends[0][0] && !ends[1][0])
		return ms_err_set(err,
				  "option '--%s': '%s' has no end: give FROM..TO, FROM.. or ..TO",
				  name, arg);
	for (unsigned i = 0; i < 2; i++) {
		c->has[i] = ends[i][0] != '\0';
		if (c->has[i] && ms_point_parse(ends[i], &c->span[i], err) != 0)
			return -1;
	}
	if (c->has[0] && c->has[1] && backwards(&c->span[0], &c->span[1]))
		return ms_err_set(err, "option '--%s': '%s' ends before it begins", name, arg);
	return 0;
}

static int verdict_argument(const char *name, const char *arg, struct ms_err *err)
{
	static const char *const words[] = {"unreachable", "indirect",  "growing",
					    "unknown",     "reachable", "none"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(arg, words[i]) == 0)
			return 0;
	return ms_err_set(err,
			  "option '--%s': no such verdict '%s': use unreachable, indirect, "
			  "growing, unknown, reachable or none",
			  name, arg);
}

int argument_set(struct condition *c, const char *name, const char *arg, struct ms_arena *a,
		 struct ms_err *err)
{
	if (!arg)
		return 0;
	if (!arg[0])
		return ms_err_set(err, "option '--%s': empty argument", name);
	switch (c->subject) {
	case MIN_BLOCKS:
		return ms_parse_count(arg, "number of blocks", 0, INT64_MAX, &c->value, err);
	case MIN_ALLOCATIONS:
		return ms_parse_count(arg, "number of allocations", 0, INT64_MAX, &c->value, err);
	case MIN_LIFETIME:
	case MAX_LIFETIME:
	case MIN_AGE:
	case MAX_AGE:
		return ms_parse_duration(arg, &c->value, err);
	case FUNCTION:
	case FILE_NAME:
	case MODULE:
		return regex_check(name, arg, err);
	case VERDICT:
		return verdict_argument(name, arg, err);
	case SIZE:
		return size_argument(c, name, arg, a, err);
	case FIRST:
	case LAST:
	case BORN:
		return span_argument(c, name, arg, a, err);
	case ALIVE_AT:
		return ms_point_parse(arg, &c->span[0], err);
	case WHERE:
		c->where = where_parse(a, arg, err);
		return c->where ? 0 : -1;
	case SUPPRESSED:
		c->suppressions = ms_suppressions_read(arg, err);
		return c->suppressions ? 0 : -1;
	default:
		return c->subject < MIN_BLOCKS ? ms_parse_size(arg, &c->value, err) : 0;
	}
}

void argument_free(struct condition *c)
{
	where_free(c->where);
	ms_suppressions_free(c->suppressions);
}

int arguments_check(const struct options *o, struct ms_err *err)
{
	static const struct {
		enum subject min, max;
		const char *what;
	} pairs[] = {{MIN_LIFETIME, MAX_LIFETIME, "lifetime"}, {MIN_AGE, MAX_AGE, "age"}};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		/* it is enough to meet one of several minimums, or of several maximums */
		uint64_t min = UINT64_MAX, max = 0, both = KEEP(pairs[i].min) | KEEP(pairs[i].max);
		char text[2][MS_UNIT_BUF];
		for (size_t k = 0; k < o->conditions.n; k++) {
			const struct condition *c = &o->conditions.v[k];
			if (c->subject == pairs[i].min && c->value < min)
				min = c->value;
			if (c->subject == pairs[i].max && c->value > max)
				max = c->value;
		}
		if ((o->keep & both) == both && min > max)
			return ms_err_set(err,
					  "option '--min=%s': %s is above the %s of '--max=%s': no "
					  "site can meet both",
					  pairs[i].what, ms_format_duration(text[0], min),
					  ms_format_duration(text[1], max), pairs[i].what);
	}
	return 0;
}

/* SPDX-License-Identifier: MIT
 * Figures, times and moments for people.
 */
#include "say.h"

#include "names.h"

#include "libcommon/base/units.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

void words_add(struct words *w, const char *s)
{
	if (w->n < WORDS_MAX)
		w->v[w->n++] = s;
}

const char *say_unknown(const struct model *m)
{
	const struct quality *q = &m->quality;
	const struct {
		bool holds;
		const char *words;
	} reasons[] = {
		{figure_some(q->sampled_bytes), "n/a (sampled)"},
		{figure_some(q->events_lost), "n/a (lost events)"},
		{figure_some(q->damaged_bytes) || figure_some(q->damaged_places), "n/a (damaged)"},
		{figure_some(m->gaps.dropped_until_ns), "n/a (dropped events)"},
		{figure_some(m->gaps.paused_ns), "n/a (paused)"},
		{m->part, "n/a (read in part)"},
	};
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (reasons[i].holds)
			return reasons[i].words;
	return "n/a";
}

const char *say_size(struct model *m, uint64_t bytes)
{
	char buf[MS_UNIT_BUF];
	return bytes == UNKNOWN ? say_unknown(m)
				: ms_arena_strdup(&m->arena, ms_format_size(buf, bytes));
}

const char *say_count(struct model *m, uint64_t n)
{
	char buf[MS_UNIT_BUF];
	return n == UNKNOWN ? say_unknown(m) : ms_arena_strdup(&m->arena, ms_format_count(buf, n));
}

const char *say_time(struct model *m, uint64_t ns)
{
	char buf[MS_UNIT_BUF];
	return ns == UNKNOWN ? say_unknown(m)
			     : ms_arena_strdup(&m->arena, ms_format_duration(buf, ns));
}

const char *say_share(struct model *m, uint64_t a, uint64_t b)
{
	if (a == UNKNOWN || b == UNKNOWN)
		return say_unknown(m);
	if (b == 0)
		return "n/a";
	double v = (double)a * 100 / (double)b;
	return a == 0     ? "0 %"
	       : v < 0.05 ? "<0.1 %"
			  : ms_arena_printf(&m->arena, v < 9.95 ? "%.1f %%" : "%.0f %%", v);
}

const char *say_things(struct model *m, uint64_t n, const char *one)
{
	return est_things(m, n, NULL, one);
}

const char *est_live(struct model *m, struct live v, const struct estimates *e, enum est_figure f)
{
	return ms_arena_printf(&m->arena, "%s in %s", est_size(m, v.bytes, est_of(e, f)),
			       est_things(m, v.blocks, est_of(e, f + 1), "block"));
}

const char *say_live(struct model *m, struct live v)
{
	return est_live(m, v, NULL, EST_END);
}

const char *say_date(struct model *m, uint64_t ns, bool iso)
{
	time_t t = (time_t)(ns / 1000000000);
	struct tm tm;
	if (ns == UNKNOWN || !gmtime_r(&t, &tm))
		return NULL;
	char buf[64];
	strftime(buf, sizeof buf, iso ? "%Y-%m-%dT%H:%M:%S" : "%Y-%m-%d %H:%M:%S UTC", &tm);
	return iso ? ms_arena_printf(&m->arena, "%s.%09lluZ", buf,
				     (unsigned long long)(ns % 1000000000))
		   : ms_arena_strdup(&m->arena, buf);
}

const char *say_moment(struct model *m, const struct style *st)
{
	if (strcmp(m->at_label, "end") == 0)
		return m->quality.growing ? "the latest moment" : "the end";
	if (strcmp(m->at_label, "peak") == 0 || strcmp(m->at_label, "start") == 0)
		return ms_arena_printf(&m->arena, "the %s", m->at_label);
	return name_clean(&m->arena, m->at_label, st->ascii);
}

/* ---- estimates ---- */

/* Rounds a number to three digits, since a sample is not more exact. */
static const char *short_count(char buf[MS_UNIT_BUF], uint64_t n)
{
	static const char units[] = " kMGTPE";
	double v = (double)n;
	size_t unit = 0;
	if (n < 10000)
		return ms_format_count(buf, n);
	for (; v >= 999.5 && unit + 2 < sizeof units; unit++)
		v /= 1000;
	snprintf(buf, MS_UNIT_BUF, "%.*f %c", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, units[unit]);
	return buf;
}

/* Returns a value with its limits, the unit only once if it is the same: "1.31 GiB (1.19-1.44)",
 * "1.2 MiB (0 B-3.4 MiB)". */
static const char *with_limits(struct model *m, const char *v, const char *low, const char *high)
{
	const char *u = strchr(v, ' '), *a = strchr(low, ' '), *b = strchr(high, ' ');
	u = u ? u : "";
	a = a ? a : "";
	b = b ? b : "";
	if (strcmp(low, v) == 0 && strcmp(high, v) == 0)
		return ms_arena_strdup(&m->arena, v);
	if (strcmp(u, b) == 0 && strcmp(a, b) == 0)
		return ms_arena_printf(&m->arena, "%s (%.*s-%.*s)", v,
				       (int)(strlen(low) - strlen(a)), low,
				       (int)(strlen(high) - strlen(b)), high);
	if (strcmp(a, b) == 0)
		return ms_arena_printf(&m->arena, "%s (%.*s-%s)", v, (int)(strlen(low) - strlen(a)),
				       low, high);
	return ms_arena_printf(&m->arena, "%s (%s-%s)", v, low, high);
}

const char *say_size_limits(struct model *m, uint64_t bytes, uint64_t low, uint64_t high)
{
	char v[MS_UNIT_BUF], a[MS_UNIT_BUF], b[MS_UNIT_BUF];
	return with_limits(m, ms_format_size(v, bytes), ms_format_size(a, low),
			   ms_format_size(b, high));
}

const char *est_size(struct model *m, uint64_t bytes, const struct ms_spread *e)
{
	if (!e || bytes == UNKNOWN)
		return say_size(m, bytes);
	uint64_t low, high;
	ms_interval_whole(bytes, e, &low, &high);
	return say_size_limits(m, bytes, low, high);
}

const char *est_count(struct model *m, uint64_t n, const struct ms_spread *e)
{
	char v[MS_UNIT_BUF], a[MS_UNIT_BUF], b[MS_UNIT_BUF];
	if (!e || n == UNKNOWN)
		return say_count(m, n);
	uint64_t low, high;
	ms_interval_whole(n, e, &low, &high);
	return with_limits(m, short_count(v, n), short_count(a, low), short_count(b, high));
}

const char *est_things(struct model *m, uint64_t n, const struct ms_spread *e, const char *one)
{
	const char *end = n == 1 ? "" : strchr("hs", one[strlen(one) - 1]) ? "es" : "s";
	return ms_arena_printf(&m->arena, "%s %s%s", est_count(m, n, e), one, end);
}

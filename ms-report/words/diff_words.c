/* SPDX-License-Identifier: MIT
 * A comparison as sentences and figures for people, in any format.
 */
#include "words.h"

#include "names.h"

#include "libcommon/base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

const char *diff_say(struct model *m, bool bytes, int64_t delta)
{
	char buf[MS_UNIT_BUF];
	if (delta == DELTA_UNKNOWN)
		return "n/a";
	if (bytes)
		return ms_arena_strdup(&m->arena, ms_format_delta(buf, delta));
	uint64_t n = delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta;
	return delta == 0 ? "0" : SAY("%c%s", delta < 0 ? '-' : '+', ms_format_count(buf, n));
}

const char *diff_value(struct model *m, bool bytes, int64_t v)
{
	char buf[MS_UNIT_BUF];
	if (v < 0)
		return "n/a";
	return ms_arena_strdup(&m->arena, bytes ? ms_format_size(buf, (uint64_t)v)
						: ms_format_count(buf, (uint64_t)v));
}

const char *diff_percent(struct model *m, int64_t delta, int64_t old)
{
	if (delta == DELTA_UNKNOWN || old == DELTA_UNKNOWN || old <= 0 || delta == 0)
		return "";
	double v = (double)delta * 100 / (double)old;
	double size = v < 0 ? -v : v;
	if (size < 0.05)
		return v < 0 ? "-<0.1 %" : "+<0.1 %";
	return size < 9.95 ? SAY("%+.1f %%", v) : size < 99999 ? SAY("%+.0f %%", v) : "";
}

static const char *rate(struct model *m, int64_t v)
{
	uint64_t operations = m->diff->new_operations;
	if (v == DELTA_UNKNOWN || !operations || operations == UNKNOWN)
		return "n/a";
	double x = (double)v / (double)operations;
	return x >= 1000 || x <= -1000 ? SAY("%.0f", x) : SAY("%.4g", x);
}

/* Sets how many old runs of a history ms-diff needs to determine the noise. */
#define HISTORY_MANY 8

/* Tells whether the noise is known: from several runs of each side, or a history. */
static bool noise_is_known(const struct diff *d)
{
	return d->old_runs > 1 && (d->new_runs > 1 || (d->history && d->old_runs >= HISTORY_MANY));
}

static void add_line(struct model *m, struct diff_line *out, size_t *n, const char *title,
		     const char *figure, bool bytes, bool per)
{
	const struct diff *d = m->diff;
	const struct diff_total *t = diff_total(d, figure);
	if (!t || (t->old == DELTA_UNKNOWN && t->new == DELTA_UNKNOWN))
		return;
	out[(*n)++] =
		(struct diff_line){title,
				   t,
				   bytes,
				   per,
				   .old = per ? rate(m, t->old) : diff_value(m, bytes, t->old),
				   .new = per ? rate(m, t->new) : diff_value(m, bytes, t->new),
				   .change = !per           ? diff_say(m, bytes, t->delta)
					     : t->delta > 0 ? SAY("+%s", rate(m, t->delta))
							    : rate(m, t->delta),
				   .percent = diff_percent(m, t->delta, t->old),
				   .noise = t->delta != DELTA_UNKNOWN && t->delta != 0 &&
					    !t->significant &&noise_is_known(d)};
}

static const char *at(const char *point)
{
	return strcmp(point, "end") == 0 ? "the end" : point;
}

/* Adds a line with the live bytes of both runs in the phase of the old peak, or of the new one, if
 * the peaks are in different phases. The other run's value is approximate, so noise is not shown
 * for it. */
static void add_phase(struct model *m, struct diff_line *out, size_t *n, bool old)
{
	const struct diff_total *t = diff_total(m->diff, "peak_time_ns");
	size_t line = *n;
	if (!t || t->old < 0 || t->new < 0)
		return;
	add_line(m, out, n,
		 SAY("phase of %s peak, %s", old ? "old" : "new",
		     say_time(m, (uint64_t)(old ? t->old : t->new))),
		 old ? "live_at_old_peak_bytes" : "live_at_new_peak_bytes", true, false);
	if (*n > line)
		out[line].noise = false;
}

size_t diff_lines(struct model *m, struct diff_line out[12])
{
	const struct diff *d = m->diff;
	bool same = strcmp(d->old_point, d->new_point) == 0, per = d->per != NULL;
	bool end = same && strcmp(d->old_point, "end") == 0;
	size_t n = 0;
	const char *where = end    ? "live at end"
			    : same ? SAY("live at %s", at(d->old_point))
				   : SAY("live: %s, %s", at(d->old_point), at(d->new_point));
	add_line(m, out, &n, "peak live", "peak_bytes", true, false);
	add_phase(m, out, &n, true);
	add_phase(m, out, &n, false);
	add_line(m, out, &n, "unreachable at end", "unreachable_bytes", true, false);
	add_line(m, out, &n, where, "live_bytes", true, false);
	add_line(m, out, &n, end ? "blocks at end" : "blocks then", "live_blocks", false, false);
	add_line(m, out, &n, "allocations", "allocations", false, per);
	add_line(m, out, &n, "allocated", "allocated_bytes", true, false);
	add_line(m, out, &n, "temporary", "temporary_allocations", false, per);
	add_line(m, out, &n, "peak RSS", "peak_rss_bytes", true, false);
	return n;
}

const char *diff_moments(struct model *m)
{
	const struct diff_total *t = diff_total(m->diff, "peak_time_ns");
	return m->diff->peak_moved && t && t->old >= 0 && t->new >= 0
		       ? SAY("now at %s, was at %s", say_time(m, (uint64_t)t->new),
			     say_time(m, (uint64_t)t->old))
		       : NULL;
}

/* Returns the change of a figure as a share of the larger of the two runs' totals. */
static double share(const struct diff *d, const struct diff_row *x, enum diff_figure f)
{
	const struct diff_total *t = diff_total(d, diff_figure_names[f]);
	int64_t all = !t ? 0 : t->old > t->new ? t->old : t->new;
	return all <= 0 || x->delta[f] == DELTA_UNKNOWN ? 0
							: fabs((double)x->delta[f]) / (double)all;
}

enum metric diff_metric(const struct diff *d, enum metric otherwise)
{
	static const struct {
		enum diff_figure figure;
		enum metric metric;
	} of[] = {{DIFF_PEAK, METRIC_PEAK},
		  {DIFF_LIVE, METRIC_LIVE},
		  {DIFF_ALLOCATED, METRIC_ALLOCATED},
		  {DIFF_ALLOCATIONS, METRIC_ALLOCATIONS},
		  {DIFF_TEMPORARY, METRIC_TEMPORARY}};
	size_t n = d->significant ? 1 : d->rows.n;
	double most = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
			const struct diff_row *x = &d->rows.v[i];
			bool counts = !d->significant || x->changed & 1U << of[k].figure;
			double v = counts ? share(d, x, of[k].figure) : 0;
			otherwise = v > most ? of[k].metric : otherwise;
			most = v > most ? v : most;
		}
	return otherwise;
}

static void add_part(struct model *m, const char **s, const char *part)
{
	*s = **s ? SAY("%s, %s", *s, part) : part;
}

static void count_kind(struct model *m, const char **s, const struct diff_sum *k, const char *word)
{
	uint64_t rest = k->sites - k->significant;
	if (rest)
		add_part(m, s, SAY("%s %s", say_count(m, rest), word));
}

/* Returns the live bytes as text; adds the allocated bytes if more were allocated. */
static const char *sum_words(struct model *m, const int64_t *figures)
{
	int64_t held = figures[figures[DIFF_LIVE] == DELTA_UNKNOWN ? DIFF_PEAK : DIFF_LIVE];
	int64_t allocated = figures[DIFF_ALLOCATED];
	const char *s = diff_say(m, true, held);
	return allocated == DELTA_UNKNOWN || llabs(allocated) <= llabs(held)
		       ? s
		       : SAY("%s live, %s allocated", s, diff_say(m, true, allocated));
}

const char *diff_rest(struct model *m, const struct diff_rows *r)
{
	const struct diff *d = m->diff;
	const char *s = "";
	if (r->noise.sites)
		add_part(m, &s,
			 SAY("%s within noise (%s)", say_things(m, r->noise.sites, "change"),
			     sum_words(m, r->noise.figures)));
	count_kind(m, &s, &d->kinds[DIFF_UNCHANGED], "unchanged");
	count_kind(m, &s, &d->kinds[DIFF_UNMATCHED], "not compared");
	if (d->kinds[DIFF_GONE].sites)
		add_part(m, &s, SAY("%s gone", say_count(m, d->kinds[DIFF_GONE].sites)));
	if (d->renamed.sites)
		add_part(m, &s, SAY("%s renamed", say_count(m, d->renamed.sites)));
	if (d->hidden_sites && d->hidden_sites != UNKNOWN)
		add_part(m, &s, SAY("%s hidden by filters", say_count(m, d->hidden_sites)));
	return s;
}

/* Returns half the range of the runs' values, relative to the middle of the range; -1 = not
 * known. */
static double spread(const struct limits *l)
{
	if (l->low < 0 || l->high <= 0)
		return -1;
	return ((double)l->high - (double)l->low) / ((double)l->high + (double)l->low);
}

const char *diff_noise(struct model *m)
{
	const struct diff *d = m->diff;
	const struct diff_total *t = diff_total(d, "peak_bytes");
	if (!t || (d->old_runs < 2 && d->new_runs < 2))
		return NULL;
	double a = spread(&t->of_old), b = spread(&t->of_new);
	a = a > b ? a : b;
	return a < 0 ? NULL
		     : SAY("noise: the peak varies by %.1f %% either way between runs of one build",
			   a * 100);
}

/* Returns the first run with a figure other than 0. */
static const struct diff_run *find(const struct diff *d, size_t offset)
{
	for (size_t i = 0; i < d->runs.n; i++)
		if (figure_some(figure_at(&d->runs.v[i], offset)))
			return &d->runs.v[i];
	return NULL;
}
#define LOST offsetof(struct diff_run, events_lost)
#define SAMPLED offsetof(struct diff_run, sampled_bytes)

static const char *named(struct model *m, const struct diff_run *r)
{
	return name_clean(&m->arena, r->name, true);
}

const char *diff_incomplete(struct model *m)
{
	const struct diff_run *r = diff_cut_run(m);
	return r ? SAY("'%s', one of the compared runs, has no end or is damaged", named(m, r))
		 : NULL;
}

const char *diff_untrusted(struct model *m)
{
	const struct diff *d = m->diff;
	const struct diff_run *r;
	if (!d)
		return NULL;
	if ((r = diff_cut_run(m)))
		return SAY("'%s' is incomplete", named(m, r));
	if ((r = find(d, LOST)))
		return SAY("events were lost in '%s'", named(m, r));
	if ((r = find(d, SAMPLED)))
		return SAY("'%s' is sampled", named(m, r));
	return NULL;
}

const char *diff_unmatched(struct model *m)
{
	const struct diff *d = m->diff;
	const struct diff_sum *k = d ? &d->kinds[DIFF_UNMATCHED] : NULL;
	if (!k || !k->sites)
		return NULL;
	int side = d->nameless[1] ? 1 : 0;
	const char *name = side ? d->new : d->old;
	return SAY("%s (%s in all) could not be compared: '%s' has no symbols for %s, but '%s' "
		   "has. They are not listed as new, gone or changed; totals include them",
		   say_things(m, k->sites, "site"),
		   diff_say(m, true,
			    k->figures[DIFF_LIVE] == DELTA_UNKNOWN ? k->figures[DIFF_PEAK]
								   : k->figures[DIFF_LIVE]),
		   name_clean(&m->arena, name, true),
		   name_clean(&m->arena, d->nameless[side] ? d->nameless[side] : "a module", true),
		   name_clean(&m->arena, side ? d->old : d->new, true));
}

/* Returns which run lacks symbols that the other one has. */
static const char *without_symbols(const struct diff *d)
{
	return !d->nameless[0] == !d->nameless[1] ? "one of the runs"
	       : d->nameless[0]                   ? "the old run"
						  : "the new run";
}

const char *diff_worth(struct model *m)
{
	const struct diff *d = m->diff;
	const char *s = "";
	if (d->old_missing)
		return "no old run: everything is new";
	const struct diff_run *lost = find(d, LOST), *sampled = find(d, SAMPLED);
	if (diff_incomplete(m))
		add_part(m, &s, "INCOMPLETE, see above");
	if (sampled)
		add_part(m, &s, "sampled: changes are estimates");
	if (lost)
		add_part(m, &s, SAY("events LOST in '%s'", named(m, lost)));
	if (!sampled && !lost && !diff_incomplete(m))
		add_part(m, &s, "all events");
	if (d->per)
		add_part(m, &s,
			 SAY("old figures scaled to the new run's number of %s (%s)",
			     strncmp(d->per, "mark:", 5) == 0
				     ? SAY("marks '%s'", name_clean(&m->arena, d->per + 5, true))
				     : "allocations",
			     say_count(m, d->new_operations)));
	if (!noise_is_known(d))
		add_part(m, &s,
			 SAY("noise not measured: %s",
			     d->history ? "fewer than 8 runs in the history"
					: "at least one side has only one run"));
	else if (diff_noise(m))
		add_part(m, &s, diff_noise(m));
	if (d->kinds[DIFF_UNMATCHED].sites)
		add_part(m, &s,
			 SAY("SYMBOLS MISSING in %s: %s not compared", without_symbols(d),
			     say_things(m, d->kinds[DIFF_UNMATCHED].sites, "site")));
	else if (d->nameless[0] || d->nameless[1])
		add_part(m, &s,
			 SAY("no symbols for some functions of %s, yet all sites could be compared",
			     without_symbols(d)));
	if (!d->same_program)
		add_part(m, &s, "programs with DIFFERENT names");
	return s;
}

const char *diff_title(struct model *m, const struct diff_rows *r)
{
	return r->significant ? SAY("CHANGED by more than noise: %s",
				    say_things(m, r->significant, "site"))
	       : diff_changed(m->diff)
		       ? "NO SINGLE SITE CHANGED by more than noise, but the totals above did"
		       : "NOTHING CHANGED by more than noise";
}

size_t diff_rows_shown(const struct diff_rows *r, size_t limit)
{
	size_t n = r->significant;
	if (n == 0)
		while (n < r->n && r->v[n].kind != DIFF_UNCHANGED)
			n++;
	return n < limit ? n : limit;
}

const char *diff_what(struct model *m, const struct diff_row *x)
{
	const char *s = diff_kind_names[x->kind];
	if (x->matched && strcmp(x->matched, "renamed") == 0)
		s = SAY("%s, renamed", s);
	return x->site->verdict && strcmp(x->site->verdict, "unreachable") == 0 ? SAY("%s, LEAK", s)
										: s;
}

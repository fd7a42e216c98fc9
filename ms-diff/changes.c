/* SPDX-License-Identifier: MIT
 * Computes the changes of figures for rows of matched spots.
 */
#include "changes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lists the figures whose changes count: bytes held, and allocations. */
static const enum diff_figure counted[] = {DIFF_LIVE, DIFF_PEAK, DIFF_ALLOCATIONS, DIFF_ALLOCATED};

bool change_counts(const struct change *c)
{
	for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
		if (c->figures[counted[i]].significant)
			return true;
	return false;
}

struct work {
	struct changes *c;
	const struct matching *m;
	const struct opened *runs;
	int64_t least;
	int64_t *series[2]; /* values by side, each indexed by change, figure and run */
	bool few;           /* too few runs to measure noise */
	bool threaded;      /* too few runs, and several threads or processes allocate */
	bool sampled;       /* one of the runs shown is sampled */
	bool moved;         /* the runs' peaks are of different phases */
};

static int64_t *series_of(const struct work *w, int side, size_t change, int figure)
{
	size_t runs = w->m->s->runs[side].n;
	return w->series[side] + (change * DIFF_FIGURES + (size_t)figure) * runs;
}

/* ---- sums of spots ---- */

/* Tells whether a run recorded a figure at all. If so, a spot (place that allocates, see spots.h)
 * missing from the run counts as 0. */
static bool tells(const struct work *w, int side, size_t run, int figure)
{
	return w->m->s->runs[side].v[run]->hidden[figure] != DELTA_UNKNOWN;
}

static void sum_spots(struct work *w)
{
	const struct spots *s = w->m->s;
	for (size_t i = 0; i < s->all.n; i++) {
		const struct spot *p = &s->all.v[i];
		w->c->v[p->row].ever[p->side] = true;
		for (int f = 0; f < DIFF_FIGURES; f++) {
			int64_t *v = series_of(w, p->side, p->row, f);
			for (size_t k = 0; k < s->runs[p->side].n; k++)
				v[k] = p->seen[k] || tells(w, p->side, k, f)
					       ? delta_add(v[k], p->figures[k][f])
					       : DELTA_UNKNOWN;
		}
	}
}

/* For rows without spots (places that allocate) on a side, marks each figure as unknown in the runs
 * that did not record it. */
static void fill_absent(struct work *w)
{
	for (int side = OLD; side <= NEW; side++)
		for (size_t i = 0; i < w->c->n; i++)
			for (size_t k = 0; k < w->m->s->runs[side].n; k++)
				for (int f = 0; f < DIFF_FIGURES && !w->c->v[i].ever[side]; f++)
					if (!tells(w, side, k, f))
						series_of(w, side, i, f)[k] = DELTA_UNKNOWN;
}

static int64_t rank_of(const struct run_site *s)
{
	return s->figures[DIFF_LIVE] == DELTA_UNKNOWN ? 0 : s->figures[DIFF_LIVE];
}

/* Counts the row's sites in the run shown, and adds up the confidence intervals of their
 * figures. */
static void sum_sites(struct work *w, int side)
{
	const struct run *r = w->runs->shown[side];
	static const struct limits none = {DELTA_UNKNOWN, DELTA_UNKNOWN};
	for (size_t i = 0; i < w->c->n; i++) {
		w->c->v[i].site[side] = NONE;
		w->c->v[i].most[side] = 0;
		for (int f = 0; f < DIFF_FIGURES; f++)
			w->c->v[i].figures[f].sampled[side] = none;
	}
	int64_t *so_far = ms_xrealloc(NULL, w->c->n * DIFF_FIGURES + 1, sizeof *so_far);
	memset(so_far, 0, w->c->n * DIFF_FIGURES * sizeof *so_far);
	for (size_t i = 0; i < r->sites.n; i++) {
		const struct run_site *s = &r->sites.v[i];
		size_t row = w->m->s->all.v[s->spot].row;
		struct change *c = &w->c->v[row];
		if (c->site[side] == NONE || rank_of(s) > rank_of(&r->sites.v[c->site[side]]))
			c->site[side] = (uint32_t)i;
		c->sites[side]++;
		c->most[side] = delta_add(c->most[side], s->most_bytes);
		for (int f = 0; f < DIFF_FIGURES; f++) {
			int64_t *sum = &so_far[row * DIFF_FIGURES + (size_t)f];
			struct limits *x = &c->figures[f].sampled[side];
			*x = sum_interval(*sum, *x, s->figures[f],
					  s->sampled ? s->sampled[f] : none);
			*sum = delta_add(*sum, s->figures[f]);
		}
	}
	free(so_far);
}

/* ---- verdicts of the old runs ---- */

static int badness(const char *verdict)
{
	static const char *const order[] = {"reachable", "unknown", "growing", "indirect",
					    "unreachable"};
	for (int i = 0; verdict && i < (int)(sizeof order / sizeof *order); i++)
		if (strcmp(verdict, order[i]) == 0)
			return i;
	return -1;
}

static void note_verdicts(struct work *w)
{
	for (size_t k = 0; k < w->m->s->runs[OLD].n; k++) {
		const struct run *r = w->m->s->runs[OLD].v[k];
		for (size_t i = 0; i < r->sites.n; i++) {
			const struct run_site *s = &r->sites.v[i];
			struct change *c = &w->c->v[w->m->s->all.v[s->spot].row];
			const char *v = r->at_end ? s->verdict : NULL;
			if (!v && s->figures[DIFF_LIVE_BLOCKS] > 0)
				v = "unknown";
			if (badness(v) > badness(c->old_verdict))
				c->old_verdict = v;
		}
	}
}

bool change_is_known(const struct change *c)
{
	const struct figure_change *live = &c->figures[DIFF_LIVE];
	return c->old_verdict && !(live->significant && live->delta > 0);
}

/* ---- changes that exceed noise ---- */

/* Returns the confidence interval of a site's figure if the run is sampled and no sample of the
 * site was taken: from 0 to 3.7 times the mean sampling distance. */
static struct limits unseen(const struct run *r, int f)
{
	if (!r->sampled_bytes || !diff_figure_is_bytes((enum diff_figure)f))
		return (struct limits){DELTA_UNKNOWN, DELTA_UNKNOWN};
	int64_t b = r->sampled_bytes > INT64_MAX / 4 ? INT64_MAX / 4 : r->sampled_bytes;
	return (struct limits){0, b / 10 * 37 + b % 10 * 37 / 10};
}

/* Tells whether the 95 % confidence interval of a change still excludes 0 if it is made twice as
 * wide. The original interval excludes 0 by chance in one of twenty sites, and there are hundreds
 * of sites; the wider one does so in one of ten thousand. */
static bool excludes_0(int64_t v, struct limits x)
{
	if (x.low == DELTA_UNKNOWN || v == DELTA_UNKNOWN)
		return false;
	double middle = (double)v, down = middle - (double)x.low, up = (double)x.high - middle;
	return middle - 2 * down > 0 || middle + 2 * up < 0;
}

/* Determines whether a figure's change is significant, from the values in all runs of each side.
 * Needs c->sampled. */
static void judge(const struct work *w, struct figure_change *c, const int64_t *const v[2],
		  bool bytes)
{
	struct series x = {v[OLD], v[NEW],   w->m->s->runs[OLD].n, w->m->s->runs[NEW].n,
			   bytes,  w->least, w->runs->history};
	for (int side = OLD; side <= NEW; side++)
		c->ranges[side] = series_range(v[side], w->m->s->runs[side].n);
	c->delta = delta_sub(c->values[NEW], c->values[OLD]);
	c->delta_sampled =
		delta_interval(c->values[OLD], c->sampled[OLD], c->values[NEW], c->sampled[NEW]);
	c->significant = !w->runs->missing && series_differ(&x) &&
			 (!w->sampled || excludes_0(c->delta, c->delta_sampled));
}

static void judge_figure(struct work *w, size_t i, int f)
{
	struct change *c = &w->c->v[i];
	struct figure_change *x = &c->figures[f];
	const int64_t *v[2];
	for (int side = OLD; side <= NEW; side++) {
		v[side] = series_of(w, side, i, f);
		x->values[side] = v[side][w->runs->at[side]];
		bool nothing = x->values[side] == 0 && x->sampled[side].low == DELTA_UNKNOWN;
		if (c->site[side] == NONE || nothing)
			x->sampled[side] = unseen(w->runs->shown[side], f);
	}
	judge(w, x, v, diff_figure_is_bytes((enum diff_figure)f));
	x->significant &= !c->row->hidden;
}

/* If the runs have threads or are sampled, marks a change of the peak as not significant unless
 * the bytes allocated changed significantly: the peak also varies with thread timing, by more than
 * a few runs may show, and with the choice of the sampled allocations. */
static void leave_to_timing(const struct work *w, struct change *c)
{
	if ((w->threaded || w->sampled) && !c->figures[DIFF_ALLOCATED].significant)
		c->figures[DIFF_PEAK].significant = c->figures[DIFF_PEAK_BLOCKS].significant =
			false;
}

/* ---- peaks of different phases ---- */

/* If the same sites hold most of both peaks: minimum share of the smaller peak that must be held by
 * different sites. */
#define OTHERS_SHARE 0.1

/* Returns how much a site's bytes at the larger peak exceed the maximum that the site ever held in
 * the other run; at least 0. */
static int64_t beyond_most(const struct change *c, const int64_t v[2])
{
	int more = v[NEW] > v[OLD] ? NEW : OLD;
	int64_t over = delta_sub(v[more], c->most[!more]);
	return over != DELTA_UNKNOWN && over < 0 ? 0 : over;
}

/* Tells whether the peaks are in different phases of the program's work, in which different sites
 * hold memory. Returns true if less than half of the smaller peak is held by the same sites at both
 * peaks. Otherwise, as in a program with constant data, two conditions must hold: different sites
 * hold more than OTHERS_SHARE, and the change of the peak is explained by what sites hold beyond
 * their maximum in the other run. If not, it is one phase in which some sites hold more, and others
 * less. */
static bool peaks_differ(const struct work *w)
{
	double both = 0, over = 0, all[2] = {0, 0};
	if (!w->runs->flows || w->runs->missing)
		return false;
	for (size_t i = 0; i < w->c->n; i++) {
		int64_t v[2];
		for (int side = OLD; side <= NEW; side++) {
			v[side] = series_of(w, side, i, DIFF_PEAK)[w->runs->at[side]];
			v[side] = v[side] < 0 ? 0 : v[side];
			all[side] += (double)v[side];
		}
		int64_t beyond = beyond_most(&w->c->v[i], v);
		beyond = beyond == DELTA_UNKNOWN ? llabs(v[NEW] - v[OLD]) : beyond;
		over += (double)(v[NEW] > v[OLD] ? beyond : -beyond);
		both += (double)(v[OLD] < v[NEW] ? v[OLD] : v[NEW]);
	}
	double least = fmin(all[OLD], all[NEW]), others = least - both;
	return 2 * both < least ||
	       (others > OTHERS_SHARE * least && fabs(all[NEW] - all[OLD] - over) < others / 2);
}

/* If the peaks are in different phases, judges a site's peak by the excess over the maximum that
 * the site ever held in the other run. */
static void weigh_by_most(const struct work *w, struct change *c)
{
	struct figure_change *x = &c->figures[DIFF_PEAK];
	int more = x->delta > 0 ? NEW : OLD;
	int64_t over = beyond_most(c, x->values);
	c->over = DELTA_UNKNOWN;
	if (!w->moved || x->delta == DELTA_UNKNOWN || over == DELTA_UNKNOWN)
		return;
	struct series s = {&c->most[!more], &x->values[more], 1, 1, true, w->least, false};
	x->significant &= over > 0 && series_differ(&s);
	c->figures[DIFF_PEAK_BLOCKS].significant &= x->significant;
	c->over = more == NEW ? over : -over;
}

/* Minimum change of a site's number of allocations or allocated bytes, as a share of the whole
 * run's, to be significant. Allocations cost time in proportion to their number. Hash seeds and
 * addresses move single large blocks between sites; with threads and too few runs to measure noise,
 * the division of work varies too. */
#define CHURN_SHARE 0.01
#define CHURN_SHARE_THREADS 0.10

/* Returns the larger value of both sides; 0 = not known. */
static double size_of(const struct figure_change *total)
{
	const int64_t *v = total->values;
	return v[OLD] == DELTA_UNKNOWN || v[NEW] == DELTA_UNKNOWN
		       ? 0
		       : fmax((double)v[OLD], (double)v[NEW]);
}

static bool is_small_churn(const struct work *w, const struct figure_change *c,
			   const struct figure_change *total)
{
	double share = w->threaded ? CHURN_SHARE_THREADS : CHURN_SHARE;
	return c->delta != DELTA_UNKNOWN && fabs((double)c->delta) <= share * size_of(total);
}

static void leave_small_churn(const struct work *w, struct change *c)
{
	for (int f = DIFF_ALLOCATIONS; f <= DIFF_TEMPORARY; f++)
		if (is_small_churn(w, &c->figures[f], &w->c->totals[total_of((enum diff_figure)f)]))
			c->figures[f].significant = false;
}

static int64_t delta_of(const struct change *c, enum diff_figure f)
{
	return c->figures[f].delta == DELTA_UNKNOWN ? 0 : c->figures[f].delta;
}

/* Returns the largest change beyond noise, with its sign, as a share of the whole run's figure; 0 =
 * no such change. */
static double share_of(const struct work *w, const struct change *c)
{
	double most = 0;
	for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
		const struct figure_change *x = &c->figures[counted[i]];
		double all = size_of(&w->c->totals[total_of(counted[i])]);
		bool over = counted[i] == DIFF_PEAK && c->over != DELTA_UNKNOWN;
		double delta = (double)(over ? c->over : x->delta);
		double share = x->significant && all > 0 ? delta / all : 0;
		most = fabs(share) > fabs(most) ? share : most;
	}
	return most;
}

/* Returns a number whose sign classifies a row: that of c->share if not 0, else the larger change
 * of live or peak bytes, else a change of allocations. */
static int64_t main_delta(const struct change *c)
{
	int64_t live = delta_of(c, DIFF_LIVE), peak = delta_of(c, DIFF_PEAK);
	int64_t d = llabs(peak) > llabs(live) ? peak : live;
	static const enum diff_figure others[] = {DIFF_ALLOCATED,   DIFF_ALLOCATIONS,
						  DIFF_LIVE_BLOCKS, DIFF_PEAK_BLOCKS,
						  DIFF_FREES,       DIFF_TEMPORARY};
	if (c->share != 0)
		return c->share > 0 ? 1 : -1;
	for (size_t i = 0; d == 0 && i < sizeof others / sizeof *others; i++)
		d = delta_of(c, others[i]);
	return d;
}

static enum diff_kind kind_of(const struct change *c)
{
	if (!c->ever[OLD])
		return DIFF_NEW;
	if (!c->ever[NEW])
		return DIFF_GONE;
	int64_t d = main_delta(c);
	return d > 0 ? DIFF_GROWN : d < 0 ? DIFF_SHRUNK : DIFF_UNCHANGED;
}

/* Classifies a site when two moments of one run are compared: a site that has blocks at only one of
 * the moments is new or gone. */
static enum diff_kind kind_at(const struct change *c)
{
	bool held[2];
	for (int side = OLD; side <= NEW; side++) /* an unknown figure is negative (DELTA_UNKNOWN),
						     so it counts as no blocks */
		held[side] = c->figures[DIFF_LIVE_BLOCKS].values[side] > 0;
	return held[OLD] == held[NEW] ? kind_of(c) : held[NEW] ? DIFF_NEW : DIFF_GONE;
}

static void judge_rows(struct work *w)
{
	size_t n = 0;
	w->moved = w->c->moved = peaks_differ(w);
	for (size_t i = 0; i < w->c->n; i++) {
		struct change *c = &w->c->v[i];
		c->row = &w->m->rows.v[i];
		for (int f = 0; f < DIFF_FIGURES; f++)
			judge_figure(w, i, f);
		leave_to_timing(w, c);
		weigh_by_most(w, c);
		leave_small_churn(w, c);
		c->share = share_of(w, c);
		c->kind = c->row->hidden   ? DIFF_UNMATCHED
			  : w->runs->flows ? kind_of(c)
					   : kind_at(c);
		if (c->site[OLD] != NONE || c->site[NEW] != NONE)
			w->c->v[n++] = *c;
	}
	w->c->n = n;
}

/* ---- totals ---- */

static void judge_total(struct work *w, int t)
{
	const struct spots *s = w->m->s;
	struct figure_change *c = &w->c->totals[t];
	int64_t *v[2];
	for (int side = OLD; side <= NEW; side++) {
		v[side] = ms_arena_alloc(&w->c->arena, s->runs[side].n * sizeof **v);
		for (size_t k = 0; k < s->runs[side].n; k++)
			v[side][k] = s->runs[side].v[k]->totals[t];
		c->values[side] = w->runs->shown[side]->totals[t];
		c->sampled[side] = w->runs->shown[side]->sampled_totals[t];
	}
	judge(w, c, (const int64_t *const *)v, totals[t].bytes);
}

static bool is_peak(int t)
{
	return strncmp(totals[t].name, "peak_b", 6) == 0 ||
	       strncmp(totals[t].name, "own_peaks", 9) == 0;
}

static void judge_totals(struct work *w)
{
	for (int t = 0; t < TOTALS; t++)
		judge_total(w, t);
	bool more = w->c->totals[total_of(DIFF_ALLOCATED)].significant;
	for (int t = 0; t < TOTALS; t++) {
		bool rss = strstr(totals[t].name, "_rss_") != NULL; /* RSS varies from run to run
								       with the kernel's behavior */
		struct figure_change *c = &w->c->totals[t];
		if ((totals[t].flow && w->threaded && is_small_churn(w, c, c)) ||
		    (is_peak(t) && (w->threaded || w->sampled) && !more) || (rss && w->few) ||
		    strstr(totals[t].name, "_time_ns"))
			c->significant = false;
	}
}

/* Tells whether several threads or processes allocate in any run. */
static bool has_threads(const struct spots *s)
{
	for (size_t i = 0; i < s->every.n; i++) {
		const struct run *r = s->every.v[i];
		if (r->threaded)
			return true;
	}
	return false;
}

void changes_make(struct changes *c, const struct matching *m, const struct opened *runs,
		  int64_t least)
{
	const struct spots *s = m->s;
	struct work w = {.c = c, .m = m, .runs = runs, .least = least};
	w.sampled = runs->shown[OLD]->sampled_bytes || runs->shown[NEW]->sampled_bytes;
	w.few = noise_is_unknown(s->runs[OLD].n, s->runs[NEW].n, runs->history);
	w.threaded = w.few && has_threads(s);
	c->n = m->rows.n;
	c->v = ms_arena_alloc(&c->arena, (c->n + 1) * sizeof *c->v);
	for (int side = OLD; side <= NEW; side++) {
		size_t n = c->n * DIFF_FIGURES * s->runs[side].n + 1;
		w.series[side] = ms_xrealloc(NULL, n, sizeof **w.series);
		memset(w.series[side], 0, n * sizeof **w.series);
	}
	sum_spots(&w);
	fill_absent(&w);
	note_verdicts(&w);
	sum_sites(&w, OLD);
	sum_sites(&w, NEW);
	judge_totals(&w);
	judge_rows(&w);
	free(w.series[OLD]);
	free(w.series[NEW]);
}

static bool is_growth(const struct figure_change *c)
{
	return c->significant && c->delta > 0;
}

/* Tells whether the changes of all sites add up to 0: then a site grew only because allocations
 * moved to it from other sites. */
static bool is_level(const struct changes *c, enum diff_figure f)
{
	int64_t sum = 0;
	for (size_t i = 0; i < c->n; i++)
		sum = delta_add(sum, c->v[i].figures[f].delta);
	return sum == 0;
}

bool changes_grew(const struct changes *c)
{
	for (size_t k = 0; k < sizeof counted / sizeof *counted; k++) {
		bool level = is_level(c, counted[k]);
		for (size_t i = 0; i < c->n && !level; i++)
			if (is_growth(&c->v[i].figures[counted[k]]))
				return true;
	}
	for (int t = 0; t < TOTALS; t++)
		for (size_t k = 0; k < sizeof counted / sizeof *counted; k++)
			if (is_growth(&c->totals[t]) &&
			    strcmp(totals[t].name, diff_figure_names[counted[k]]) == 0)
				return true;
	return false;
}

size_t changes_unmatched(const struct changes *c)
{
	size_t n = 0;
	for (size_t i = 0; i < c->n; i++)
		n += c->v[i].kind == DIFF_UNMATCHED;
	return n;
}

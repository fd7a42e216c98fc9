/* SPDX-License-Identifier: MIT
 * A comparison that ms-diff made: what changed, as arrays.
 */
#pragma once

#include "libcommon/model/comparison.h"
#include "lists.h"
#include "libcommon/model/model.h"

struct diff_row {
	const struct site *site;
	enum diff_kind kind;
	bool significant;
	const char *matched, *evidence, *figures; /* NULL = none */
	unsigned changed;                         /* bits by figure: `figures` names it */
	bool weak;
	uint64_t sites, old_sites, old_site;
	double share; /* of the run's total: the change that counts most, negative = less */
	int64_t old[DIFF_FIGURES], new[DIFF_FIGURES], delta[DIFF_FIGURES];
	int64_t over; /* where the peaks are of different phases: how far the peak is beyond what
			 the other run's sites ever held; else DELTA_UNKNOWN */
	struct limits (*ranges)[3]; /* old, new, delta by figure; NULL = nothing to say */
};

struct diff_total {
	const char *figure;
	int64_t old, new, delta;
	struct limits of_old, of_new, of_delta;
	bool significant;
};

struct diff_run {
	bool old, reference, complete;
	const char *name, *exe;
	uint64_t started_ns, events_lost, sampled_bytes;
};

/* Sums over the rows of a kind, the figures that the kind is about: of new ones the new, of gone
 * ones the old, of the others the changes (of shrunk ones as they are, negative). */
struct diff_sum {
	uint64_t sites, significant;
	int64_t figures[DIFF_FIGURES];
};

/* Rows in the order of people's interest: `significant` of them, the first, are more than noise; of
 * those that changed, but not by more, `noise` are the changes. */
struct diff_rows {
	const struct diff_row *v;
	size_t n, significant;
	struct diff_sum noise;
};

struct diff {
	const char *old, *new, *old_point, *new_point, *per; /* per: NULL = not asked */
	const char *history; /* options that chose the old runs of a dataset, or NULL */
	uint64_t old_runs, new_runs, old_operations, new_operations;
	const char *nameless[2]; /* old, new: modules that have symbols on the other side only, or
				    NULL */
	bool old_missing, same_program;
	bool peak_moved; /* to another phase: rows have `over` */
	MS_ARRAY(struct diff_row)
	rows; /* significant growth first, then what shrank so, then the others */
	MS_ARRAY(struct diff_total) totals;
	MS_ARRAY(struct diff_run) runs;
	size_t significant; /* rows that are so; they come first */
	const char **known; /* by site: the verdict that the old runs have on its place, so that its
			       own is no finding of the comparison; "unknown" = nobody looked
			       there; NULL = none */
	struct diff_sum kinds[DIFF_KINDS];
	struct diff_sum renamed, noise; /* rows matched by other names; changed, but not by more
					   than noise: then `figures` are changes */
	unsigned level;                 /* bits by figure: changes of all rows add up to 0 */
	uint64_t hidden_sites;
	int64_t hidden_delta[DIFF_FIGURES];
	struct diff_rows folded; /* of diff_shown */
};

/* Reads the comparison into m->diff, after the model was loaded; nothing when there is none. 0, or -1
 * with `err` set; diff_free in both cases, before model_free. */
int diff_read(struct model *m, struct ms_err *err);
void diff_free(struct model *m);

void diff_sort(struct diff_row *v, size_t n);
void diff_sum_add(struct diff_sum *s, const struct diff_row *x, const int64_t *figures);

/* The rows for people; `folded`: those of sites that differ only in the rounds of a recursion (recursion.h)
 * are one, with the sums of all. Lives as long as the model. */
struct diff_rows diff_shown(struct model *m, bool folded);
/* Lists what is unreachable at the end of the new runs at places where the old ones lost nothing,
 * by its roots; an empty list when all of it is among the first `n` of `rows`. */
struct list diff_newly_lost(struct model *m, const struct diff_rows *rows, size_t n, size_t limit);

/* Did what that place holds change by more than noise? What it allocated? */
static inline bool diff_held(const struct diff_row *x)
{
	return x->changed & (1U << DIFF_LIVE | 1U << DIFF_PEAK);
}
static inline bool diff_churned(const struct diff_row *x)
{
	return x->changed & (1U << DIFF_ALLOCATIONS | 1U << DIFF_ALLOCATED);
}
/* Tells whether a place got more, by more than noise, of a figure that makes a change. A figure
 * whose changes over all rows add up to 0 does not count. */
bool diff_grew(const struct diff *d, const struct diff_row *x);

/* The change of a figure that a place is to blame for. */
static inline int64_t diff_blame(const struct diff_row *x, enum diff_figure f)
{
	return f == DIFF_PEAK && x->over != DELTA_UNKNOWN ? x->over : x->delta[f];
}

/* Did the run as a whole, in these figures? */
bool diff_changed(const struct diff *d);

/* The total of that name, or NULL. */
const struct diff_total *diff_total(const struct diff *d, const char *figure);
/* The first run that has no end or is damaged, or NULL. */
const struct diff_run *diff_cut_run(const struct model *m);

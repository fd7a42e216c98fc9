/* SPDX-License-Identifier: MIT
 * A comparison made by ms-diff, as arrays of changes.
 */
#pragma once

#include "libcommon/model/comparison.h"
#include "lists.h"
#include "libcommon/model/kept.h"

struct diff_row {
	const struct site *site;
	enum diff_kind kind;
	bool significant;
	const char *matched, *evidence, *figures; /* NULL = none */
	unsigned changed;                         /* bit set of the figures that `figures` names */
	bool weak;
	uint64_t sites, old_sites, old_site;
	double share; /* largest change that counts, as a share of the run's total; negative = a
			 decrease */
	int64_t old[DIFF_FIGURES], new[DIFF_FIGURES], delta[DIFF_FIGURES];
	int64_t over; /* for peaks in different phases: change from the maximum that the other run's
			 sites ever held; else DELTA_UNKNOWN */
	struct limits (*ranges)[3]; /* old, new, delta of each figure; NULL = no ranges */
};

struct diff_total {
	const char *figure;
	int64_t old, new, delta;
	struct limits of_old, of_new, of_delta;
	bool significant;
};

/* Describes what a keeper, or a set (kind "shared"), keeps more or less than before. */
struct kept_change {
	const struct site *site; /* the blocks of this site, directly below the last keeper; NULL =
				    of a keeper */
	struct keeper keeper;    /* of a site only its type */
	int64_t old, new, delta, old_blocks, new_blocks, delta_blocks; /* retained bytes, blocks */
	const struct site *below; /* site below it whose blocks grew most, or NULL */
	int64_t below_bytes;      /* by how much */
	const char *below_type;   /* type of these blocks; NULL = not known */
};

struct diff_run {
	bool old, reference, complete;
	const char *name, *exe;
	uint64_t started_ns, events_lost, sampled_bytes;
};

/* Holds sums over the rows of one kind: the new values of new rows, the old values of gone rows,
 * else the changes (negative for shrunk rows). */
struct diff_sum {
	uint64_t sites, significant;
	int64_t figures[DIFF_FIGURES];
};

/* Holds rows, the most relevant first: the first `significant` rows changed by more than noise;
 * `noise` sums up the rows that changed within noise. */
struct diff_rows {
	const struct diff_row *v;
	size_t n, significant;
	struct diff_sum noise;
};

struct diff {
	const char *old, *new, *old_point, *new_point, *per; /* per: NULL = not requested */
	const char *history; /* options that chose the old runs of a dataset, or NULL */
	uint64_t old_runs, new_runs, old_operations, new_operations;
	const char *nameless[2]; /* modules that have symbols only on the other side, or NULL */
	bool old_missing, same_program;
	bool peak_moved; /* the peaks are in different phases; `over` is set in rows */
	MS_ARRAY(struct diff_row)
	rows; /* significant growth first, then significant decreases, then the others */
	MS_ARRAY(struct diff_total) totals;
	MS_ARRAY(struct diff_run) runs;
	MS_ARRAY(struct kept_change) kept; /* the largest increase first */
	uint64_t min_change;               /* smaller changes are not significant */
	size_t significant;                /* number of significant rows; they come first */
	const char **known; /* by site: the old runs' verdict on it, if it is not a new finding;
			       "unknown" = the old runs were not scanned; NULL = none */
	struct diff_sum kinds[DIFF_KINDS];
	struct diff_sum renamed, noise; /* renamed: rows matched by other names; noise: changes
					   within noise */
	unsigned level;                 /* bit set of figures whose changes add up to 0 over all
					   rows */
	uint64_t hidden_sites;
	int64_t hidden_delta[DIFF_FIGURES];
	struct diff_rows folded; /* made by diff_shown */
};

/* Reads the comparison, if there is one, into m->diff. Call it once the model is loaded. Returns 0,
 * or -1 with `err` set. Call diff_free in both cases, before model_free. */
int diff_read(struct model *m, struct ms_err *err);
void diff_free(struct model *m);

void diff_sort(struct diff_row *v, size_t n);
void diff_sum_add(struct diff_sum *s, const struct diff_row *x, const int64_t *figures);

/* Returns the rows to show. `folded`: sites that differ only in the rounds of a recursion
 * (recursion.h) are one row with their sums. The result lives as long as the model. */
struct diff_rows diff_shown(struct model *m, bool folded);
/* Lists unreachable memory at the end of the new runs, at sites that leaked nothing in the old
 * runs. Memory reachable only from a lost block is counted at that block's site. Empty if the first
 * `n` of `rows` include all of these sites. */
struct list diff_newly_lost(struct model *m, const struct diff_rows *rows, size_t n, size_t limit);

/* Tell whether a row's live or peak figures, or what it allocated, changed by more than noise. */
static inline bool diff_held(const struct diff_row *x)
{
	return x->changed & (1U << DIFF_LIVE | 1U << DIFF_PEAK);
}
static inline bool diff_churned(const struct diff_row *x)
{
	return x->changed & (1U << DIFF_ALLOCATIONS | 1U << DIFF_ALLOCATED);
}
/* Tells whether one of a row's figures in counted[] (diff.c) grew by more than noise. Ignores
 * figures whose changes add up to 0 over all rows. */
bool diff_grew(const struct diff *d, const struct diff_row *x);

/* Returns a row's change of a figure; for the peak, `over` if the peaks are in different phases. */
static inline int64_t diff_blame(const struct diff_row *x, enum diff_figure f)
{
	return f == DIFF_PEAK && x->over != DELTA_UNKNOWN ? x->over : x->delta[f];
}

/* Tells whether the total of a figure in counted[] (diff.c) changed by more than noise. */
bool diff_changed(const struct diff *d);

/* Returns the total of a figure by its name, or NULL. */
const struct diff_total *diff_total(const struct diff *d, const char *figure);
/* Returns the first run whose trace has no end or is damaged, or NULL. */
const struct diff_run *diff_cut_run(const struct model *m);

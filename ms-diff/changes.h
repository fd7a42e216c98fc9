/* SPDX-License-Identifier: MIT
 * Rows of matched spots as changes of figures.
 */
#pragma once

#include "match.h"
#include "noise.h"
#include "open.h"

/* Holds a figure by side: its values in the runs that are shown, its range over all runs, how sure
 * it is. */
struct figure_change {
	int64_t values[2], delta;
	struct limits ranges[2], sampled[2], delta_sampled;
	bool significant;
};

struct change {
	const struct row *row;
	enum diff_kind kind;
	struct figure_change figures[DIFF_FIGURES];
	size_t sites[2];  /* of the runs that are shown */
	uint32_t site[2]; /* index of the one with most live bytes, or NONE */
	double share;     /* of what the whole run has of a figure: the change that counts most */
	int64_t most[2];  /* bytes that the sites of the runs that are shown ever held */
	int64_t over;     /* where the peaks are of different phases: the change from what the other
			     run's sites ever held to this one's peak, 0 = within that; else
			     DELTA_UNKNOWN */
	bool ever[2];     /* some run of that side has it */
	const char *old_verdict; /* the worst of the old runs at their ends; "unknown" where blocks
				    were live and nobody looked, NULL where none were */
};

/* Did live or peak bytes, or what was allocated, change by more than noise? */
bool change_counts(const struct change *c);

/* Are blocks there that nothing points to, or that grow, no finding of this comparison? */
bool change_is_known(const struct change *c);

struct changes {
	struct ms_arena arena; /* the caller's to free */
	struct change *v;      /* those that one of the runs shown has */
	size_t n;
	bool moved; /* the peaks are of different phases */
	struct figure_change totals[TOTALS];
};

/* `least`: bytes below which nothing is significant. */
void changes_make(struct changes *c, const struct matching *m, const struct opened *runs,
		  int64_t least);
/* Is there growth of these beyond noise, in all, or of a site where the changes of all sites do not
 * add up to 0? */
bool changes_grew(const struct changes *c);
/* How many of which nobody can tell whether they changed. */
size_t changes_unmatched(const struct changes *c);

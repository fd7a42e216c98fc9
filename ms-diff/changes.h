/* SPDX-License-Identifier: MIT
 * Computes the changes of figures for rows of matched spots.
 */
#pragma once

#include "match.h"
#include "noise.h"
#include "open.h"

/* Holds a figure by side: values in the runs shown, ranges over all runs, and confidence intervals.
 */
struct figure_change {
	int64_t values[2], delta;
	struct limits ranges[2], sampled[2], delta_sampled;
	bool significant;
};

struct change {
	const struct row *row;
	enum diff_kind kind;
	struct figure_change figures[DIFF_FIGURES];
	size_t sites[2];         /* number of sites in the runs shown */
	uint32_t site[2];        /* index of the site with most live bytes, or NONE */
	double share;            /* most important change, as a share of the whole run's figure */
	int64_t most[2];         /* maximum bytes that the sites of the runs shown ever held */
	int64_t over;            /* if the peaks are in different phases: excess of this run's peak
				    bytes over the maximum that the other run's sites ever held
				    (negative for the old run's excess; 0 = no excess); else
				    DELTA_UNKNOWN */
	bool ever[2];            /* present in some run of that side */
	const char *old_verdict; /* worst verdict of the leak scans at the end of the old runs;
				    "unknown" if blocks were live but not scanned, NULL if none were
				    live */
};

/* Tells whether live bytes, peak bytes or allocations changed by more than noise. */
bool change_counts(const struct change *c);

/* Tells whether the old runs, too, had leaked or growing blocks at these sites. */
bool change_is_known(const struct change *c);

struct changes {
	struct ms_arena arena; /* freed by the caller */
	struct change *v;      /* changes of rows that are in one of the runs shown */
	size_t n;
	bool moved; /* the peaks are of different phases */
	struct figure_change totals[TOTALS];
};

/* Computes the changes. `least`: bytes below which no change is significant. */
void changes_make(struct changes *c, const struct matching *m, const struct opened *runs,
		  int64_t least);
/* Tells whether held bytes or allocations grew beyond noise, in total or at a site. A site counts
 * only if the changes of all sites do not add up to 0. */
bool changes_grew(const struct changes *c);
/* Returns the number of sites for which it is not known whether they changed. */
size_t changes_unmatched(const struct changes *c);

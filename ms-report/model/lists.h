/* SPDX-License-Identifier: MIT
 * The largest sites by a figure, and the sums of the rest.
 */
#pragma once

#include "libcommon/model/model.h"

enum metric {
	METRIC_LIVE,        /* live bytes and blocks at the moment of the report */
	METRIC_PEAK,        /* live bytes and blocks at the peak */
	METRIC_ALLOCATED,   /* allocated bytes and calls of the whole run */
	METRIC_ALLOCATIONS, /* calls and allocated bytes of the whole run */
	METRIC_TEMPORARY,   /* number of temporary allocations, and of all allocations */
	METRIC_FAILED,      /* number of failed calls (null returned), and of all allocations */
	METRIC_MAPPED, /* address space held at the moment of the report; calls that mapped any */
	METRIC_COUNT,
	/* only on the first screen, at the end of a scanned process: */
	METRIC_UNREACHABLE, /* unreachable bytes and blocks, including those lost with them */
	METRIC_LATE,        /* bytes and blocks that were allocated after the scan */
	METRIC_HELD,        /* live bytes and blocks except METRIC_UNREACHABLE and METRIC_LATE */
	METRIC_GROWING, /* bytes and blocks at the peak, of sites with a growing trend, or in a run
			   too short for trends, of sites that kept their blocks */
	METRIC_GROWING_NOW, /* as METRIC_GROWING, but live now, if the process still runs */
	METRIC_GROWN,       /* as METRIC_GROWING, but the maximum of each site, if too little of the
			       growth was live at the peak */
	METRIC_RISEN,       /* rise of each site in bytes, if its maximum is not known; no second
			       figure */
	METRIC_CHURN,       /* calls and bytes of the whole run, of sites with short-lived blocks */
	METRIC_LISTS
};

/* Lists the spelling of each metric in --metric. */
extern const char *const metric_names[METRIC_COUNT];
/* Tells whether the first figure of a metric is in bytes. */
bool metric_is_bytes(enum metric metric);
/* Tells whether a metric is about growing sites. */
bool metric_is_growth(enum metric metric);

/* Holds the two figures of a metric; lists are sorted by `a`. */
struct pair {
	uint64_t a, b;
	bool estimated;
	struct ms_spread ea, eb; /* spreads of `a` and `b`, if these are estimates */
};
/* Return the spread of a figure; NULL = it is exact. */
const struct ms_spread *pair_ea(const struct pair *v);
const struct ms_spread *pair_eb(const struct pair *v);
struct pair pair_add(struct pair x, struct pair y);
struct pair site_pair(const struct site *s, enum metric metric);
/* Counts the sites of a row: those with any nonzero figure of a metric, and those whose first
 * figure is nonzero. */
struct row_sites {
	size_t any, first;
};
struct row_sites row_sites(const struct model *m, const struct site *s, enum metric metric);
/* Return the figures of a metric for the whole run, and for what filters hide. */
struct pair total_pair(const struct model *m, enum metric metric);
struct pair hidden_pair(const struct model *m, enum metric metric);

/* Tells whether a row is site `s` or includes it. */
bool site_stands_for(const struct model *m, const struct site *row, const struct site *s);
/* Tells whether nearly all of a site's blocks are unreachable, so that probably a stale pointer
 * keeps the few others reachable. */
bool site_is_leak(const struct site *s);

/* Lists the kinds of rows: a single site, or all sites of one function, file and so on
 * (grouped.h). */
enum grouped {
	GROUPED_NOT,
	GROUPED_FUNCTION,
	GROUPED_FILE,
	GROUPED_DIRECTORY,
	GROUPED_NAMESPACE,
	GROUPED_MODULE,
	GROUPED_COUNT
};

/* Tells whether lists of a metric have only sites whose first figure is not 0. */
static inline bool list_is_of_some(enum metric metric)
{
	return metric >= METRIC_TEMPORARY && metric < METRIC_COUNT;
}

/* Holds a list. Its invariant: total = sum of rows + more + none + hidden + leaked + other. */
struct list {
	enum metric metric;
	const struct site **rows; /* largest first, then by number */
	size_t n;                 /* rows shown */
	size_t all;               /* sites with a figure other than 0 */
	size_t with;              /* sites whose first figure is not 0 */
	size_t shown;       /* sites in rows and leaks; a folded row counts as several sites */
	size_t shown_with;  /* sites counted in `shown` whose first figure is not 0 */
	size_t more_sites;  /* sites that are not shown */
	size_t none_sites;  /* other sites that are not shown; their first figure is 0 */
	struct live *still; /* by row: reachable blocks of its leaks; NULL = not filled in */
	/* METRIC_HELD: rows that are reported with their leaks instead, their number and that of
	 * their sites */
	const struct site **leaks;
	size_t leak_rows, leak_sites;
	const char *title; /* NULL = the title of its metric */
	bool verdicts;     /* some live row has a verdict, so that there is a column for it */
	enum grouped by;
	size_t depth;                 /* GROUPED_DIRECTORY: level of the directories */
	size_t groups;                /* number of groups with a figure other than 0 */
	const struct site *const *of; /* list_some: the sites listed; NULL = all sites */
	size_t of_n;                  /* number of sites in `of` */
	struct pair sum, more, none, hidden, leaked, other, total; /* sum: total of the rows */
};

/* Makes a list of at most `limit` sites. `other` is what belongs to no site: 0 unless the snapshot
 * does not add up. Lives in the model's arena. */
struct list list_sites(struct model *m, enum metric metric, size_t limit);
/* Makes a list of at most `limit` rows from `n` rows, in any order, that together include all
 * sites. */
struct list list_of_rows(struct model *m, const struct site *const *sites, size_t n,
			 enum metric metric, size_t limit);
/* Makes a list of at most `limit` rows, in which sites whose stacks differ only in the rounds of a
 * recursion are one row (recursion.h). */
struct list list_folded(struct model *m, enum metric metric, size_t limit);
/* Makes a list from `n` sites, in any order, which are copied; its total is their sum. */
struct list list_some(struct model *m, const struct site *const *sites, size_t n,
		      enum metric metric, size_t limit);
/* Fills in l->still of a list of METRIC_UNREACHABLE from held->leaks of a list of METRIC_HELD. Each
 * leak is counted in the row of its site, else in the row of the site whose blocks retain the leak,
 * else in element `n`. */
void list_tell_still(struct model *m, struct list *l, const struct list *held);
/* Makes a list of all sites, even those whose figures are 0; only `rows` and `n` are filled. */
struct list list_all(struct model *m, enum metric metric);

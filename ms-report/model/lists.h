/* SPDX-License-Identifier: MIT
 * The largest sites by some figure, and what the rest adds up to.
 */
#pragma once

#include "libcommon/model/model.h"

enum metric {
	METRIC_LIVE,        /* bytes and blocks live at the moment looked at */
	METRIC_PEAK,        /* the same at the peak */
	METRIC_ALLOCATED,   /* bytes and calls of the whole run */
	METRIC_ALLOCATIONS, /* calls and bytes of the whole run */
	METRIC_TEMPORARY,   /* temporary allocations and all allocations */
	METRIC_FAILED,      /* calls that returned null and all allocations */
	METRIC_MAPPED, /* address space held at the moment looked at, and the calls that took any */
	METRIC_COUNT,
	/* of the first screen, at the end of a process that was scanned: */
	METRIC_UNREACHABLE, /* bytes and blocks that nothing points to, with what is lost with them */
	METRIC_LATE,        /* those that came after the scan */
	METRIC_HELD,        /* live ones but those */
	METRIC_GROWING, /* at the peak, of sites whose trend is growing; or, of a run that was too
			       short for trends, that kept what they allocated all along */
	METRIC_GROWING_NOW, /* those of what is live, while it is recorded */
	METRIC_GROWN,       /* each of those at its own largest, where the peak came before; */
	METRIC_RISEN,       /* by how much each rose, where that is not known; no second figure */
	METRIC_CHURN, /* calls and bytes of the whole run, of sites whose blocks live shortly */
	METRIC_LISTS
};

/* The spelling of --metric, and what `a` counts. */
extern const char *const metric_names[METRIC_COUNT];
/* Is the first figure of a metric a number of bytes? */
bool metric_is_bytes(enum metric metric);
/* Tells whether a metric is of what grows. */
bool metric_is_growth(enum metric metric);

/* The two figures of a metric: it sorts by `a`. */
struct pair {
	uint64_t a, b;
	bool estimated;
	struct ms_spread ea, eb; /* what they rest on, if they are estimates */
};
/* Those, or NULL. */
const struct ms_spread *pair_ea(const struct pair *v);
const struct ms_spread *pair_eb(const struct pair *v);
struct pair pair_add(struct pair x, struct pair y);
struct pair site_pair(const struct site *s, enum metric metric);
/* Sites that a row stands for which have anything to show of a metric, or a first figure. */
struct row_sites {
	size_t any, first;
};
struct row_sites row_sites(const struct model *m, const struct site *s, enum metric metric);
/* The figure of everything, of what filters hide. */
struct pair total_pair(const struct model *m, enum metric metric);
struct pair hidden_pair(const struct model *m, enum metric metric);

/* Tells whether a row is that site, or stands for it. */
bool site_stands_for(const struct model *m, const struct site *row, const struct site *s);
/* Tells whether nearly all of a site's blocks are lost, so that a stale pointer is likely to keep
 * the few others. */
bool site_is_leak(const struct site *s);

/* Tells what a row of a list stands for: a site, or all sites of one of these (grouped.h). */
enum grouped {
	GROUPED_NOT,
	GROUPED_FUNCTION,
	GROUPED_FILE,
	GROUPED_DIRECTORY,
	GROUPED_NAMESPACE,
	GROUPED_MODULE,
	GROUPED_COUNT
};

/* Lists of these are of sites of which the first figure is not 0. */
static inline bool list_is_of_some(enum metric metric)
{
	return metric >= METRIC_TEMPORARY && metric < METRIC_COUNT;
}

/* total = sum of rows + more + none + hidden + leaked + other, always. */
struct list {
	enum metric metric;
	const struct site **rows; /* largest first, then by number */
	size_t n;                 /* rows shown */
	size_t all;               /* sites that have anything to show */
	size_t with;              /* those of which the first figure is not 0 */
	size_t shown; /* sites that rows, or those of leaks, stand for: more where some are folded, */
	size_t shown_with; /* and those of them of which the first figure is not 0 */
	size_t more_sites; /* not shown; */
	size_t none_sites; /* and those of them, not among these, that have nothing of what the list is of */
	struct live *still; /* by row, what is still reached of a leak; NULL = is not told */
	/* of what is held: rows and sites that are told with their leaks */
	const struct site **leaks;
	size_t leak_rows, leak_sites;
	const char *title; /* what it is called; NULL = by its metric */
	bool verdicts;     /* has a column for them: of what is live, where a row has one */
	enum grouped by;
	size_t depth;                 /* of GROUPED_DIRECTORY: level */
	size_t groups;                /* number of groups that have anything to show */
	const struct site *const *of; /* of list_some: the sites that it is of; NULL = all, */
	size_t of_n;                  /* how many */
	struct pair sum, more, none, hidden, leaked, other, total; /* sum: of the rows */
};

/* At most `limit` sites. `other` is what belongs to no site: nothing, unless the snapshot does not
 * add up. Lives in the model's arena. */
struct list list_sites(struct model *m, enum metric metric, size_t limit);
/* Makes a list of `n` rows, in any order, that together stand for all sites. */
struct list list_of_rows(struct model *m, const struct site *const *sites, size_t n,
			 enum metric metric, size_t limit);
/* Makes a list in which sites whose stacks differ only in the rounds of a recursion are one row
 * (recursion.h), of at most `limit` rows. */
struct list list_folded(struct model *m, enum metric metric, size_t limit);
/* Makes a list of `n` sites, copied, in any order; the total is theirs. */
struct list list_some(struct model *m, const struct site *const *sites, size_t n,
		      enum metric metric, size_t limit);
/* Fills in `still` of a list of METRIC_UNREACHABLE: what `held`, a list of METRIC_HELD, leaves
 * out, by the row that is of its site, or of the site that its blocks are lost with. */
void list_tell_still(struct model *m, struct list *l, const struct list *held);
/* Every site, those with nothing of the metric too; only `rows` and `n` are filled. */
struct list list_all(struct model *m, enum metric metric);

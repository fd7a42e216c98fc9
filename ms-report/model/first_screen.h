/* SPDX-License-Identifier: MIT
 * The groups of the first screen in their order, the most important first, for any format.
 */
#pragma once

#include "lists.h"

/* Lists the groups of the first screen; the metric of a list identifies its group. METRIC_CHURN
 * (churn.h), or METRIC_ALLOCATIONS if no line churns: the most frequent calls. METRIC_ALLOCATED:
 * the site with the most allocated bytes. These two lists have only one row. */
#define FIRST_GROUPS 8
struct first_screen {
	struct list lists[FIRST_GROUPS];
	size_t n;
	size_t kept;   /* index of the list in front of which is said what keeps blocks alive */
	bool tidy;     /* nothing is unreachable: the peak's list precedes that of live memory */
	bool churning; /* the lists of calls and allocated bytes precede peak and live */
	bool both;     /* one row has the most calls and the most allocated bytes */
};

/* Tells whether a list is the one of the most frequent calls, or of the most allocated bytes. */
static inline bool first_screen_is_most(const struct list *l)
{
	return l->metric == METRIC_CHURN || l->metric == METRIC_ALLOCATIONS ||
	       l->metric == METRIC_ALLOCATED;
}

/* Tells whether a list is one of growing sites. */
static inline bool first_screen_is_growing(const struct list *l)
{
	return metric_is_growth(l->metric);
}

/* Makes the groups, with at most `limit` rows in each list; `fold`: recursion is folded
 * (recursion.h). */
struct first_screen first_screen_groups(struct model *m, size_t limit, bool fold);

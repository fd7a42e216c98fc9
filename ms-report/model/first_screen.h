/* SPDX-License-Identifier: MIT
 * The groups of the first screen in their order, the most important first, for any format.
 */
#pragma once

#include "lists.h"

/* Lists the groups of the first screen, each a list that its metric identifies. METRIC_CHURN
 * (churn.h), or METRIC_ALLOCATIONS without one, is for the most frequent calls, METRIC_ALLOCATED
 * for the site with the most allocated bytes; both lists have one row, and none for the rest. */
#define FIRST_GROUPS 8
struct first_screen {
	struct list lists[FIRST_GROUPS];
	size_t n;
	bool tidy;     /* nothing is unreachable: the peak's list precedes the live one */
	bool churning; /* the lists of calls and of allocated bytes precede both */
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

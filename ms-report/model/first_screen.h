/* SPDX-License-Identifier: MIT
 * The groups of the first screen in their order, for any format: the answer first.
 */
#pragma once

#include "lists.h"

/* Each is a list by its metric. METRIC_CHURN (churn.h), or METRIC_ALLOCATIONS where there
 * is none, and METRIC_ALLOCATED stand for what is called most, and the site that allocated most, with
 * a row each, without what else there is. */
#define FIRST_GROUPS 8
struct first_screen {
	struct list lists[FIRST_GROUPS];
	size_t n;
	bool tidy;     /* nothing is unreachable: the peak comes before what is live */
	bool churning; /* so do those two */
	bool both;     /* one of them is, or has, the other */
};

/* Is it one of those two? */
static inline bool first_screen_is_most(const struct list *l)
{
	return l->metric == METRIC_CHURN || l->metric == METRIC_ALLOCATIONS ||
	       l->metric == METRIC_ALLOCATED;
}

/* Tells whether it lists what grows. */
static inline bool first_screen_is_growing(const struct list *l)
{
	return metric_is_growth(l->metric);
}

/* At most `limit` rows of each list; `fold`: recursion is folded (recursion.h). */
struct first_screen first_screen_groups(struct model *m, size_t limit, bool fold);

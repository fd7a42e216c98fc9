/* SPDX-License-Identifier: MIT
 * The line of code that allocates the most short-lived blocks.
 */
#pragma once

#include "lists.h"

/* Returns a list with METRIC_CHURN and one row: the function and line with the most blocks that
 * were freed soon, if these are at least half of its blocks. The row sums up all sites of the line.
 * The list is empty if the blocks are less than a twentieth of all calls, or their number is not
 * known. */
struct list churn_list(struct model *m);

/* SPDX-License-Identifier: MIT
 * The line of code that allocates the most short-lived blocks.
 */
#pragma once

#include "lists.h"

/* Returns a list with METRIC_CHURN and one row: the function and line with the most blocks that
 * were freed soon, among those whose blocks were freed soon by half or more; the row sums up all
 * its sites. Empty if these blocks are less than a twentieth of all calls, or not known. */
struct list churn_list(struct model *m);

/* SPDX-License-Identifier: MIT
 * The line of code that makes most short-lived blocks.
 */
#pragma once

#include "lists.h"

/* Returns a list with METRIC_CHURN and one row: the sum of all sites of one function and line at
 * least half of whose blocks were freed soon, namely the line with the most such blocks. Empty if
 * these are less than a twentieth of all calls, or not known. */
struct list churn_list(struct model *m);

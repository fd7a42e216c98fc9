/* SPDX-License-Identifier: MIT
 * The line of code that makes most short-lived blocks.
 */
#pragma once

#include "lists.h"

/* METRIC_CHURN with one row: the sum of all sites of one function and line, of whose blocks half or
 * more were freed soon, and which has the most of these. Empty where they are less than a twentieth
 * of all calls, or not known. */
struct list churn_list(struct model *m);

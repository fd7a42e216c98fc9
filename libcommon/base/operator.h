/* SPDX-License-Identifier: MIT
 * Comparisons in options: "peak_bytes >= 64k" of budgets, "rss > 2GiB" of conditions.
 */
#pragma once

#include <stdbool.h>

enum ms_op { MS_OP_GT, MS_OP_GE, MS_OP_LT, MS_OP_LE, MS_OP_EQ, MS_OP_NE };

/* Reads the operator (>, >=, <, <=, =, == or !=) at which *s points, and moves *s behind it.
 * Returns false if there is none. */
bool ms_op_read(const char **s, enum ms_op *op);
/* Tells whether the comparison of `v` with `limit` is true. */
bool ms_op_holds(enum ms_op op, long double v, long double limit);

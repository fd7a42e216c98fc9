/* SPDX-License-Identifier: MIT
 * Budgets: "unfreed_bytes > 64k" and whether a recording breaks them.
 */
#ifndef REPORT_BUDGET_H
#define REPORT_BUDGET_H

#include "model.h"

struct ms_err;

enum budget_op { BUDGET_GT, BUDGET_GE, BUDGET_LT, BUDGET_LE, BUDGET_EQ, BUDGET_NE };

struct budget {
	const char *text; /* as typed; borrowed */
	size_t figure;    /* index into figures[] */
	enum budget_op op;
	uint64_t value;
};

enum budget_result { BUDGET_HELD, BUDGET_BROKEN, BUDGET_UNDECIDED };

/*     budget = figure op number
 *     figure = a name of "totals" in the JSON report
 *     op     = ">" | ">=" | "<" | "<=" | "==" | "=" | "!="
 *     number = digits [ "." digits ] [ unit ]     k, M, G, T for bytes; ns, us, ms, s, m, h for
 * times (bare: ns); counts have no unit with blanks anywhere between. The budget is broken when the
 * comparison is true. 0, or -1 with `err` set. */
int budget_parse(const char *text, struct budget *b, struct ms_err *err);

/* Undecided when the figure is not known. */
enum budget_result budget_check(const struct budget *b, const struct totals *t);
/* The figure it asks about. */
uint64_t budget_value(const struct budget *b, const struct totals *t);

#endif

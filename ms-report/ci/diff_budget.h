/* SPDX-License-Identifier: MIT
 * Budgets about what changed: "delta_unfreed_bytes > 64k", "delta_allocations > 2 %", "new_sites >
 * 0".
 */
#ifndef REPORT_DIFF_BUDGET_H
#define REPORT_DIFF_BUDGET_H

#include "budget.h"

/* ---- diff_grammar.c ----
 *
 *     figure = "delta_" and a name of "totals" in the JSON report, "delta_live_bytes",
 *              "delta_live_blocks"; "new_", "gone_", "grown_", "shrunk_" and "sites" or a figure
 *              of a site; "unchanged_sites", "renamed_sites", "unmatched_sites". After site():
 *              "delta_" and a figure of a site, summed over those of the pattern
 *     number = [ "+" | "-" ] digits [ "." digits ] [ unit | "%" ]     a sign for changes only,
 *              per cent of the old figure for delta_ only */

/* Takes such a figure at *s. False: there is none. */
bool diff_budget_figure(const char **s, struct budget *b);
/* Takes the number, all of `s`. 0, or -1 with `err` set. */
int diff_budget_number(const char *s, struct budget *b, struct ms_err *err);

/* ---- diff_budget.c ---- */

/* What it is; false: not known, or nothing was compared. */
bool diff_budget_value(const struct budget *b, struct model *m, int64_t *v);
enum budget_result diff_budget_check(const struct budget *b, struct model *m);
/* The place with most of it, or NULL. */
const struct site *diff_budget_worst(const struct budget *b, struct model *m);
/* "+66560 (+65.0 KiB)" */
const char *diff_budget_amount(const struct budget *b, struct model *m);
/* Did it pass because there is no old run, which was allowed? */
bool diff_budget_waived(const struct budget *b, const struct model *m);

/* For a table of figures: is a budget about that total, or its change? */
bool budget_is_about(const struct budget *b, const char *total);
/* What it lets pass: "<= +1.0 MiB". */
const char *budget_allows(const struct budget *b, struct model *m, bool ascii);

#endif

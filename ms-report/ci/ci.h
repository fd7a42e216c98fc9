/* SPDX-License-Identifier: MIT
 * Room ci: what a build is told.
 *   In:  budgets as typed (budget.h, diff_budget.h), and the model.
 *   Out: whether they hold; findings (findings.h) as SARIF, JUnit and GitHub have them.
 *   Used by: cli and main.c for --fail-on; diff for the budgets in a comment.
 *
 * The formats that continuous integration reads.
 */
#ifndef REPORT_CI_H
#define REPORT_CI_H

#include "findings.h"

struct out;
struct page;

/* SARIF 2.1.0: a result for each finding, with its whole call stack. */
void sarif_report(struct page *p, struct out *o, const struct findings *f);
/* JUnit XML: a test case for each budget, and one for the recording itself. What is found besides
 * is said in its output: it fails nothing, as it does not change the exit status. */
void junit_report(struct page *p, struct out *o, const struct findings *f);
/* GitHub's workflow commands, a line for each finding, at most `limit` of a kind. */
void github_report(struct page *p, struct out *o, const struct findings *f, size_t limit);

/* ---- what they share ---- */

/* A frame as a line of text: "orderd::Parser::dup (src/parser.cpp:218)", cleaned. */
const char *ci_frame(struct page *p, const struct frame *f);
/* The frame of a node, which becomes its caller's; NULL: no more. */
const struct frame *ci_next(const struct model *m, uint32_t *node);

#endif

/* SPDX-License-Identifier: MIT
 * Room ci: what a build is told.
 *   In:  budgets as typed (budget.h), and the model.
 *   Out: whether they hold; findings as SARIF, JUnit and GitHub have them.
 *   Used by: cli and main.c for --fail-on; diff for the budgets in a comment.
 *
 * The formats for continuous integration.
 */
#pragma once

#include "budget.h"

struct findings;
struct out;
struct page;

/* Writes SARIF 2.1.0: one result per finding, with its whole call stack. */
void sarif_report(struct page *p, struct out *o, const struct findings *f);
/* Writes JUnit XML: one test case per budget, and one for the recording itself. Other findings are
 * only printed in its output and fail no test, because they do not change the exit status. */
void junit_report(struct page *p, struct out *o, const struct findings *f);
/* Writes GitHub's workflow commands: one line per finding, at most `limit` of each kind. */
void github_report(struct page *p, struct out *o, const struct findings *f, size_t limit);

/* ---- shared by the formats ---- */

/* Returns a frame as a line of text, cleaned: "orderd::Parser::dup (src/parser.cpp:218)". */
const char *ci_frame(struct page *p, const struct frame *f);

/* ---- findings.c ---- */

enum finding_rule {
	RULE_BUDGET,
	RULE_UNDECIDED,
	RULE_UNREACHABLE,
	RULE_GROWING,
	RULE_REGRESSION,
	RULE_INCOMPLETE,
	RULE_COUNT
};
enum finding_level { LEVEL_NOTE, LEVEL_WARNING, LEVEL_ERROR };
extern const char *const finding_levels[]; /* Names the levels as SARIF and GitHub do. */
extern const struct rule {
	const char *id, *name, *text; /* identifier for programs, heading, one sentence */
	enum finding_level level;
} finding_rules[RULE_COUNT];

struct finding {
	enum finding_rule rule;
	enum finding_level level;    /* a note if the old runs of a comparison have the finding
					too */
	const char *message;         /* one sentence, with names not yet cleaned */
	const struct site *site;     /* NULL = the whole run */
	const struct budget *budget; /* RULE_BUDGET and RULE_UNDECIDED: the budget; else NULL */
	bool compared;               /* the comparison is incomplete, not the recording */
	const char *key;             /* identifies the finding, the same in every build */
};

struct findings {
	struct finding *v; /* sorted by rule, then largest first */
	size_t n, cap;
	size_t budgets; /* number of budgets checked */
};

/* Collects the findings. `partial`: budgets are decided on incomplete figures too. Free with
 * free(v). */
struct findings findings_make(struct model *m, const struct budgets *budgets, bool partial);

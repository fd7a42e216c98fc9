/* SPDX-License-Identifier: MIT
 * Room ci: what a build is told.
 *   In:  budgets as typed (budget.h), and the model.
 *   Out: whether they hold; findings as SARIF, JUnit and GitHub have them.
 *   Used by: cli and main.c for --fail-on; diff for the budgets in a comment.
 *
 * The formats that continuous integration reads.
 */
#pragma once

#include "budget.h"

struct findings;
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
extern const char *const finding_levels[]; /* as SARIF and GitHub call them */
extern const struct rule {
	const char *id, *name, *text; /* for machines, a heading, a sentence */
	enum finding_level level;
} finding_rules[RULE_COUNT];

struct finding {
	enum finding_rule rule;
	enum finding_level level;    /* of a comparison: a note where the old runs have it too */
	const char *message;         /* one sentence, raw names in it */
	const struct site *site;     /* NULL = of the whole run */
	const struct budget *budget; /* of the first two rules */
	bool compared;               /* the comparison is incomplete, not the recording */
	const char *key;             /* the same in every build in which it is the same finding */
};

struct findings {
	struct finding *v; /* by rule, then largest first */
	size_t n, cap;
	size_t budgets; /* of all, how many the first two rules could be about */
};

/* `partial`: budgets are decided on incomplete figures too. Free with free(v). */
struct findings findings_make(struct model *m, const struct budgets *budgets, bool partial);

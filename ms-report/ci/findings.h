/* SPDX-License-Identifier: MIT
 * What a build should be told: broken budgets, leaks, growing sites, a recording that cannot be
 * trusted. The formats for CI write these.
 */
#ifndef REPORT_FINDINGS_H
#define REPORT_FINDINGS_H

#include "budget.h"

#include "ms-report/model/model.h"

enum finding_rule {
	RULE_BUDGET,
	RULE_UNDECIDED,
	RULE_UNREACHABLE,
	RULE_GROWING,
	RULE_REGRESSION,
	RULE_INCOMPLETE,
	RULE_COUNT
};
extern const struct rule {
	const char *id, *name, *text; /* for machines, a heading, a sentence */
	bool error;                   /* else a warning */
} finding_rules[RULE_COUNT];

struct finding {
	enum finding_rule rule;
	const char *message;         /* one sentence, raw names in it */
	const struct site *site;     /* NULL = of the whole run */
	const struct budget *budget; /* of the first two rules */
	const char *key;             /* the same in every build in which it is the same finding */
};

struct findings {
	struct finding *v; /* by rule, then largest first; in the model's arena */
	size_t n;
	size_t budgets; /* of all, how many the first two rules could be about */
};

/* `partial`: budgets are decided on incomplete figures too. */
struct findings findings_make(struct model *m, const struct budgets *budgets, bool partial);

#endif

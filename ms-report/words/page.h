/* SPDX-License-Identifier: MIT
 * What every writer of a report needs: the model, how names are shown, and what was asked for.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "links.h"
#include "names.h"

#include <stdbool.h>
#include <stdint.h>

struct answer;
struct budgets;
struct model;
struct site;

/* Rows of a list when no number was asked for: each view and format has its own. */
#define LIMIT_DEFAULT (SIZE_MAX - 1)

struct page {
	struct model *m;
	struct style style;
	const char *input;       /* as typed, for commands to type next; NULL = standard input */
	const struct site *site; /* of --site, or NULL */
	const struct answer *answer; /* of --sql, or NULL */
	struct links links;
	const struct budgets *budgets; /* of --fail-on and --budgets */
	bool partial;                  /* they are decided on incomplete figures too */
	bool gzip;                     /* what the output is named after wants it compressed */
};

#endif

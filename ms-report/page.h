/* SPDX-License-Identifier: MIT
 * What every writer of a report needs: the model, how names are shown, and what was asked for.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "links.h"
#include "names.h"

#include <stdbool.h>

struct answer;
struct budgets;
struct model;
struct site;

struct page {
	struct model *m;
	struct style style;
	const char *input;       /* as typed, for commands to type next; NULL = standard input */
	const struct site *site; /* of --site, or NULL */
	const struct answer *answer; /* of --sql, or NULL */
	struct links links;
	const struct budgets *budgets; /* NULL = none */
	bool partial;                  /* they are decided on incomplete figures too */
	bool gzip;                     /* what the output is named after wants it compressed */
};

#endif

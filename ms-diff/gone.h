/* SPDX-License-Identifier: MIT
 * Sites that are gone, copied from the old run's snapshot into the new one's.
 */
#ifndef DIFF_GONE_H
#define DIFF_GONE_H

#include "run.h"

enum gone_table { GONE_MODULE, GONE_FRAME, GONE_STACK, GONE_SITE, GONE_TABLES };

struct gone {
	const struct run *old, *new;
	sqlite3 *db; /* of the new run */
	struct ms_err *err;
	struct ms_arena arena;
	int64_t *modules, *frames, *nodes; /* row of each of the old run's, 0 = not copied */
	struct gone_copy {
		sqlite3_stmt *from, *to;
		int64_t last; /* id given */
	} tables[GONE_TABLES];
};

/* Begins copying. 0, or -1 with `err` set; gone_end in both cases. */
int gone_begin(struct gone *g, struct ms_err *err);
/* The id of the row that site `site` (index) of the old run gets, with figures 0, its stack, and a
 * process of the same program; or 0 with the error set. */
int64_t gone_add(struct gone *g, uint32_t site);
void gone_end(struct gone *g);

#endif

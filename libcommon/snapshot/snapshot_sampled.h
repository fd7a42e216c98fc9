/* SPDX-License-Identifier: MIT
 * The rows of a sampled recording.
 */
#ifndef MS_SNAPSHOT_SAMPLED_H
#define MS_SNAPSHOT_SAMPLED_H

#include "snapshot_private.h"

/* One process whose other rows are in the database. */
struct ms_sampled_rows {
	struct ms_filling *f;
	const struct ms_replay *r; /* r->sampled is not NULL */
	int64_t process;           /* row ids */
	const int64_t *row_of_site, *row_of_thread;
	const struct ms_kept_point *points; /* of f->labels */
	int64_t first_snapshot;             /* row of the first of them that is not absent */
	uint64_t tick_ns;
};

/* Corrects them, and fills table estimate. 0, or -1 with f->err set. */
int ms_fill_sampled(const struct ms_sampled_rows *to);

#endif

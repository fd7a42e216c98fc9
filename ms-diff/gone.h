/* SPDX-License-Identifier: MIT
 * Sites that are gone, copied from the old run's snapshot into the new one's.
 */
#pragma once

#include "run.h"

#include "libcommon/snapshot/snapshot_insert.h"

enum gone_table { GONE_MODULE, GONE_FRAME, GONE_STACK, GONE_SITE, GONE_TABLES };

struct gone {
	const struct run *old, *new;
	struct ms_arena arena;
	int64_t *modules, *frames, *nodes; /* row of each of the old run's, 0 = not copied */
	struct ms_insert rows[GONE_TABLES];
	int64_t last[GONE_TABLES]; /* id given */
};

void gone_begin(struct gone *g, struct ms_err *err);
/* The id of the row that site `site` (index) of the old run gets, with figures 0, its stack, and a
 * process of the same program. */
int64_t gone_add(struct gone *g, uint32_t site);
/* 0, or -1 with the `err` of gone_begin set. */
int gone_end(struct gone *g);

/* SPDX-License-Identifier: MIT
 * FILE.d/index of a run, as ms-record(1) describes it: how its images descend from each other, also
 * those whose trace was not kept.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"

struct ms_run_image {
	uint32_t number, parent; /* parent + 1, 0 = none known */
	int64_t pid;
	const char *trace; /* name in the folder, "../FILE" for the first, NULL = not kept */
};

struct ms_run_index {
	struct ms_run_image *v; /* by number */
	size_t n, cap;
};

/* Reads `folder`/index; strings go into `a`. What is there of a damaged one is taken, an index that
 * is not there is empty: nothing depends on it but what links traces. Free with
 * ms_run_index_free. */
void ms_run_index_read(struct ms_run_index *x, const char *folder, struct ms_arena *a);
/* Reads the `n` bytes of an index as ms_run_index_read does, and changes them. */
void ms_run_index_parse(struct ms_run_index *x, char *text, size_t n, struct ms_arena *a);
void ms_run_index_free(struct ms_run_index *x);

/* NULL = not in it. */
const struct ms_run_image *ms_run_index_find(const struct ms_run_index *x, uint32_t number);
/* The image that `number` became by exec: of the same process. NULL = not in it. */
const struct ms_run_image *ms_run_index_next(const struct ms_run_index *x, uint32_t number);

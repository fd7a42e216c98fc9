/* SPDX-License-Identifier: MIT
 * Reads FILE.d/index, the index of a run (see ms-record(1)): which image descends from which,
 * including images whose trace was not kept.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"

struct ms_run_image {
	uint32_t number, parent; /* parent: number + 1, 0 = none known */
	int64_t pid;
	const char *trace; /* name in the folder; "../FILE" for the first program image; NULL = not
			      kept */
};

struct ms_run_index {
	struct ms_run_image *v; /* sorted by number */
	size_t n, cap;
};

/* Reads the file `index` in `folder`; strings are allocated in `a`. Reads only the valid lines of a
 * damaged index; a missing index is empty. (The index only serves to link traces.) Free with
 * ms_run_index_free. */
void ms_run_index_read(struct ms_run_index *x, const char *folder, struct ms_arena *a);
/* Parses the `n` bytes of an index, as ms_run_index_read does. The bytes are modified. */
void ms_run_index_parse(struct ms_run_index *x, char *text, size_t n, struct ms_arena *a);
void ms_run_index_free(struct ms_run_index *x);

/* Returns the program image with that number; NULL = not in the index. */
const struct ms_run_image *ms_run_index_find(const struct ms_run_index *x, uint32_t number);
/* Returns the program image that replaced image `number` by exec in the same process. NULL = not in
 * the index. */
const struct ms_run_image *ms_run_index_next(const struct ms_run_index *x, uint32_t number);

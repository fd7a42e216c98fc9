/* SPDX-License-Identifier: MIT
 * Finds the beginning and end of a span of a recording (--from, --to).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ms_err;

/* Holds a position between events: before the first event at or after `tick`, or before event
 * number `event`; the unused one is UINT64_MAX. */
struct ms_span_end {
	bool given;
	uint64_t ns, tick, event;
};

/* Finds the POINTs `from` and `to` (NULL: not given) in the trace at `path`, as ms-snap does.
 * Returns 0, or -1 with `err` set: no such point, or `to` is before `from`. */
int ms_span_find(const char *path, const char *from, const char *to, struct ms_span_end ends[2],
		 struct ms_err *err);

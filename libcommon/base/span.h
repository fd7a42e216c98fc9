/* SPDX-License-Identifier: MIT
 * Where a span of a recording (--from, --to) begins and ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ms_err;

/* A moment: before the first event at `tick` or later, or before event number `event`; the other
 * one is UINT64_MAX. */
struct ms_span_end {
	bool given;
	uint64_t ns, tick, event;
};

/* Finds the POINTs `from` and `to` (NULL: not given) in the trace at `path`, as ms-snap does. 0, or
 * -1 with `err` set: no such point, or the span runs backwards. */
int ms_span_find(const char *path, const char *from, const char *to, struct ms_span_end ends[2],
		 struct ms_err *err);

/* SPDX-License-Identifier: MIT
 * --trace-out: a part of a trace, as a trace.
 */
#pragma once

#include <stdbool.h>

struct ms_err;
struct options;

/* Cuts the events from o->from to o->to that meet the conditions out of the trace o->input, and
 * writes them behind a checkpoint of the blocks that were live before. *incomplete: the input has
 * no end or is damaged, and so is the result. 0, or -1 with `err` set and nothing written. */
int cut_trace(const struct options *o, bool *incomplete, struct ms_err *err);

/* SPDX-License-Identifier: MIT
 * Cuts a part out of a trace, as a new trace (--trace-out).
 */
#pragma once

#include <stdbool.h>

struct ms_err;
struct options;

/* Copies the events of the trace o->input between o->from and o->to that meet the conditions;
 * writes a checkpoint of the blocks live at o->from before them. *incomplete: the input has no end
 * or is damaged, so the result is incomplete too. Returns 0, or -1 with `err` set and nothing
 * written. */
int cut_trace(const struct options *o, bool *incomplete, struct ms_err *err);

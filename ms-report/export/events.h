/* SPDX-License-Identifier: MIT
 * Writes single events of a trace (--events).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ms_err;
struct out;

struct events_options {
	bool json;         /* one JSON object per line; false = text */
	bool whole_stacks; /* JSON: write all frames of each stack; false = write each frame
			      once, with a number */
	bool full_names, ascii;
	size_t limit; /* maximum number of events, SIZE_MAX = all */
};
/* Writes the events of the trace `path` (a file that can be read twice) in their order. 0 with
 * *incomplete set to NULL or the trace's fault ("no end", "damaged"); -1 with `err` set. */
int events_write(const char *path, const struct events_options *opt, struct out *o,
		 const char **incomplete, struct ms_err *err);

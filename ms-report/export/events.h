/* SPDX-License-Identifier: MIT
 * The events of a trace one by one (--events).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ms_err;
struct out;

struct events_options {
	bool json;         /* an object a line; else text */
	bool whole_stacks; /* of JSON: the frames of each stack; else each frame once, with a number */
	bool full_names, ascii;
	size_t limit; /* events, SIZE_MAX = all */
};
/* Reads the trace `path` (a file that can be read twice) and writes its events, in their order. 0
 * with *incomplete set: NULL, or what ails it ("no end", "damaged"); -1 with `err` set. */
int events_write(const char *path, const struct events_options *opt, struct out *o,
		 const char **incomplete, struct ms_err *err);

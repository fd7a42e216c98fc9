/* SPDX-License-Identifier: MIT
 * Frames as JSON, added to a file line by line.
 */
#pragma once

#include <stdbool.h>

struct json_line;
struct ms_err;

struct log {
	const char *path; /* NULL = there is none */
	int fd;
	bool failed; /* the latest line could not be added, and that was said */
};

/* Opens the file at `path` (borrowed; NULL = no log), a new one for its owner alone. What is in it
 * stays, and must be such lines. 0, or -1 with `err` set; log_close in both cases. */
int log_open(struct log *l, const char *path, struct ms_err *err);
/* Adds a line, whole or not at all. 0, or -1 with `err` set: only of the first one of a row that
 * cannot be added. */
int log_add(struct log *l, const struct json_line *line, struct ms_err *err);
void log_close(struct log *l);

/* SPDX-License-Identifier: MIT
 * Appends frames as JSON lines to a file.
 */
#pragma once

#include <stdbool.h>

struct json_line;
struct ms_err;

struct log {
	const char *path; /* NULL = no log */
	int fd;
	bool failed; /* the latest line could not be written, which was reported */
};

/* Opens the file at `path` (borrowed; NULL = no log); a new one is readable by its owner only. An
 * existing one must be an earlier log, and is appended to. Returns 0, or -1 with `err` set; call
 * log_close in both cases. */
int log_open(struct log *l, const char *path, struct ms_err *err);
/* Appends a line, whole or not at all. Returns 0, or -1 with `err` set for the first of several
 * consecutive failures. */
int log_add(struct log *l, const struct json_line *line, struct ms_err *err);
void log_close(struct log *l);

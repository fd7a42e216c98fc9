/* SPDX-License-Identifier: MIT
 * Writes frames as JSON, one object each; ms-top(1) lists the keys.
 */
#pragma once

#include <stddef.h>

#include "libcommon/base/json_writer.h"

struct forecast;
struct ms_trend;
struct process;
struct rows;
struct system;
struct trace;

/* Holds a line of JSON with its newline. Initialize it to zero; the next line reuses its memory. */
struct json_line {
	char *v;
	size_t n, cap;
};

void json_system(struct json_line *to, struct system *s, const struct rows *r);
void json_process(struct json_line *to, const struct process *p);
void json_trace(struct json_line *to, struct trace *t);
void json_free(struct json_line *to);

/* ---- for the files that write frames ---- */

/* Begins the JSON object of one update of the figures, with the members that all such objects have;
 * json_end ends it. */
struct ms_json json_begin(struct json_line *to, const char *mode);
void json_end(struct ms_json *j);
/* Writes the trend of a figure. Rates are null while its history is too short. */
void json_trend(struct ms_json *j, const struct ms_trend *t, const char *verdict);

/* Writes the limit that will be reached first and the time until then; null if there is none. */
void json_forecast(struct ms_json *j, const struct forecast *f);

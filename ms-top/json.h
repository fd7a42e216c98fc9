/* SPDX-License-Identifier: MIT
 * Frames as JSON, one object each: ms-top(1) names the keys.
 */
#ifndef TOP_JSON_H
#define TOP_JSON_H

#include <stddef.h>

struct process;
struct rows;
struct system;

/* A line with its end. Zero to begin with; its memory is used again by the next frame. */
struct json_line {
	char *v;
	size_t n, cap;
};

void json_system(struct json_line *to, struct system *s, const struct rows *r);
void json_process(struct json_line *to, const struct process *p);
void json_free(struct json_line *to);

#endif

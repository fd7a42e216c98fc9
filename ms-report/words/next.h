/* SPDX-License-Identifier: MIT
 * Commands that the first screen suggests, for any format.
 */
#pragma once

#include "page.h"

#include "ms-report/model/first_screen.h"

#include <stddef.h>

/* Holds a command, one shell word per element, and a description of it. */
struct next {
	const char **words;
	size_t n;
	const char *why;
};
#define NEXT_MAX 7

/* Makes the commands to suggest after the groups `f`, the most useful first, in the model's arena:
 * views of this input, then how to record what it lacks. No word is wider than `room` columns.
 * Returns how many, at most NEXT_MAX. */
size_t next_commands(struct page *p, const struct first_screen *f, size_t room,
		     struct next out[NEXT_MAX]);
/* Makes the commands to suggest if most of RSS is not live heap: one shows what was recorded of the
 * other memory, one records the rest. Returns how many. */
size_t next_beside_heap(struct page *p, size_t room, struct next out[2]);
/* Returns a command as one line. */
const char *next_line(struct page *p, const struct next *c);
/* Returns the input's name as typed; "FILE" if it cannot be typed, or not in `room` columns. */
const char *next_input(struct page *p, size_t room);

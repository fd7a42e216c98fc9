/* SPDX-License-Identifier: MIT
 * What to type next after the first screen, for any format.
 */
#pragma once

#include "page.h"

#include "ms-report/model/first_screen.h"

#include <stddef.h>

/* A command, word by word as a shell reads it, and what it shows. */
struct next {
	const char **words;
	size_t n;
	const char *why;
};
#define NEXT_MAX 6

/* Makes the commands that follow the groups `f`, the most useful first, made in the model's arena:
 * views of this input, then how to record what it does not have. No word is wider than `room`
 * columns. At most NEXT_MAX; how many. */
size_t next_commands(struct page *p, const struct first_screen *f, size_t room,
		     struct next out[NEXT_MAX]);
/* Makes those for memory that is not live heap, where that is most of RSS: what shows what was
 * recorded of it, and what records the rest. How many. */
size_t next_beside_heap(struct page *p, size_t room, struct next out[2]);
/* Returns all words of a command in a line. */
const char *next_line(struct page *p, const struct next *c);
/* Returns the input as it can be typed; FILE where it cannot, or not in `room` columns. */
const char *next_input(struct page *p, size_t room);

/* SPDX-License-Identifier: MIT
 * Blocks that an allocator gave out by a function that is not hooked.
 */
#pragma once

#include <stddef.h>

struct session;

/* Finds the function that is likely to have given out blocks that were freed and never seen, if these
 * are more than a few: "arena_malloc in a". *text stays as it is where there is none, and where
 * something is in it already. For the thread that ends the session. */
void hook_elsewhere(const struct session *s, char *text, size_t size);

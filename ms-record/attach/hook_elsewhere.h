/* SPDX-License-Identifier: MIT
 * Blocks that an allocator gave out by a function that is not hooked.
 */
#pragma once

#include <stddef.h>

struct session;

/* Finds the function that probably allocated blocks whose allocation was not recorded, if more than
 * a few were freed: "arena_malloc in a". Leaves *text unchanged if there is none or if it is not
 * empty. For the thread that ends the session. */
void hook_elsewhere(const struct session *s, char *text, size_t size);

/* SPDX-License-Identifier: MIT
 * Guesses which unhooked function returned blocks whose allocation was not seen.
 */
#pragma once

#include <stddef.h>

struct session;

/* Writes to `text` the function that probably allocated blocks of unknown origin, if more than a
 * few such blocks were freed: "arena_malloc in a". Leaves `text` unchanged if none is found, or if
 * it is not empty. Only the thread that ends the session calls this. */
void hook_elsewhere(const struct session *s, char *text, size_t size);

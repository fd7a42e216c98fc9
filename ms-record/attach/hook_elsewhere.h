/* SPDX-License-Identifier: MIT
 * Guesses which unhooked function returned blocks whose allocation was not seen.
 */
#pragma once

#include <stddef.h>

struct session;

/* Finds the function that probably allocated blocks whose allocation was not recorded, if more than
 * a few were freed: "arena_malloc in a". Leaves *text unchanged if there is none or if it is not
 * empty. For the thread that ends the session. */
void hook_elsewhere(const struct session *s, char *text, size_t size);

/* SPDX-License-Identifier: MIT
 * Allocators that are known by name: their functions besides malloc's are hooked without being
 * asked for. Their blocks are of malloc's heap.
 */
#ifndef HOOK_FAMILIES_H
#define HOOK_FAMILIES_H

#include <stdbool.h>

#include "hook_find.h"

struct session;

/* Does the process seem to have one, by the names of what is mapped? */
bool hook_families_wanted(const struct session *s);
/* Calls `f` with each function of them that is there. What `spec` points to stays. */
void hook_families_each(const struct hook_modules *m,
			void (*f)(void *arg, const struct hook_spec *spec), void *arg);

#endif

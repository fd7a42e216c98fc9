/* SPDX-License-Identifier: MIT
 * Allocators that are known by name, and C++'s operators of a program's own: their functions besides
 * malloc's are hooked without being asked for. Their blocks are of malloc's heap.
 */
#pragma once

#include <stdbool.h>

#include "hook_find.h"

struct session;

/* Does the process seem to have one, by the names of what is mapped? */
bool hook_families_wanted(const struct session *s);
/* The same, by what its modules define. */
bool hook_families_there(const struct hook_modules *m);
/* Calls `f` with each function of them that is there; `spec` lasts as long as that call. */
typedef void hook_families_fn(void *arg, const struct hook_spec *spec,
			      const struct hook_place *place);
void hook_families_each(const struct hook_modules *m, hook_families_fn *f, void *arg);
/* The same with C++'s operators new and delete of the module at `path`. */
void hook_operators_each(const struct hook_modules *m, const char *path, hook_families_fn *f,
			 void *arg);
/* hook_operators.c. Of the executable of the process whose folder of /proc that is: does it define an
 * operator new, and no malloc, and does nothing that it calls lead to malloc? False also when its
 * code cannot be read. (Reads its symbols: slow where there is one.) */
bool hook_operators_own(int proc);

/* SPDX-License-Identifier: MIT
 * Which file a module is of: its path, held open, and whether it was there before.
 */
#pragma once

#include <stdbool.h>

struct attach_map;
struct module;
struct modules;
struct process;

/* Finds path and file of a module whose range and kind are known, and the first module of the same
 * file, from which `m` then gets path, build-id and descriptor. `name`: the guest's name for it,
 * perhaps a path relative to a former working directory. `p`: its mapping; NULL = closed or
 * unknown: a file is then accepted only if it matches what was in memory. Sets `*deleted` if the
 * path leads to no file, or to another one. */
void module_file_find(struct modules *all, struct module *m, const char *name,
		      const struct attach_map *p, bool *deleted);
/* Opens the file mapped at `p`, by its path in the process's view, or, if that leads to another
 * file (sets `*other`), by the kernel's link to it. -1 = not permitted. */
int module_file_open(const struct process *process, const struct attach_map *p, const char *path,
		     bool *other);
/* Holds the file of that mapping for later use. Any thread may call it. */
void module_file_hold(const struct process *process, const struct attach_map *p);

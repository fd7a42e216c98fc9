/* SPDX-License-Identifier: MIT
 * Which file a module is of: its path, held open, and whether it was there before.
 */
#pragma once

#include <stdbool.h>

struct attach_map;
struct module;
struct modules;
struct process;

/* Finds path and file of module `m`, whose range and kind are known. If an earlier module has the
 * same file, `m` gets path, build-id and descriptor from it. `name`: the name that the guest
 * reported, perhaps a path relative to a former working directory. `p`: the module's mapping; NULL
 * = the module is closed or its mapping unknown, so a file is accepted only if it matches what was
 * in memory. Sets *deleted if the path leads to no file, or to a different one. */
void module_file_find(struct modules *all, struct module *m, const char *name,
		      const struct attach_map *p, bool *deleted);
/* Opens the file mapped at `p`: by its path as the process sees it, or, if another file is there
 * now (then *other is set), by the kernel's link to the mapped file. Returns -1 if that is not
 * permitted. */
int module_file_open(const struct process *process, const struct attach_map *p, const char *path,
		     bool *other);
/* Keeps the file mapped at `p` open for later use. May be called from any thread. */
void module_file_hold(const struct process *process, const struct attach_map *p);

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
 * file, of which `m` then has path, build-id and descriptor. `name`: what the guest calls it, which
 * may be a path from a folder that was the current one then. `p`: where it is mapped, NULL = it
 * went, or nothing is known of it; then a file is taken only if it looks like what was there.
 * `*deleted` is set when the path leads to no file, or to another. */
void module_file_find(struct modules *all, struct module *m, const char *name,
		      const struct attach_map *p, bool *deleted);
/* Opens what is mapped at `p`, by its path as the process sees it or, where that leads elsewhere
 * (then `*other`), as the kernel knows it. -1 when we may not. */
int module_file_open(const struct process *process, const struct attach_map *p, const char *path,
		     bool *other);
/* Holds the file of that mapping, so that it is found later. By any thread. */
void module_file_hold(const struct process *process, const struct attach_map *p);

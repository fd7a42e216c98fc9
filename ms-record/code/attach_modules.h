/* SPDX-License-Identifier: MIT
 * The table of modules of an attached process, which its guest cannot keep itself.
 */
#pragma once

struct attach_modules;
struct modules;

/* Returns an empty table; free it with free(). */
struct attach_modules *attach_modules_new(void);
/* Makes the table for a child forked from `parent`'s process (NULL = that has ended); its guest has
 * copied the shared table. */
struct attach_modules *attach_modules_forked(const struct attach_modules *parent);
/* Updates the table in shared memory if the process's dynamic linker has changed anything. Called
 * by one thread at a time: once before the guest begins, then by the draining thread. */
void attach_modules_look(struct modules *all);
/* Makes the next attach_modules_look update the table in any case: a thread that has just opened a
 * module waits for it, and may soon end. */
void attach_modules_opened(struct modules *all);

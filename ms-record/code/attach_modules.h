/* SPDX-License-Identifier: MIT
 * The table of modules of an attached process, which its guest cannot keep itself.
 */
#pragma once

struct attach_modules;
struct modules;

/* Returns an empty table; free it with free(). */
struct attach_modules *attach_modules_new(void);
/* Returns the table for a child forked from the process of `parent`; NULL = that process has ended.
 * The child's shared memory already has a copy of the parent's module table. */
struct attach_modules *attach_modules_forked(const struct attach_modules *parent);
/* Updates the module table in shared memory if the process has loaded or unloaded modules. Called
 * by one thread at a time: once before the guest begins, then by the draining thread. */
void attach_modules_look(struct modules *all);
/* Makes the next attach_modules_look update the table in any case. Call when a thread has just
 * opened a module: it waits for the update, and may end soon. */
void attach_modules_opened(struct modules *all);

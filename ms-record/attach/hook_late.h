/* SPDX-License-Identifier: MIT
 * Hooks in modules that are opened while the process is recorded: dlopen. The control thread's.
 */
#ifndef HOOK_LATE_H
#define HOOK_LATE_H

#include <stdbool.h>
#include <stddef.h>

struct attach_maps;
struct control;
struct hook_late;
struct session;

/* What is mapped now has been looked at. */
void hook_late_known(struct session *s, const struct attach_maps *maps);
/* That of --hook has been placed in it. */
void hook_late_placed(struct control *c, struct session *s, size_t i);
/* Has it never been? For the thread that knows that the session has ended. */
bool hook_late_missing(const struct session *s, size_t i);
void hook_late_free(struct hook_late *l);
/* Does a thread of the process wait for it? Any thread may ask. */
bool hook_late_asked(const struct session *s);
/* Does what the threads of all sessions wait for. */
void hook_late_look(struct control *c);

#endif

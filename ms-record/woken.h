/* SPDX-License-Identifier: MIT
 * Recording a process that is on standby (standby.h): the recorder's side.
 */
#ifndef WOKEN_H
#define WOKEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "hook_spec.h"
#include "standby.h"

struct control;
struct ms_err;
struct options;
struct session;

struct woken {
	int connection, memfd, pidfd;
	struct standby_answer answer;
	struct hooks hooks; /* as it was put on standby with; once it is prepared */
};

/* Is that process on standby? Then it is reserved for us until woken_free. The same for whoever
 * forked from it: that is refused, because they are recorded together. 1 = it is; 0 = it is not;
 * -1 with `err` set: it cannot be had. */
int woken_look(struct woken *w, pid_t pid, const struct options *o, struct ms_err *err);
/* Makes its session, first in c->sessions, of c->first. 0, or -1 with `err` set. */
int woken_prepare(struct control *c, struct woken *w, pid_t pid, struct ms_err *err);
/* Wakes it. */
void woken_go(struct control *c, struct session *s);
bool woken_ended(const struct woken *w);
/* The holder has it asleep then. */
void woken_free(struct woken *w);

#endif

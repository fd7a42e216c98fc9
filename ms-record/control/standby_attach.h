/* SPDX-License-Identifier: MIT
 * Recording a process that is on standby (standby.h): the recorder's side.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "ms-record/session/hook_spec.h"
#include "standby.h"

struct control;

struct standby_attach {
	int connection, memfd, pidfd;
	struct standby_answer answer;
	struct hooks hooks; /* as it was put on standby with; once it is prepared */
};

/* Is that process on standby? Then it is reserved for us until standby_attach_free. The same for
 * whoever forked from it: that is refused, because they are recorded together. 1 = it is; 0 = it is
 * not; -1 with `err` set: it cannot be had. */
int standby_attach_look(struct standby_attach *w, pid_t pid, const struct control_options *o,
			struct ms_err *err);
/* Makes its session, first in c->sessions, of c->first. 0, or -1 with `err` set. */
int standby_attach_prepare(struct control *c, struct standby_attach *w, pid_t pid,
			   struct ms_err *err);
bool standby_attach_ended(const struct standby_attach *w);
/* The holder has it asleep then. */
void standby_attach_free(struct standby_attach *w);

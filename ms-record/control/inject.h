/* SPDX-License-Identifier: MIT
 * Starting a command that nothing can be preloaded into: static, for another C library, or with a
 * malloc of its own; and recording such programs that others run.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct arrival;
struct control;
struct ms_err;

/* Lets the waiting child (launch_fork) exec, stops it at its beginning, and puts the guest into it
 * as into a process that runs; then it goes on. It is traced
 * on, with all that it starts, as far as further programs are wanted or its end is to be scanned.
 * 0; also when the guest could not be put there, with c->refused set: it runs unrecorded. -1 with
 * `err` and c->launch.status set: it did not come to run, and is reaped. */
int inject_go(struct control *c, struct ms_err *err);
/* A descriptor that can be read when inject_serve is to be called; -1 = there is none. */
int inject_event(const struct control *c);
/* Gives way to the thread that traces the command and what it started: one has become another
 * program. */
void inject_serve(struct control *c);
/* Traces nothing any more, and takes the guest out of all that it was put into. */
void inject_detach(struct control *c);
/* Traces nothing any more. */
void inject_over(struct control *c);
void inject_free(struct control *c);

/* ---- such programs, run by others ---- */

/* The process of the thread `tid`, a->pid, is about to exec such a program, a->exe; or, with `starts`,
 * the thread is about to start a process that does. It is traced from there on, and recorded, or has
 * a line in the index. False: that is not possible; nothing is changed. */
bool inject_below(struct control *c, const struct arrival *a, pid_t tid, bool starts);
/* With --leak-check=yes the command, into which a library is preloaded, is traced from its start: so is
 * what its process becomes, and such a program is recorded. */
void inject_watch(struct control *c);
/* Is there one whose exec was not seen yet? */
bool inject_pending(const struct control *c);

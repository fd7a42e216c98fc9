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

/* Lets the waiting child (launch_fork) exec, stops it at its first instruction, and attaches the
 * guest as to a running process; then the command continues. It stays traced, with its children, if
 * further programs are wanted or its end is to be scanned. Returns 0, even if attaching failed:
 * c->refused is then set, and the command runs unrecorded. -1 with `err` and c->launch.status set:
 * the exec failed, and the child is reaped. */
int inject_go(struct control *c, struct ms_err *err);
/* Returns a descriptor that is readable when inject_serve is to be called; -1 = none. */
int inject_event(const struct control *c);
/* Lets the tracing thread handle an exec in the command or in one of its children. */
void inject_serve(struct control *c);
/* Stops tracing, and detaches the guest from all processes that it was injected into. */
void inject_detach(struct control *c);
/* Stops tracing. */
void inject_over(struct control *c);
void inject_free(struct control *c);

/* ---- such programs, run by others ---- */

/* Traces the process a->pid, whose thread `tid` is about to exec such a program, a->exe, or (with
 * `starts`) to start a process that does. It is recorded, or listed in the index. False = tracing
 * is not possible; nothing is changed. */
bool inject_below(struct control *c, const struct arrival *a, pid_t tid, bool starts);
/* Traces the command, into which a library is preloaded, from its start (--leak-check=yes), so that
 * programs of this kind that it execs are recorded. */
void inject_watch(struct control *c);
/* Tells whether there is a process whose exec was not seen yet. */
bool inject_pending(const struct control *c);

/* SPDX-License-Identifier: MIT
 * Starting a command that nothing can be preloaded into: static, for another C library, or with a
 * malloc of its own; and recording such programs that others run.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "ms-record/launch/launch.h"

struct arrival;
struct control;
struct ms_err;

/* Lets the waiting child (launch_fork) exec, stops it at its first instruction, attaches the guest
 * as to a running process, and resumes the command. Keeps tracing the command and its children if
 * programs that they execute are to be recorded, or if there is a scan at the end. Returns 0 even
 * if attaching failed: c->refused is then set, and the command runs unrecorded. -1 with `err` and
 * c->launch.status set: the exec failed, and the child is reaped. */
int inject_go(struct control *c, struct ms_err *err);
/* Returns a descriptor that is readable when inject_serve is to be called; -1 = none. */
int inject_event(const struct control *c);
/* Call if inject_event is readable: lets the tracing thread handle an exec of the command or of one
 * of its children, and waits until it has. */
void inject_serve(struct control *c);
/* Stops tracing, and detaches the guest from all processes into which it was injected. */
void inject_detach(struct control *c);
/* Stops tracing. */
void inject_over(struct control *c);
void inject_free(struct control *c);

/* ---- such programs, run by others ---- */

/* Returns how to record the program `exe`, which process `pid` executes: as launch_way does, except
 * that a library that is not in the process's root cannot be preloaded. LAUNCH_NOT sets `err`. */
enum launch_way inject_way(const struct control *c, pid_t pid, const char *exe, struct ms_err *err);

/* Begins to trace process a->pid, whose thread `tid` is about to exec the program a->exe, which
 * needs injection, or, if `starts`, to start a process that does. The program is recorded, or
 * listed in the index. Returns false, with nothing changed, if tracing is not possible. */
bool inject_below(struct control *c, const struct arrival *a, pid_t tid, bool starts);
/* Traces the command from its start although a library is preloaded into it (--leak-check=yes), so
 * that programs that it executes and that need injection are recorded. */
void inject_watch(struct control *c);
/* Tells whether a program announced to inject_below has not been executed yet. */
bool inject_pending(const struct control *c);

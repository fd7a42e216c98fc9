/* SPDX-License-Identifier: MIT
 * Recording a process: ms-record -p, run as a child.
 */
#ifndef TOP_RECORD_H
#define TOP_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct ms_err;
struct recorder;

/* Starts ms-record -p PID; its trace is NAME.PID.trace in the working folder. NULL with `err` set.
 */
struct recorder *recorder_start(pid_t pid, const char *name, struct ms_err *err);
/* Is there a trace of it? */
bool recorder_started(const struct recorder *r);
/* Where that is going to be. */
const char *recorder_trace(const struct recorder *r);
/* True once, when it has ended by itself: `text` says what it said last. */
bool recorder_ended(struct recorder *r, char *text, size_t room);
/* Has it let go of the process (at most a few seconds), and frees `r`, which may be NULL. */
void recorder_stop(struct recorder *r);

#endif

/* SPDX-License-Identifier: MIT
 * Children of ms-record that run while it records, or at its end: ms-snap, and commands of --when.
 */
#pragma once

#include <sys/types.h>

struct control;

/* Forks a child in a process group of its own, so that Ctrl-C reaches only ms-record, with the
 * signal mask that ms-record had. Its standard input is empty; `out` and `err` become its standard
 * output and standard error, -1 = discarded. Returns what fork() returns. */
pid_t child_fork(const struct control *c, int out, int err);

/* SPDX-License-Identifier: MIT
 * Stops all threads of a process for a short while, by ptrace, and has them go on as if nothing had
 * been.
 *
 * One thread of ours does all of it: the kernel ties a tracee to the thread that seized it.
 */
#ifndef SCAN_STOP_H
#define SCAN_STOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "scan_roots.h"

struct stopped_thread {
	pid_t tid;
	bool waiting; /* seized, and not seen to stop yet */
	bool gone;
	int signal; /* that it was about to take: it is given back */
	struct user_regs_struct regs;
};

struct stopped {
	struct {
		struct stopped_thread *v;
		size_t n, cap;
	} threads;
};

/* 'R', 'S' and so on, of a thread; 0 = it is gone. */
char stop_state(int proc, pid_t tid);
/* How many threads of the process are alive; *any is one of them (not a zombie). 0 = none. */
size_t stop_count(int proc, pid_t *any);
/* Stops them all; `deadline_ns` of CLOCK_MONOTONIC. 0, or -1 with errno set: then none is. */
int stop_all(struct stopped *s, int proc, uint64_t deadline_ns);
/* Their registers, in memory to be freed. */
struct scan_thread *stop_threads(const struct stopped *s, size_t *count);
/* Lets them go on. A system call that waited, and was broken off though no signal came, is made
 * again. */
void stop_release(struct stopped *s, int proc);

#endif

/* SPDX-License-Identifier: MIT
 * Shared by the files that implement hijack.h.
 */
#pragma once

#include "hijack.h"

/* ---- hijack_wait.c, hijack_stop.c ---- */

/* Waits for a thread and returns as waitpid does; 0 = no event until `deadline_ns`. */
pid_t hijack_wait(pid_t tid, int *status, uint64_t deadline_ns);
/* Begins or ends a period in which all waits of the calling thread share one timer. Calls may be
 * nested. */
void hijack_wait_begin(void);
void hijack_wait_end(void);
/* Returns the number after a label in a thread's status file; 0 = none. */
uint64_t hijack_status(int proc, pid_t tid, const char *label, int base);
/* Reads a file of a thread's /proc folder as text. Returns false on failure. */
bool hijack_text(int proc, pid_t tid, const char *file, char *text, size_t room);
/* Tells whether a stopped thread is inside a restartable sequence: the kernel could not abort the
 * sequence once the thread's registers were changed. */
bool hijack_in_rseq(const struct hijack *h, const struct hijack_thread *t);

/* ---- hijack_guard.c ---- */

/* Describes memory shared by the process that made a helper and the helper's guard, a process that
 * watches the helper. */
struct guard_room {
	int mends; /* atomic: not 0 = patched code needs repair if the helper is killed */
	int ended; /* atomic: the guard killed the helper for holding threads too long */
};
/* Sets the memory shared with the guard, at a helper's start. */
void guard_place(struct guard_room *room);
/* Ends the calling thread's guard: the thread holds no stopped threads and has nothing to
 * repair. */
void guard_dismiss(void);
/* Keeps the calling thread's guard active until guard_dismiss, because this thread may hold
 * others at any time. */
void guard_stay(void);
/* Postpones the guard's deadline: the helper has made progress. */
void hijack_beat(void);

/* ---- hijack_helper.c ---- */

bool hijack_is_helper(void);

/* Raises the helper's priority while threads are stopped (`on`), or lowers it again. Does nothing
 * outside the helper. */
void hijack_hurry(bool on);

/* ---- hijack_sleep.c ---- */

/* Tells whether a thread is off all processors and waits in a system call, except those that create
 * or end threads. If so, stores the call, its arguments, ip and sp in t->regs. */
bool hijack_waits(int proc, struct hijack_thread *t);
enum hijack_trace hijack_trace_of(int proc, struct hijack_thread *t);
/* Kernel-internal errno of an interrupted sleep, which restart_syscall resumes. */
#define HIJACK_RESTART_BLOCK 516
/* Changes registers so that a system call that was interrupted without a signal is made again.
 * Returns whether they had to be changed. */
bool hijack_repair(struct cpu_regs *r, int proc, pid_t tid);

/* ---- hijack_net.c ---- */

/* Holds the frames that are written below a thread's stack, and the bytes that they replaced. */
struct hijack_net {
	uint64_t at;
	size_t bytes;
	bool restore; /* the memory below the stack is in use: `before` must be restored */
	uint8_t before[32768], now[32768];
};

struct hijack_frames {
	struct hijack_net *net;
	uint64_t top, at; /* the bytes in [at, top) are in net->now */
};
/* Reserves `bytes` below the frames so far, at an address that is a multiple of `align` minus
 * `off`. Returns a pointer to their copy in net->now; NULL = no room. */
uint8_t *hijack_frames_grow(struct hijack_frames *b, size_t bytes, uint64_t align, uint64_t off);

/* Tells whether the instruction `code` is at address `at`. */
bool hijack_is_code(const struct hijack *h, uint64_t at, const struct cpu_code *code);
/* Finds the instructions for calls in the process, or checks that they are unchanged. Returns 0, or
 * -1 if no syscall instruction was found. */
int hijack_find_code(struct hijack *h);
/* Writes the frames below the thread's stack; sets c->sp and c->copy_sp. Returns 0, or -1 with the
 * reason in `err`. */
int hijack_spread_net(struct hijack_call *c, struct ms_err *err);
/* Removes the frames and restores the bytes that they replaced. */
void hijack_take_net(struct hijack_call *c);

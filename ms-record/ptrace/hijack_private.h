/* SPDX-License-Identifier: MIT
 * What the files of hijack.h share.
 */
#pragma once

#include "hijack.h"

/* ---- hijack_wait.c, hijack_stop.c ---- */

/* Waits for a thread and returns what waitpid does; 0: nothing happened to it until
 * `deadline_ns`. */
pid_t hijack_wait(pid_t tid, int *status, uint64_t deadline_ns);
/* Between these two, waits of the calling thread share one timer. They may be nested. */
void hijack_wait_begin(void);
void hijack_wait_end(void);
/* A number in the status of a thread, behind its label; 0 = there is none. */
uint64_t hijack_status(int proc, pid_t tid, const char *label, int base);
/* A file of a thread, as text. */
bool hijack_text(int proc, pid_t tid, const char *file, char *text, size_t room);
/* Is a stopped thread inside a restartable sequence? The kernel would not break that off any more,
 * once it was elsewhere. */
bool hijack_in_rseq(const struct hijack *h, const struct hijack_thread *t);

/* ---- hijack_guard.c ---- */

/* Holds what a helper's guard shares with the process that made the helper. */
struct guard_room {
	int mends; /* atomic: somebody has something to mend when the helper is killed */
	int ended; /* atomic: it was killed because it held threads for too long */
};
/* In a helper that begins: where that is. */
void guard_place(struct guard_room *room);
/* The calling thread holds nobody any more, and has nothing to be mended. */
void guard_dismiss(void);
/* The calling thread may hold somebody at any time, until guard_dismiss. */
void guard_stay(void);
/* The helper came a step further. */
void hijack_beat(void);

/* ---- hijack_helper.c ---- */

bool hijack_is_helper(void);

/* Threads are about to stop, or have gone on again. Elsewhere than in the helper process it does
 * nothing. */
void hijack_hurry(bool on);

/* ---- hijack_sleep.c ---- */

/* Does a thread wait in a system call, in which nothing is begun or ended, and is off all
 * processors? Then the call with its arguments, ip and sp are in t->regs. */
bool hijack_waits(int proc, struct hijack_thread *t);
enum hijack_trace hijack_trace_of(int proc, struct hijack_thread *t);
#define HIJACK_RESTART_BLOCK 516 /* an error of the kernel's own: a sleep that it goes on with */
/* Changes registers so that a system call that was broken off for no reason is made again. True
 * when it did. */
bool hijack_repair(struct cpu_regs *r, int proc, pid_t tid);

/* ---- hijack_net.c ---- */

/* The frames under the stack, and what was there before. */
struct hijack_net {
	uint64_t at;
	size_t bytes;
	bool restore; /* it is a stack that is in use */
	uint8_t before[32768], now[32768];
};

struct hijack_frames {
	struct hijack_net *net;
	uint64_t top, at; /* [at, top) is in net->now */
};
/* Room for `bytes` lower down, at a multiple of `align` less `off`; NULL = there is none. */
uint8_t *hijack_frames_grow(struct hijack_frames *b, size_t bytes, uint64_t align, uint64_t off);

/* Does that instruction stand there? */
bool hijack_is_code(const struct hijack *h, uint64_t at, const struct cpu_code *code);
/* Finds the instructions, or finds that they are still there. 0, or -1: there are none. */
int hijack_find_code(struct hijack *h);
/* Writes the frames; sets c->sp and c->copy_sp. 0, or -1 with the reason in `err`. */
int hijack_spread_net(struct hijack_call *c, struct ms_err *err);
/* Takes them away. */
void hijack_take_net(struct hijack_call *c);

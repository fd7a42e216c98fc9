/* SPDX-License-Identifier: MIT
 * Processor-specific part of stopping threads and making system calls in them. The files named
 * after a processor hold everything that depends on it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct hijack_call;
struct hijack_frames;

/* Holds a thread's registers by purpose. */
struct cpu_regs {
	uint64_t ip, sp, tp; /* instruction pointer, stack pointer, thread pointer */
	/* call: number of the current or just ended system call, < 0 = none; result: its result;
	 * args: its arguments */
	int64_t call, result;
	uint64_t args[6];
	struct user_regs_struct all; /* in the kernel's format; `ip` and `sp` take precedence */
};

/* Sets the other members from `all`; those that are not in it stay as they are. */
void cpu_regs_sort(struct cpu_regs *r);
/* Reads or sets the registers of a stopped thread (NAME_regs.c). Returns 0, or -1 with errno
 * set. */
int cpu_regs_get(pid_t tid, struct cpu_regs *r);
int cpu_regs_set(pid_t tid, const struct cpu_regs *r);
/* Reads a stopped thread's vector registers in the kernel's format. Returns the number of bytes; 0
 * = not available. */
size_t cpu_vectors_get(pid_t tid, void *to, size_t bytes);
/* Sets registers so that the thread makes a system call next, by the instruction at `at`, and the
 * kernel does not restart an interrupted one. After the call the thread continues at `back`: sp is
 * that of a frame by cpu_put_frames. */
void cpu_regs_call(struct cpu_regs *r, long number, const uint64_t args[6], uint64_t at,
		   uint64_t sp, uint64_t back);
/* Completes the registers of a stopped thread, if the kernel has removed from them what tells of an
 * interrupted system call (CPU_FORGETS_CALL): `before` holds the call in which the thread waited just
 * before the stop, as hijack_waits reads it. */
void cpu_regs_waited(struct cpu_regs *r, const struct cpu_regs *before);
/* Sets registers so that the thread repeats its interrupted system call with the call number
 * `number`. */
void cpu_regs_again(struct cpu_regs *r, int64_t number);
/* Returns the number of the newer system call that replaces `call` (ppoll for poll), else
 * `call`. */
int64_t cpu_call_newer(int64_t call);
/* Tells whether `ip` points to the saved instruction pointer of a signal frame.
 * CPU_SIGNAL_WORDS words must be readable. */
#define CPU_SIGNAL_WORDS 4u
bool cpu_is_signal_frame(const uint64_t *ip);

/* Holds instruction bytes. cpu_call_code: a system call and a return, as from a function;
 * cpu_return_code: the return from a signal handler in two forms, the longer first. */
struct cpu_code {
	uint8_t n, bytes[12];
};
extern const struct cpu_code cpu_call_code, cpu_return_code[2];

/* Tells whether a jump with a 32-bit displacement, conditional or not, is at `at`, and stores its
 * target (NAME_jumps.c). CPU_JUMP_MOST bytes of `code` must be readable. */
#define CPU_JUMP_MOST 8u
bool cpu_far_jump(const uint8_t *code, uint64_t at, uint64_t *to);

/* Copies the registers of a stopped thread that any system call clears: a program that has made none
 * of its own needs them. Returns NULL if there are none. cpu_cleared_set writes them; the caller
 * frees the copy. (NAME_frames.c) */
void *cpu_cleared_get(pid_t tid);
void cpu_cleared_set(pid_t tid, const void *copy);

/* Builds the frames of hijack_net.c downward from b->at: one with the state `r` (sets c->sp), then
 * one for a copy of the process (c->copy_sp). Returns false if there is no room or the vector
 * registers cannot be read. (NAME_frames.c) */
bool cpu_put_frames(struct hijack_call *c, const struct cpu_regs *r, struct hijack_frames *b);

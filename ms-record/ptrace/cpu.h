/* SPDX-License-Identifier: MIT
 * What stopping a thread, and having it make system calls, needs of the processor: all that is
 * known of one is in the files named after it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct hijack_call;
struct hijack_frames;

/* Registers by what they are for. */
struct cpu_regs {
	uint64_t ip, sp, tp; /* instruction pointer, stack pointer, thread pointer */
	/* At the end of a system call, or in one: its number, < 0 = it is in none; what it
	 * returned; its arguments. */
	int64_t call, result;
	uint64_t args[6];
	struct user_regs_struct all; /* as the kernel has them: ip and sp above count */
};

/* NAME_regs.c. Of a stopped thread. 0, or -1 with errno set. */
int cpu_regs_get(pid_t tid, struct cpu_regs *r);
int cpu_regs_set(pid_t tid, const struct cpu_regs *r);
/* Its vector registers as the kernel has them; how many bytes, 0 = they cannot be had. */
size_t cpu_vectors_get(pid_t tid, void *to, size_t bytes);
/* It makes that call next, by the instruction at `at`, and the kernel sees nothing to restart. */
void cpu_regs_call(struct cpu_regs *r, long number, const uint64_t args[6], uint64_t at,
		   uint64_t sp);
/* It goes back to the call that was broken off, and makes it as `number`. */
void cpu_regs_again(struct cpu_regs *r, int64_t number);
/* A call that newer processors do not have, as the one that they have instead. */
int64_t cpu_call_newer(int64_t call);
/* Does the frame of a signal have its instruction pointer there? Two more words can be read. */
bool cpu_is_signal_frame(const uint64_t *ip);

/* Instructions: a system call and the return that leads into what is next on the stack; the return
 * from a signal handler, in one of two forms, the longer first. */
struct cpu_code {
	uint8_t n, bytes[12];
};
extern const struct cpu_code cpu_call_code, cpu_return_code[2];

/* NAME_jumps.c. Does a jump by a constant of 32 bits begin there, conditional or not, and where would
 * it lead? CPU_JUMP_MOST bytes of `code`, which lies at `at`, can be read. */
#define CPU_JUMP_MOST 8u
bool cpu_far_jump(const uint8_t *code, uint64_t at, uint64_t *to);

/* NAME_frames.c. The frames of hijack_net.c, from b->at down: of the state `r` (sets c->sp), then of
 * a copy (c->copy_sp). False: they do not fit, or the vector registers cannot be had. */
bool cpu_put_frames(struct hijack_call *c, const struct cpu_regs *r, struct hijack_frames *b);

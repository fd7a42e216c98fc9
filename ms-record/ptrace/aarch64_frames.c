/* SPDX-License-Identifier: MIT
 * aarch64: signal frames in the kernel's format.
 *
 *   sp -> siginfo | ucontext, up to the processor state | vector registers | end
 *
 * If the thread uses registers longer than 128 bits (SVE), they stand behind the end: a record in
 * front of the end says where.
 */
#include <asm/sigcontext.h>
#include <elf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "hijack_private.h"
#include "libcommon/base/arena.h"

#define NO_ALTSTACK 0x7ff0 /* invalid, so that the current alternate stack stays */
#define RECORDS (sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.__reserved))
enum { NUMBER = 8, END = sizeof(struct _aarch64_ctx) + 8, LONG_MOST = 9216, LONG_REGS = 1 };

/* Holds a thread's long vector registers as the kernel gives them to a tracer. */
struct long_regs {
	struct {
		uint32_t size, max_size;
		uint16_t vl, max_vl, flags, reserved;
	} head;
	uint8_t bytes[LONG_MOST];
};

/* Reads a thread's long vector registers. Returns their size in bytes; 0 = it uses none. */
static size_t long_regs(pid_t tid, struct long_regs *l)
{
	struct iovec v = {l, sizeof *l};
	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_ARM_SVE, &v) || !(l->head.flags & LONG_REGS))
		return 0;
	size_t quads = l->head.vl / 16u;
	return (quads * (32 * 16 + 17 * 2) + 15) & ~(size_t)15;
}

/* The longer parts of long vector registers do not live through a system call. */
void *cpu_cleared_get(pid_t tid)
{
	struct long_regs *l = ms_xcalloc(1, sizeof *l);
	if (long_regs(tid, l))
		return l;
	free(l);
	return NULL;
}

void cpu_cleared_set(pid_t tid, const void *copy)
{
	struct long_regs l;
	memcpy(&l, copy, sizeof l);
	struct iovec v = {&l, l.head.size};
	ptrace(PTRACE_SETREGSET, tid, (void *)NT_ARM_SVE, &v);
}

/* Writes a signal frame. Returns its address, or 0. */
static uint64_t put_frame(struct hijack_frames *b, const ucontext_t *u,
			  const struct user_fpsimd_struct *vectors, const struct long_regs *l,
			  size_t long_bytes)
{
	const size_t extra = long_bytes ? sizeof(struct extra_context) : 0;
	const size_t more = long_bytes ? sizeof(struct sve_context) + long_bytes + END : 0;
	uint8_t *to = hijack_frames_grow(
		b, RECORDS + sizeof(struct fpsimd_context) + extra + END + more, 16, 0);
	if (!to)
		return 0;
	struct fpsimd_context f = {
		.head = {FPSIMD_MAGIC, sizeof f}, .fpsr = vectors->fpsr, .fpcr = vectors->fpcr};
	memcpy(f.vregs, vectors->vregs, sizeof f.vregs);
	memset(to, 0, sizeof(siginfo_t));
	memcpy(to + sizeof(siginfo_t), u, RECORDS - sizeof(siginfo_t));
	size_t at = RECORDS;
	memcpy(to + at, &f, sizeof f);
	at += sizeof f;
	if (long_bytes) {
		struct extra_context e = {.head = {EXTRA_MAGIC, sizeof e},
					  .datap = b->at + at + sizeof e + END,
					  .size = (uint32_t)more};
		memcpy(to + at, &e, sizeof e);
		at += sizeof e;
	}
	memset(to + at, 0, END);
	at += END;
	if (long_bytes) {
		struct sve_context s = {.head = {SVE_MAGIC, (uint32_t)(sizeof s + long_bytes)},
					.vl = l->head.vl};
		memcpy(to + at, &s, sizeof s);
		memcpy(to + at + sizeof s, l->bytes, long_bytes);
		memset(to + at + sizeof s + long_bytes, 0, END);
	}
	return b->at;
}

static void set_context(ucontext_t *u, const struct cpu_regs *r, uint64_t mask)
{
	memset(u, 0, sizeof *u);
	u->uc_stack.ss_flags = NO_ALTSTACK;
	memcpy(u->uc_mcontext.regs, r->all.regs, sizeof u->uc_mcontext.regs);
	u->uc_mcontext.sp = r->sp;
	u->uc_mcontext.pc = r->ip;
	u->uc_mcontext.pstate = r->all.pstate;
	memcpy(&u->uc_sigmask, &mask, sizeof mask);
}

bool cpu_put_frames(struct hijack_call *c, const struct cpu_regs *r, struct hijack_frames *b)
{
	struct user_fpsimd_struct vectors;
	struct long_regs l;
	ucontext_t u;
	size_t long_bytes = long_regs(c->t->tid, &l);
	if (long_bytes > sizeof l.bytes ||
	    cpu_vectors_get(c->t->tid, &vectors, sizeof vectors) != sizeof vectors)
		return false;
	set_context(&u, r, c->mask);
	c->sp = put_frame(b, &u, &vectors, &l, long_bytes);
	struct cpu_regs end = {.ip = c->call_at, .sp = c->sp};
	end.all.regs[NUMBER] = SYS_exit_group;
	memset(&vectors, 0, sizeof vectors);
	set_context(&u, &end, UINT64_MAX);
	c->copy_sp = c->sp ? put_frame(b, &u, &vectors, NULL, 0) : 0;
	return c->copy_sp != 0;
}

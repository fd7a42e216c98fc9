/* SPDX-License-Identifier: MIT
 * x86-64: signal frames in the kernel's format.
 */
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "hijack_private.h"

#define LEGACY 512u
#define MAGIC1 0x46505853u
#define MAGIC2 0x46505845u
#define KERNEL_CONTEXT (offsetof(ucontext_t, uc_sigmask) + 8)
#define CODE_SEGMENT 0x33u
#define STACK_SEGMENT 0x2bu
#define NO_ALTSTACK 0x7ff0 /* invalid, so that the current alternate stack stays */

/* Writes the vector state in a signal frame's format. Returns its address, or 0. */
static uint64_t put_vectors(struct hijack_frames *b, pid_t tid)
{
	static const uint32_t one = MAGIC1, two = MAGIC2;
	uint8_t room[sizeof b->net->now / 2];
	uint32_t bytes = (uint32_t)cpu_vectors_get(tid, room, sizeof room);
	uint32_t all = bytes + (uint32_t)sizeof two;
	if (bytes < LEGACY + 64 || bytes == sizeof room)
		return 0;
	uint8_t *to = hijack_frames_grow(b, all, 64, 0);
	if (!to)
		return 0;
	memcpy(to, room, bytes);
	memset(to + 464, 0, 48);
	memcpy(to + 464, &one, 4);
	memcpy(to + 468, &all, 4);
	memcpy(to + 472, room + 464, 8); /* mask of the saved state components */
	memcpy(to + 480, &bytes, 4);
	memcpy(to + bytes, &two, 4);
	return b->at;
}

/* Writes a signal frame. Returns its address, or 0. */
static uint64_t put_frame(struct hijack_frames *b, uint64_t return_at, const ucontext_t *u)
{
	uint8_t *to = hijack_frames_grow(b, KERNEL_CONTEXT + 8, 16, 8);
	if (!to)
		return 0;
	memcpy(to, &return_at, 8);
	memcpy(to + 8, u, KERNEL_CONTEXT);
	return b->at;
}

static void set_context(ucontext_t *u, const struct cpu_regs *regs, uint64_t vectors, uint64_t mask)
{
	const struct user_regs_struct *r = &regs->all;
	greg_t *g = u->uc_mcontext.gregs;
	memset(u, 0, sizeof *u);
	u->uc_flags = 7; /* extended state present, stack segment kept */
	u->uc_stack.ss_flags = NO_ALTSTACK;
	const unsigned long long general[][2] = {
		{REG_R8, r->r8},     {REG_R9, r->r9},     {REG_R10, r->r10}, {REG_R11, r->r11},
		{REG_R12, r->r12},   {REG_R13, r->r13},   {REG_R14, r->r14}, {REG_R15, r->r15},
		{REG_RDI, r->rdi},   {REG_RSI, r->rsi},   {REG_RBP, r->rbp}, {REG_RBX, r->rbx},
		{REG_RDX, r->rdx},   {REG_RAX, r->rax},   {REG_RCX, r->rcx}, {REG_RSP, regs->sp},
		{REG_RIP, regs->ip}, {REG_EFL, r->eflags}};
	for (size_t i = 0; i < sizeof general / sizeof *general; i++)
		g[general[i][0]] = (greg_t)general[i][1];
	g[REG_CSGSFS] = (greg_t)((r->cs & 0xffff) | (r->ss & 0xffff) << 48);
	u->uc_mcontext.fpregs = (fpregset_t)(uintptr_t)vectors;
	memcpy(&u->uc_sigmask, &mask, 8);
}

/* A system call clears no registers but those that its instruction does, which are restored as all
 * others. */
void *cpu_cleared_get(pid_t tid)
{
	(void)tid;
	return NULL;
}

void cpu_cleared_set(pid_t tid, const void *copy)
{
	(void)tid, (void)copy;
}

bool cpu_put_frames(struct hijack_call *c, const struct cpu_regs *r, struct hijack_frames *b)
{
	ucontext_t u;
	uint64_t vectors = put_vectors(b, c->t->tid);
	set_context(&u, r, vectors, c->mask);
	c->sp = vectors ? put_frame(b, c->h->return_at, &u) : 0;
	struct cpu_regs end = {.ip = c->call_at,
			       .sp = c->sp,
			       .all = {.rax = SYS_exit_group,
				       .eflags = 0x202,
				       .cs = CODE_SEGMENT,
				       .ss = STACK_SEGMENT}};
	set_context(&u, &end, 0, UINT64_MAX);
	c->copy_sp = c->sp ? put_frame(b, c->h->return_at, &u) : 0;
	return c->copy_sp != 0;
}

/* SPDX-License-Identifier: MIT
 * x86-64: registers of a stopped thread, and the instruction bytes for system calls.
 */
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "cpu.h"

#define FLAG_TRAP 0x100u
#define CODE_SEGMENT 0x33u
#define STACK_SEGMENT 0x2bu
enum { CALL_BYTES = 2 };

void cpu_regs_sort(struct cpu_regs *r)
{
	const struct user_regs_struct *u = &r->all;
	r->ip = u->rip;
	r->sp = u->rsp;
	r->tp = u->fs_base;
	r->call = (int64_t)u->orig_rax;
	r->result = (int64_t)u->rax;
	const uint64_t args[6] = {u->rdi, u->rsi, u->rdx, u->r10, u->r8, u->r9};
	for (unsigned i = 0; i < 6; i++)
		r->args[i] = args[i];
}

int cpu_regs_get(pid_t tid, struct cpu_regs *r)
{
	if (ptrace(PTRACE_GETREGS, tid, NULL, &r->all))
		return -1;
	cpu_regs_sort(r);
	return 0;
}

int cpu_regs_set(pid_t tid, const struct cpu_regs *r)
{
	struct user_regs_struct u = r->all;
	u.rip = r->ip;
	u.rsp = r->sp;
	return ptrace(PTRACE_SETREGS, tid, NULL, &u) ? -1 : 0;
}

size_t cpu_vectors_get(pid_t tid, void *to, size_t bytes)
{
	struct iovec v = {to, bytes};
	return ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &v) ? 0 : v.iov_len;
}

/* `back` is the first word of the frame at `sp`. */
void cpu_regs_call(struct cpu_regs *r, long number, const uint64_t args[6], uint64_t at,
		   uint64_t sp, uint64_t back)
{
	struct user_regs_struct *u = &r->all;
	(void)back;
	r->ip = at;
	r->sp = sp;
	u->orig_rax = UINT64_MAX;
	u->rax = (uint64_t)number;
	u->rdi = args[0];
	u->rsi = args[1];
	u->rdx = args[2];
	u->r10 = args[3];
	u->r8 = args[4];
	u->r9 = args[5];
	u->eflags &= ~(unsigned long long)FLAG_TRAP;
}

void cpu_regs_waited(struct cpu_regs *r, const struct cpu_regs *before)
{
	(void)r, (void)before;
}

void cpu_regs_again(struct cpu_regs *r, int64_t number)
{
	r->all.rax = (uint64_t)number;
	r->all.orig_rax = UINT64_MAX;
	r->call = -1;
	r->ip -= CALL_BYTES;
}

int64_t cpu_call_newer(int64_t call)
{
	switch (call) {
	case SYS_fork:
	case SYS_vfork:
		return SYS_clone;
	case SYS_poll:
	case SYS_pause:
		return SYS_ppoll;
	case SYS_select:
		return SYS_pselect6;
	case SYS_open:
		return SYS_openat;
	case SYS_epoll_wait:
		return SYS_epoll_pwait;
	default:
		return call;
	}
}

/* Checks the segment registers, which follow the instruction pointer and the flags. */
bool cpu_is_signal_frame(const uint64_t *ip)
{
	return (ip[2] & 0xffff) == CODE_SEGMENT && ip[2] >> 48 == STACK_SEGMENT;
}

const struct cpu_code cpu_call_code = {3, {0x0f, 0x05, 0xc3}}; /* syscall; ret */
/* mov $15, %rax (or %eax); syscall */
const struct cpu_code cpu_return_code[2] = {
	{9, {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05}},
	{7, {0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05}},
};

/* SPDX-License-Identifier: MIT
 * aarch64: registers of a stopped thread, and the instruction bytes for system calls.
 */
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "cpu.h"

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif
enum { NUMBER = 8, CALL_BYTES = 4 };

static bool get(pid_t tid, int what, void *to, size_t bytes)
{
	struct iovec v = {to, bytes};
	return !ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)what, &v) && v.iov_len == bytes;
}

static bool set(pid_t tid, int what, void *from, size_t bytes)
{
	struct iovec v = {from, bytes};
	return !ptrace(PTRACE_SETREGSET, tid, (void *)(uintptr_t)what, &v);
}

/* A call that a stop has interrupted is none any more: the kernel has put its arguments and the
 * instruction pointer back already. */
int cpu_regs_get(pid_t tid, struct cpu_regs *r)
{
	struct user_regs_struct *u = &r->all;
	int32_t call = -1;
	if (!get(tid, NT_PRSTATUS, u, sizeof *u) || !get(tid, NT_ARM_TLS, &r->tp, sizeof r->tp) ||
	    !get(tid, NT_ARM_SYSTEM_CALL, &call, sizeof call))
		return -1;
	r->ip = u->pc;
	r->sp = u->sp;
	r->call = call;
	r->result = (int64_t)u->regs[0];
	for (unsigned i = 0; i < 6; i++)
		r->args[i] = u->regs[i];
	return 0;
}

int cpu_regs_set(pid_t tid, const struct cpu_regs *r)
{
	struct user_regs_struct u = r->all;
	int32_t call = (int32_t)r->call;
	u.pc = r->ip;
	u.sp = r->sp;
	return set(tid, NT_PRSTATUS, &u, sizeof u) &&
			       set(tid, NT_ARM_SYSTEM_CALL, &call, sizeof call)
		       ? 0
		       : -1;
}

size_t cpu_vectors_get(pid_t tid, void *to, size_t bytes)
{
	struct iovec v = {to, bytes};
	return ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRFPREG, &v) ? 0 : v.iov_len;
}

void cpu_regs_call(struct cpu_regs *r, long number, const uint64_t args[6], uint64_t at,
		   uint64_t sp)
{
	r->ip = at;
	r->sp = sp;
	r->call = -1;
	r->all.regs[NUMBER] = (uint64_t)number;
	for (unsigned i = 0; i < 6; i++)
		r->all.regs[i] = args[i];
}

void cpu_regs_again(struct cpu_regs *r, int64_t number)
{
	r->all.regs[NUMBER] = (uint64_t)number;
	r->call = -1;
	r->ip -= CALL_BYTES;
}

int64_t cpu_call_newer(int64_t call)
{
	return call;
}

/* Nothing behind the instruction pointer says what it is, so a word that looks like one is
 * taken for a return address. */
bool cpu_is_signal_frame(const uint64_t *ip)
{
	(void)ip;
	return false;
}

const struct cpu_code cpu_call_code = {8, {0x01, 0x00, 0x00, 0xd4, 0xc0, 0x03, 0x5f, 0xd6}};
/* mov x8, #139; svc #0 */
const struct cpu_code cpu_return_code[2] = {
	{8, {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}},
	{8, {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}},
};

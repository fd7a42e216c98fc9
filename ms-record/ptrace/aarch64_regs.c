/* SPDX-License-Identifier: MIT
 * aarch64: registers of a stopped thread, and the instruction bytes for system calls.
 *
 * The kernel tells a tracer nothing of an interrupted system call. Where it would make the call
 * again, it has already set the instruction pointer back to the `svc`, and x0 to the first
 * argument; how it makes the call again (restart_syscall) is lost once the thread has been made to
 * do other calls. Where the call fails with EINTR, its first argument is lost. So cpu_regs_waited
 * compares the registers with what /proc said before the stop, and sets `call`, `result`, `args`
 * and `ip` to what other processors show: the kernel's own error, behind the `svc`. cpu_regs_set
 * undoes that.
 */
#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "cpu.h"

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif
enum { DIRECTION = 7, NUMBER = 8, LINK = 30, CALL_BYTES = 4 };
#define LANDS                                                                                      \
	UINT64_C(0xc00) /* of the processor state: an indirect branch has just been executed */
/* errors of interrupted calls inside the kernel: those that are made again from their beginning, and
 * by restart_syscall */
enum { RESTART = 512, RESTART_BLOCK = 516 };

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

void cpu_regs_sort(struct cpu_regs *r)
{
	const struct user_regs_struct *u = &r->all;
	r->ip = u->pc;
	r->sp = u->sp;
	r->result = (int64_t)u->regs[0];
	for (unsigned i = 0; i < 6; i++)
		r->args[i] = u->regs[i];
}

/* At a stop before a system call x7 is 0, and 1 behind it; there is no result before. */
int cpu_regs_get(pid_t tid, struct cpu_regs *r)
{
	struct user_regs_struct *u = &r->all;
	int32_t call = -1;
	if (!get(tid, NT_PRSTATUS, u, sizeof *u) || !get(tid, NT_ARM_TLS, &r->tp, sizeof r->tp) ||
	    !get(tid, NT_ARM_SYSTEM_CALL, &call, sizeof call))
		return -1;
	cpu_regs_sort(r);
	r->call = call;
	r->result = call >= 0 && !u->regs[DIRECTION] ? -ENOSYS : (int64_t)u->regs[0];
	return 0;
}

/* Tells whether the kernel resumes this call by restart_syscall if it was interrupted. */
static bool resumes(const struct cpu_regs *r)
{
	switch (r->call) {
	case SYS_nanosleep:
	case SYS_restart_syscall:
		return true;
	case SYS_clock_nanosleep:
		return !(r->args[1] & TIMER_ABSTIME);
	case SYS_futex:
		return r->args[3] && ((r->args[1] & FUTEX_CMD_MASK) == FUTEX_WAIT ||
				      (r->args[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET);
	default:
		return false;
	}
}

void cpu_regs_waited(struct cpu_regs *r, const struct cpu_regs *before)
{
	const unsigned long long *x = r->all.regs;
	bool again = r->ip + CALL_BYTES == before->ip && x[0] == before->args[0];
	bool failed = r->ip == before->ip && r->result == -EINTR;
	bool same = r->call < 0 && r->sp == before->sp && x[NUMBER] == (uint64_t)before->call;
	for (unsigned i = 1; i < 6; i++)
		same = same && x[i] == before->args[i];
	if (!same || (!again && !failed))
		return;
	r->call = before->call;
	r->args[0] = before->args[0];
	r->ip = before->ip;
	if (again)
		r->result = resumes(r) ? -RESTART_BLOCK : -RESTART;
}

int cpu_regs_set(pid_t tid, const struct cpu_regs *r)
{
	struct cpu_regs to = *r;
	int32_t none = -1;
	if (r->call >= 0 && r->result == -RESTART)
		cpu_regs_again(&to, r->call);
	else if (r->call >= 0 && r->result == -RESTART_BLOCK)
		cpu_regs_again(&to, SYS_restart_syscall);
	to.all.pc = to.ip;
	to.all.sp = to.sp;
	return set(tid, NT_PRSTATUS, &to.all, sizeof to.all) &&
			       (to.call >= 0 || set(tid, NT_ARM_SYSTEM_CALL, &none, sizeof none))
		       ? 0
		       : -1;
}

size_t cpu_vectors_get(pid_t tid, void *to, size_t bytes)
{
	struct iovec v = {to, bytes};
	return ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRFPREG, &v) ? 0 : v.iov_len;
}

void cpu_regs_call(struct cpu_regs *r, long number, const uint64_t args[6], uint64_t at,
		   uint64_t sp, uint64_t back)
{
	r->ip = at;
	r->sp = sp;
	r->call = -1;
	r->all.pstate &= ~LANDS;
	r->all.regs[NUMBER] = (uint64_t)number;
	r->all.regs[LINK] = back;
	for (unsigned i = 0; i < 6; i++)
		r->all.regs[i] = args[i];
}

void cpu_regs_again(struct cpu_regs *r, int64_t number)
{
	r->all.regs[NUMBER] = (uint64_t)number;
	r->all.regs[0] = r->args[0];
	r->call = -1;
	r->ip -= CALL_BYTES;
}

int64_t cpu_call_newer(int64_t call)
{
	return call;
}

/* Checks the processor state that follows the instruction pointer, and the head of the vector
 * registers behind that, which the kernel always writes. */
bool cpu_is_signal_frame(const uint64_t *ip)
{
	const uint64_t user = UINT64_C(0xf3201c00), vectors = UINT64_C(528) << 32 | 0x46508001;
	return !(ip[1] & ~user) && ip[3] == vectors;
}

/* svc #0; ret */
const struct cpu_code cpu_call_code = {8, {0x01, 0x00, 0x00, 0xd4, 0xc0, 0x03, 0x5f, 0xd6}};
/* mov x8, #139; svc #0 */
const struct cpu_code cpu_return_code[2] = {
	{8, {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}},
	{8, {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}},
};

/* SPDX-License-Identifier: MIT
 * What a thread waits for in the kernel, and what it would find if it were stopped there.
 *
 * Left alone, it finds nothing. If it has to be stopped, most calls go on as if nothing had been:
 * the kernel begins them again, or returns EINTR and we do. Those that have moved some of their
 * bytes already return short, and nobody can help it; the program asked for that by waiting in
 * them.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "hijack_private.h"
#include "libcommon/proc/proc.h"

/* ---- where it waits ---- */

/* Before they return, the process has a child, another program or a thread less, or the thread is
 * somewhere else. */
static bool is_left_elsewhere(uint64_t call)
{
	return call == SYS_fork || call == SYS_vfork || call == SYS_clone || call == SYS_clone3 ||
	       call == SYS_execve || call == SYS_execveat || call == SYS_exit ||
	       call == SYS_exit_group || call == SYS_rt_sigreturn;
}

/* The kernel says where a thread is only if it was off all processors while it looked. Then it
 * stands in a system call that it made at rip - 2, and its next instruction in user mode is behind
 * that, or in a handler. */
bool hijack_waits(int proc, struct hijack_thread *t)
{
	char text[256];
	unsigned long long v[9];
	if (!hijack_text(proc, t->tid, "syscall", text, sizeof text) || text[0] == '-' ||
	    sscanf(text, "%llu %llx %llx %llx %llx %llx %llx %llx %llx", &v[0], &v[1], &v[2], &v[3],
		   &v[4], &v[5], &v[6], &v[7], &v[8]) != 9 ||
	    is_left_elsewhere(v[0]))
		return false;
	t->regs.orig_rax = v[0];
	t->regs.rdi = v[1];
	t->regs.rsi = v[2];
	t->regs.rdx = v[3];
	t->regs.r10 = v[4];
	t->regs.rsp = v[7];
	t->regs.rip = v[8];
	return true;
}

/* ---- what stopping does to it ---- */

/* The kernel itself begins them again, with what is left of their time. */
static const int resumed[] = {SYS_nanosleep,       SYS_clock_nanosleep, SYS_poll,
			      SYS_ppoll,           SYS_select,          SYS_pselect6,
			      SYS_futex,           449 /* waitv */,     SYS_pause,
			      SYS_rt_sigsuspend,   SYS_wait4,           SYS_waitid,
			      SYS_flock,           SYS_fcntl,           SYS_msgrcv,
			      SYS_msgsnd,          SYS_mq_timedsend,    SYS_open,
			      SYS_mq_timedreceive, SYS_openat,          SYS_restart_syscall};

/* System calls that return EINTR on a stop and can be made again as they were: nothing has happened
 * in them yet. Never close. */
static const int repeated[] = {
	SYS_epoll_wait,      SYS_epoll_pwait, SYS_epoll_pwait2,  SYS_semop,         SYS_semtimedop,
	SYS_rt_sigtimedwait, SYS_recvfrom,    SYS_recvmsg,       SYS_recvmmsg,      SYS_sendto,
	SYS_sendmsg,         SYS_sendmmsg,    SYS_accept,        SYS_accept4,       SYS_read,
	SYS_readv,           SYS_write,       SYS_writev,        SYS_io_getevents,  SYS_futex,
	SYS_pread64,         SYS_pwrite64,    SYS_preadv,        SYS_pwritev,       SYS_preadv2,
	SYS_pwritev2,        SYS_connect,     SYS_io_pgetevents, SYS_io_uring_enter};

static bool is_in(uint64_t call, const int *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (call == (uint64_t)calls[i])
			return true;
	return false;
}
#define IS_IN(call, calls) is_in(call, calls, sizeof(calls) / sizeof *(calls))

/* May it have done a part of what it is to do, which it then says? */
static bool is_in_parts(const struct user_regs_struct *r)
{
	switch (r->orig_rax) {
	case SYS_recvfrom:
		return r->r10 & MSG_WAITALL;
	case SYS_recvmsg:
		return r->rdx & MSG_WAITALL;
	case SYS_io_uring_enter:
		return r->rsi != 0; /* it says how many it has taken, not that it waited for none */
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_recvmmsg:
	case SYS_connect:
		return true;
	default:
		return false;
	}
}

enum hijack_trace hijack_trace_of(int proc, struct hijack_thread *t)
{
	if (!hijack_waits(proc, t))
		return HIJACK_RUNS;
	if (IS_IN(t->regs.orig_rax, resumed))
		return HIJACK_RESUMED;
	return IS_IN(t->regs.orig_rax, repeated) && !is_in_parts(&t->regs) ? HIJACK_REPEATED
									   : HIJACK_CUT_SHORT;
}

/* ---- repaired ---- */

/* Is a signal waiting that the thread would notice? Then the call was broken off for good reason.
 * One that is ignored waits only because the process is traced. */
static bool signal_waits(const char *status)
{
	static const int silent[] = {SIGCHLD, SIGURG, SIGWINCH, SIGCONT};
	uint64_t waits =
		ms_proc_status_mask(status, "\nSigPnd:") | ms_proc_status_mask(status, "\nShdPnd:");
	uint64_t ignored = 0;
	for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
		ignored |= UINT64_C(1) << (silent[i] - 1);
	ignored &= ~ms_proc_status_mask(status, "\nSigCgt:");
	ignored |= ms_proc_status_mask(status, "\nSigIgn:");
	return (waits & ~ignored & ~ms_proc_status_mask(status, "\nSigBlk:")) != 0;
}

/* The kernel goes on with a sleep by a system call of its own, restart_syscall, which a filter may
 * forbid. There the sleep begins anew instead. */
static bool sleeps(const struct user_regs_struct *r)
{
	enum { RESTART_BLOCK = 516 };
	return (int64_t)r->rax == -RESTART_BLOCK;
}

bool hijack_repair(struct user_regs_struct *r, int proc, pid_t tid)
{
	char status[4096];
	bool broken = (int64_t)r->rax == -EINTR && IS_IN(r->orig_rax, repeated);
	if ((int64_t)r->orig_rax < 0 || (!broken && !sleeps(r)))
		return false;
	hijack_text(proc, tid, "status", status, sizeof status);
	if ((!broken && !ms_proc_status_number(status, "\nSeccomp:", 0)) || signal_waits(status))
		return false;
	r->rax = r->orig_rax;
	r->rip -= 2;
	r->orig_rax = UINT64_MAX;
	return true;
}

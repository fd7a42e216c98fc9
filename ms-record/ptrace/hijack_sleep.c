/* SPDX-License-Identifier: MIT
 * Finds what a thread waits for in the kernel, and what it would notice of a stop.
 *
 * A thread that is not stopped notices nothing. Of a stop most system calls show no effect: the
 * kernel restarts them, or returns EINTR and we repeat them. Calls that have transferred some of
 * their bytes return early, which cannot be avoided.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "hijack_private.h"
#include "libcommon/proc/proc_text.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

/* ---- where it waits ---- */

/* Lists system calls in which a thread never counts as waiting: before they return, they create or
 * end a process or thread, or change where the thread runs. */
static const int elsewhere[] = {SYS_clone, SYS_clone3,     SYS_execve,      SYS_execveat,
				SYS_exit,  SYS_exit_group, SYS_rt_sigreturn};

static bool is_in(int64_t call, const int *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (cpu_call_newer(call) == calls[i])
			return true;
	return false;
}
#define IS_IN(call, calls) is_in(call, calls, sizeof(calls) / sizeof *(calls))

/* Reads the thread's /proc file "syscall", which shows registers only if the thread was off all
 * processors: it is then in a system call and continues after it, or in a handler. */
bool hijack_waits(int proc, struct hijack_thread *t)
{
	char text[256];
	unsigned long long call, a[6], sp, ip;
	if (!hijack_text(proc, t->tid, "syscall", text, sizeof text) || text[0] == '-' ||
	    sscanf(text, "%llu %llx %llx %llx %llx %llx %llx %llx %llx", &call, &a[0], &a[1], &a[2],
		   &a[3], &a[4], &a[5], &sp, &ip) != 9 ||
	    IS_IN((int64_t)call, elsewhere))
		return false;
	for (unsigned i = 0; i < 6; i++)
		t->regs.args[i] = a[i];
	t->regs.call = (int64_t)call;
	t->regs.sp = sp;
	t->regs.ip = ip;
	return true;
}

/* ---- what stopping does to it ---- */

/* Lists system calls that the kernel itself restarts with the remaining time. */
static const int resumed[] = {
	SYS_nanosleep,   SYS_clock_nanosleep, SYS_ppoll,  SYS_pselect6,      SYS_futex,
	SYS_futex_waitv, SYS_wait4,           SYS_waitid, SYS_rt_sigsuspend, SYS_flock,
	SYS_fcntl,       SYS_msgrcv,          SYS_msgsnd, SYS_mq_timedsend,  SYS_mq_timedreceive,
	SYS_openat,      SYS_restart_syscall};

/* Lists system calls that return EINTR on a stop and can be repeated unchanged, because nothing
 * has happened in them yet. close must never be listed. */
static const int repeated[] = {
	SYS_epoll_pwait, SYS_epoll_pwait2,  SYS_semop,         SYS_semtimedop, SYS_rt_sigtimedwait,
	SYS_recvfrom,    SYS_recvmsg,       SYS_recvmmsg,      SYS_sendto,     SYS_sendmsg,
	SYS_sendmmsg,    SYS_accept,        SYS_accept4,       SYS_read,       SYS_readv,
	SYS_write,       SYS_writev,        SYS_io_getevents,  SYS_futex,      SYS_pread64,
	SYS_pwrite64,    SYS_preadv,        SYS_pwritev,       SYS_preadv2,    SYS_pwritev2,
	SYS_connect,     SYS_io_pgetevents, SYS_io_uring_enter};

/* Tells whether the call may have done a part of its work, which its result would report. */
static bool is_in_parts(const struct cpu_regs *r)
{
	switch (r->call) {
	case SYS_recvfrom:
		return r->args[3] & MSG_WAITALL;
	case SYS_recvmsg:
		return r->args[2] & MSG_WAITALL;
	case SYS_io_uring_enter:
		return r->args[1] !=
		       /* io_uring_enter reports the number submitted, not that the wait was cut
		        * short */
		       0;
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
	if (IS_IN(t->regs.call, resumed))
		return HIJACK_RESUMED;
	return IS_IN(t->regs.call, repeated) && !is_in_parts(&t->regs) ? HIJACK_REPEATED
								       : HIJACK_CUT_SHORT;
}

/* ---- repaired ---- */

/* Tells whether a signal is pending that the thread would notice: its call must then stay
 * interrupted. An ignored signal is pending only because the process is traced. */
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

bool hijack_repair(struct cpu_regs *r, int proc, pid_t tid)
{
	char status[4096];
	bool broken = r->result == -EINTR && IS_IN(r->call, repeated);
	/* The kernel resumes a sleep by the system call restart_syscall, which a filter may forbid.
	 * With a filter the sleep starts anew instead. */
	bool sleeps = r->result == -HIJACK_RESTART_BLOCK;
	if (r->call < 0 || (!broken && !sleeps))
		return false;
	hijack_text(proc, tid, "status", status, sizeof status);
	if ((!broken && !ms_proc_status_number(status, "\nSeccomp:", 0)) || signal_waits(status))
		return false;
	cpu_regs_again(r, r->call);
	return true;
}

/* SPDX-License-Identifier: MIT
 * Makes system calls in a stopped thread.
 *
 * The thread is set to a `syscall` instruction found in its memory, with registers that show no
 * system call in progress, so that the kernel restarts none. It stops before and after the call
 * (PTRACE_SYSCALL): no breakpoint is written, nothing is pushed on its stack, vector registers
 * stay untouched.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ms-record/base/clock.h"
#include "hijack_private.h"
#include "libcommon/base/err.h"

#define CALL_NS UINT64_C(5000000000)
#define OPTIONS PTRACE_O_TRACESYSGOOD
#define BIRTHS (PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK)
#define AT_CALL (SIGTRAP | 0x80)
#define TRIES 20

#ifndef PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG
#define PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG 0x4211
#endif

static long trace(int what, pid_t tid, uint64_t address, uint64_t data)
{
	return ptrace(what, tid, (void *)(uintptr_t)address, (void *)(uintptr_t)data);
}

/* ---- borrowed ---- */

static bool dispatched(pid_t tid)
{
	struct {
		uint64_t mode, selector, offset, len;
	} config = {0};
	return trace(PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, tid, sizeof config,
		     (uintptr_t)&config) == 0 &&
	       config.mode;
}

/* Sets ptrace options and suspends seccomp filters. If suspending is not permitted, fails only if
 * the thread has a filter; checking for one first would take longer. Returns 0, or -1 with errno
 * set. */
static int set_options(const struct hijack_call *c, uint64_t more)
{
	pid_t tid = c->t->tid;
	more |= OPTIONS;
	if (!trace(PTRACE_SETOPTIONS, tid, 0, more | PTRACE_O_SUSPEND_SECCOMP))
		return 0;
	int saved = errno;
	if (!hijack_status(c->h->proc, tid, "\nSeccomp:\t", 10))
		return trace(PTRACE_SETOPTIONS, tid, 0, more) ? -1 : 0;
	errno = saved;
	return -1;
}

/* Prepares a stopped thread for system calls: suspends filters, builds the safety net on its
 * stack, blocks signals. Returns 0, or -1 with `err` set. */
static int prepare(struct hijack_call *c, struct hijack *h, unsigned flags, struct ms_err *err)
{
	pid_t tid = c->t->tid;
	if (c->t->gone)
		return ms_err_set(err, "thread %d has ended", (int)tid);
	if (c->t->asleep || c->t->new_child)
		return ms_err_set(err, "thread %d is in a system call that must not be interrupted",
				  (int)tid);
	if (hijack_in_rseq(h, c->t))
		return ms_err_set(err, "thread %d is in a restartable sequence (rseq): try again",
				  (int)tid);
	if (dispatched(tid))
		return ms_err_set(
			err, "thread %d uses syscall user dispatch, which intercepts system calls",
			(int)tid);
	if (hijack_find_code(h))
		return ms_err_set(err, "no syscall instruction was found in its memory; if it has "
				       "just become another program, try again");
	c->call_at = h->call_at;
	if (set_options(c, 0))
		return ms_err_sys(
			err,
			"the seccomp filter of thread %d cannot be suspended (needs CAP_SYS_ADMIN)",
			(int)tid);
	if (trace(PTRACE_GETSIGMASK, tid, 8, (uintptr_t)&c->mask))
		return ms_err_sys(err, "the signal mask of thread %d cannot be read", (int)tid);
	struct ms_err why = {0};
	if (hijack_spread_net(c, &why)) {
		if (!(flags & HIJACK_NO_NET))
			return ms_err_set(err, "%s", why.text);
		c->sp = c->t->regs.sp;
	}
	uint64_t all = UINT64_MAX;
	if (trace(PTRACE_SETSIGMASK, tid, 8, (uintptr_t)&all))
		return ms_err_sys(err, "the signals of thread %d cannot be blocked", (int)tid);
	return 0;
}

int hijack_borrow(struct hijack_call *c, struct hijack *h, struct hijack_thread *t, unsigned flags,
		  struct ms_err *err)
{
	*c = (struct hijack_call){.h = h, .t = t};
	if (!prepare(c, h, flags, err)) {
		c->cleared = cpu_cleared_get(t->tid);
		return 0;
	}
	hijack_take_net(c);
	trace(PTRACE_SETOPTIONS, t->tid, 0, 0);
	return -1;
}

/* ---- one call ---- */

static void begin(struct hijack_call *c)
{
	c->deadline_ns = clock_mono() + CALL_NS;
}

/* Waits for the thread's next stop. Returns 0, or -1 with errno set. */
static int await(struct hijack_call *c, pid_t tid, int *status)
{
	*status = 0;
	pid_t r = clock_mono() > c->deadline_ns ? 0 : hijack_wait(tid, status, c->deadline_ns);
	if (r == tid && WIFSTOPPED(*status))
		return 0;
	c->t->gone |= r && tid == c->t->tid;
	errno = r ? ESRCH : ETIMEDOUT;
	return -1;
}

/* Tells whether a signal stop is for a fault of the thread itself, not for a signal that was
 * sent. */
static bool is_fault(pid_t tid)
{
	siginfo_t info = {0};
	return !trace(PTRACE_GETSIGINFO, tid, 0, (uintptr_t)&info) && info.si_code > 0 &&
	       (info.si_signo == SIGSEGV || info.si_signo == SIGBUS || info.si_signo == SIGILL ||
		info.si_signo == SIGFPE || info.si_signo == SIGTRAP);
}

/* Runs the thread to the next stop before or after a system call. *new_child: a child that the
 * thread created meanwhile. Returns 0, or -1 with errno set. */
static int step(struct hijack_call *c, pid_t *new_child)
{
	unsigned long pid;
	int status;
	for (;;) {
		hijack_beat();
		c->away = true;
		if (trace(PTRACE_SYSCALL, c->t->tid, 0, 0) || await(c, c->t->tid, &status))
			return -1;
		int event = status >> 16, sig = WSTOPSIG(status);
		if (!event && sig == AT_CALL)
			return 0;
		if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
		    event == PTRACE_EVENT_VFORK) {
			if (new_child && !trace(PTRACE_GETEVENTMSG, c->t->tid, 0, (uintptr_t)&pid))
				*new_child = (pid_t)pid;
		} else if (!event && is_fault(c->t->tid)) {
			errno = EFAULT;
			return -1;
		} else if (!event) {
			c->held = sig; /* SIGSTOP: sent again in hijack_give_back */
		}
	}
}

/* Tells whether the kernel interrupted the system call and expects it to be made again. */
static bool broken_off(int64_t result)
{
	return result <= -512 && result >= -HIJACK_RESTART_BLOCK;
}

static int call(struct hijack_call *c, long number, const uint64_t a[6], int64_t *result,
		pid_t *new_child)
{
	begin(c);
	/* A fault while signals are blocked kills the process, so check first that the
	 * instruction is still there: another thread, or a system call made for ms-record, may
	 * have unmapped it. */
	for (int i = 0; i < TRIES && hijack_is_code(c->h, c->call_at, &cpu_call_code); i++) {
		struct cpu_regs r = c->t->regs;
		cpu_regs_call(&r, number, a, c->call_at, c->sp, c->h->return_at);
		if (cpu_regs_set(c->t->tid, &r) || step(c, new_child) || step(c, new_child) ||
		    cpu_regs_get(c->t->tid, &r))
			return -1;
		*result = r.result;
		if (!broken_off(*result))
			return 0;
	}
	errno = EFAULT;
	return -1;
}

int hijack_call(struct hijack_call *c, long number, const uint64_t args[6], int64_t *result)
{
	return call(c, number, args, result, NULL);
}

/* ---- copies ---- */

/* Waits until the new child is stopped. The child stays stopped, and is killed when this thread
 * ends. Returns 0, or -1 with errno set. */
static int keep(struct hijack_call *c, pid_t own)
{
	int status;
	begin(c);
	if (await(c, own, &status) || trace(PTRACE_SETOPTIONS, own, 0, PTRACE_O_EXITKILL)) {
		int saved = errno;
		hijack_kill(own);
		errno = saved;
		return -1;
	}
	return 0;
}

int hijack_copy(struct hijack_call *c, pid_t *own, pid_t *its)
{
	int64_t result = 0;
	*own = *its = 0;
	if (!c->frame || set_options(c, BIRTHS)) {
		errno = c->frame ? errno : EBUSY;
		return -1;
	}
	int rc = call(c, SYS_clone,
		      (const uint64_t[6]){CLONE_FS | CLONE_FILES, c->copy_sp, 0, 0, 0, 0}, &result,
		      own);
	if (!rc)
		set_options(c, 0);
	if (!rc && result < 0) {
		errno = (int)-result;
		rc = -1;
	}
	*its = result > 0 ? (pid_t)result : 0;
	if (rc || !*own) {
		errno = rc ? errno : ECHILD;
		return -1;
	}
	rc = keep(c, *own);
	*own = rc ? 0 : *own;
	return rc;
}

void hijack_kill(pid_t own)
{
	uint64_t deadline_ns = clock_mono() + CALL_NS;
	int status;
	if (kill(own, SIGKILL))
		return;
	while (hijack_wait(own, &status, deadline_ns) == own && WIFSTOPPED(status) &&
	       clock_mono() < deadline_ns)
		continue;
}

int hijack_reap(struct hijack_call *c, pid_t its)
{
	int64_t result;
	if (HIJACK_CALL(c, &result, SYS_wait4, (uint64_t)its, 0, __WALL | WNOHANG, 0, 0, 0))
		return -1;
	errno = result < 0 ? (int)-result : 0;
	return result == its ? 0 : -1;
}

/* ---- given back ---- */

/* Brings the thread from the end of a system call, or from one that did not end in time, to a stop
 * where signals are taken, without running in user mode. Returns 0, or -1 with errno set. */
static int come_back(struct hijack_call *c)
{
	int status;
	if (!c->away)
		return 0;
	if (trace(PTRACE_INTERRUPT, c->t->tid, 0, 0))
		return -1;
	begin(c);
	for (;;) {
		trace(PTRACE_CONT, c->t->tid, 0, 0);
		if (await(c, c->t->tid, &status))
			return -1;
		if (status >> 16 == PTRACE_EVENT_STOP)
			return 0;
		if (status >> 16 == 0 && WSTOPSIG(status) != AT_CALL && !is_fault(c->t->tid)) {
			c->t->signal = WSTOPSIG(status);
			return 0;
		}
	}
}

int hijack_give_back(struct hijack_call *c)
{
	pid_t tid = c->t->tid;
	int rc = come_back(c);
	if (!rc)
		rc = cpu_regs_set(c->t->tid, &c->t->regs);
	if (!rc && c->cleared)
		cpu_cleared_set(tid, c->cleared);
	int saved = errno;
	free(c->cleared);
	c->cleared = NULL;
	if (rc) {
		free(c->frame); /* only our copy: the frames stay on the thread's stack */
		c->frame = NULL;
		errno = saved;
		return -1;
	}
	trace(PTRACE_SETSIGMASK, tid, 8, (uintptr_t)&c->mask);
	hijack_take_net(c);
	trace(PTRACE_SETOPTIONS, tid, 0, 0);
	c->away = false;
	if (c->held)
		syscall(SYS_tgkill, c->h->pid, tid, c->held);
	return 0;
}

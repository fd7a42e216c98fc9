/* SPDX-License-Identifier: MIT
 * A traced process at the beginning of a program.
 *
 *   exec       it stops: the new program has executed nothing
 *   its tid    it runs from one system call to the next, until its C library has given the kernel
 *              the address of its thread id (set_tid_address). By then it has a thread pointer, by
 *              which the guest identifies threads, and glibc's linker has mapped the libraries;
 *              nothing has called malloc yet
 *   stopped    in a stop at which a thread can be borrowed (hijack.h)
 */
#include "beginning.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "ms-record/guest/layout.h"
#include "ms-record/base/clock.h"

#define AT_CALL (SIGTRAP | 0x80)
/* maximum number of system calls awaited: a program may never call set_tid_address */
#define CALLS_MOST 100000u
#define STEPS_MOST 400u

static long trace(int what, pid_t pid, uint64_t data)
{
	return ptrace(what, pid, NULL, (void *)(uintptr_t)data);
}

static bool quits(const struct beginning *b)
{
	return b->quit && __atomic_load_n(b->quit, __ATOMIC_ACQUIRE);
}

/* Waits for the next stop; *why: signal | event << 8. Returns false if *b->quit was set, or the
 * process has ended; its status is not reaped here. */
static bool await(const struct beginning *b, pid_t pid, int *why)
{
	siginfo_t i;
	while (!quits(b)) {
		memset(&i, 0, sizeof i);
		if (waitid(P_PID, (id_t)pid, &i, WEXITED | WSTOPPED | WNOWAIT | __WALL)) {
			if (errno == EINTR)
				continue;
			return false;
		}
		if (i.si_code == CLD_EXITED || i.si_code == CLD_KILLED || i.si_code == CLD_DUMPED)
			return false;
		memset(&i, 0, sizeof i);
		if (!waitid(P_PID, (id_t)pid, &i, WSTOPPED | WNOHANG | __WALL) && i.si_pid == pid) {
			*why = i.si_status;
			return true;
		}
	}
	return false;
}

/* Continues the process after a stop that is not the awaited one. */
static void pass(pid_t pid, int how, int why)
{
	int event = why >> 8, sig = why & 0xff;
	if (event == PTRACE_EVENT_STOP && sig != SIGTRAP)
		trace(PTRACE_LISTEN, pid, 0); /* stopped by a signal: the process stays stopped */
	else
		trace(how, pid, event || sig == AT_CALL ? 0 : (uint64_t)sig);
}

/* ---- its number ---- */

/* Tells whether the process has just returned from set_tid_address. *r: the registers at the last
 * stop; set to those of this one, with the argument that the call began with. */
static bool told(pid_t pid, struct cpu_regs *r)
{
	struct cpu_regs before = *r;
	if (cpu_regs_get(pid, r) || r->call != SYS_set_tid_address || r->result <= 0)
		return false;
	if (before.call == r->call)
		r->args[0] = before.args[0];
	return true;
}

static bool stands(pid_t pid, uint64_t at, uint32_t tid)
{
	errno = 0;
	long word = ptrace(PTRACE_PEEKDATA, pid, (void *)(uintptr_t)at, NULL);
	return !errno && (uint32_t)word == tid;
}

/* Writes the thread id to the argument of set_tid_address, where glibc is about to write it.
 * Returns false if the C library may not be glibc. */
static bool put_number(pid_t pid, const struct cpu_regs *r)
{
	uint32_t tid = (uint32_t)r->result;
	uint64_t at = r->tp + MG_TID_GLIBC;
	errno = 0;
	long word = ptrace(PTRACE_PEEKDATA, pid, (void *)(uintptr_t)at, NULL);
	uint64_t now = ((uint64_t)word & ~(uint64_t)UINT32_MAX) | tid;
	return r->args[0] == at && !errno &&
	       !ptrace(PTRACE_POKEDATA, pid, (void *)(uintptr_t)at, (void *)(uintptr_t)now);
}

/* Waits until the C library has stored the thread id, some instructions later. Used only if
 * put_number fails, because the process would be killed by SIGTRAP if ms-record were killed
 * during the single steps. */
static bool await_number(const struct beginning *b, pid_t pid, const struct cpu_regs *r)
{
	int why = SIGTRAP;
	uint32_t tid = (uint32_t)r->result;
	uint64_t tp = r->tp;
	if (!tp || put_number(pid, r))
		return tp != 0;
	for (unsigned i = 0; i < STEPS_MOST; i++) {
		if (stands(pid, tp + MG_TID_GLIBC, tid) || stands(pid, tp + MG_TID_MUSL, tid))
			return true;
		trace(PTRACE_SINGLESTEP, pid, why >> 8 || why == SIGTRAP ? 0 : (uint64_t)why);
		if (!await(b, pid, &why))
			return false;
	}
	return false;
}

static int reach_number(const struct beginning *b, pid_t pid, struct ms_err *err)
{
	struct cpu_regs r = {.call = -1};
	int why = 0;
	trace(PTRACE_SYSCALL, pid, 0);
	for (unsigned i = 0; i < CALLS_MOST; i++) {
		if (!await(b, pid, &why))
			return ms_err_set(err, quits(b) ? "recording had stopped"
							: "it ended while it was starting");
		if (why == AT_CALL && told(pid, &r))
			break;
		pass(pid, PTRACE_SYSCALL, why);
	}
	if (why != AT_CALL || !await_number(b, pid, &r))
		return ms_err_set(err,
				  "its C library is unknown, so its threads cannot be identified");
	return 0;
}

/* ---- stopped ---- */

static int stop_there(struct beginning *b, pid_t pid, struct ms_err *err)
{
	struct hijack_stop *s = &b->stop;
	int why = 0;
	*s = (struct hijack_stop){.begin_ns = clock_mono()};
	struct hijack_thread *t = MS_PUSH(&s->threads);
	*t = (struct hijack_thread){.tid = pid, .stop_ns = s->begin_ns};
	trace(PTRACE_INTERRUPT, pid, 0);
	trace(PTRACE_CONT, pid, 0);
	while (await(b, pid, &why) && why >> 8 != PTRACE_EVENT_STOP)
		trace(PTRACE_CONT, pid, why >> 8 ? 0 : (uint64_t)why);
	t->gone = why >> 8 != PTRACE_EVENT_STOP || cpu_regs_get(pid, &t->regs);
	return t->gone ? ms_err_set(err, "it ended while it was starting") : 0;
}

int beginning_reach(struct beginning *b, pid_t pid, struct ms_err *err)
{
	struct cpu_regs regs;
	b->sp = cpu_regs_get(pid, &regs) ? 0 : regs.sp;
	return reach_number(b, pid, err) || stop_there(b, pid, err) ? -1 : 0;
}

void beginning_free(struct beginning *b)
{
	free(b->stop.threads.v);
}

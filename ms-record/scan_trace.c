/* SPDX-License-Identifier: MIT
 * The end of a process that nothing in it can hold: abort, a fatal signal, a system call of its
 * own.
 *
 * With --leak-check=yes the command is traced from its start by a thread of ours. The kernel stops
 * every thread of it once more when it ends (PTRACE_EVENT_EXIT), its memory still in place. Each
 * leaves its registers there and goes on, but for the last: that one waits while the scan is made.
 * So nobody waits for anybody who waits for us, whether the kernel writes a core file before or
 * after.
 *
 * Meanwhile every signal comes by here before it is delivered. One that is ignored would not have
 * been noticed by a system call that waits; traced it breaks some off, and they are made again. The
 * exit status is not touched: only stops are waited for, and a thread is let go for good before it
 * ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "hijack_private.h"
#include "libcommon/arena.h"
#include "options.h"
#include "scan_work.h"
#include "session.h"

#define OPTIONS (PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)

struct tids {
	pid_t *v;
	size_t n, cap;
};

struct scan_trace {
	struct scanner *scanner;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	pid_t pid;
	int seized; /* under lock: 0 = not known, 1 = it is, -1 = it cannot be */
	bool over;  /* under lock: the scan at the end is done with its memory */
	/* The thread's alone. */
	struct tids tids;         /* that live */
	struct tids early;        /* of which their maker has not told yet */
	struct scan_thread *regs; /* of threads that came to their end with the process */
	size_t count, regs_room;
	unsigned missed; /* that left none */
};

/* ---- which threads ---- */

static bool has(const struct tids *l, pid_t tid)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i] == tid)
			return true;
	return false;
}

static void drop(struct tids *l, pid_t tid)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i] == tid)
			l->v[i--] = l->v[--l->n];
}

/* The thread is seen for the first time; perhaps before its maker told of it. */
static void on_birth(struct scan_trace *t, pid_t tid)
{
	if (has(&t->tids, tid))
		return;
	*MS_PUSH(&t->tids) = tid;
	*MS_PUSH(&t->early) = tid;
}

/* Its maker tells of it; it may have ended since. */
static void on_clone(struct scan_trace *t, pid_t maker)
{
	unsigned long born;
	if (ptrace(PTRACE_GETEVENTMSG, maker, NULL, &born))
		return;
	if (has(&t->early, (pid_t)born))
		drop(&t->early, (pid_t)born);
	else
		*MS_PUSH(&t->tids) = (pid_t)born;
}

/* ---- the end ---- */

static bool own_exit(struct scan_trace *t, pid_t tid, struct hijack_thread *h)
{
	*h = (struct hijack_thread){.tid = tid};
	if (!ptrace(PTRACE_GETREGS, tid, NULL, &h->regs))
		return h->regs.orig_rax == SYS_exit;
	t->missed++;
	h->gone = true;
	return true;
}

static void keep_registers(struct scan_trace *t, const struct hijack_thread *h)
{
	struct hijack_stop one = {.threads = {(struct hijack_thread *)h, 1, 1}};
	size_t n;
	struct scan_thread *r = scan_registers(&one, &n);
	if (t->count == t->regs_room) {
		t->regs_room = t->regs_room ? t->regs_room * 2 : 16;
		t->regs = ms_xrealloc(t->regs, t->regs_room, sizeof *t->regs);
	}
	t->regs[t->count++] = *r;
	free(r);
}

/* The last thread waits here. */
static void scan_now(struct scan_trace *t, pid_t tid)
{
	struct scanner *sc = t->scanner;
	pthread_mutex_lock(&t->lock);
	t->over = !scanner_hold(sc, t->pid, tid, t->regs, t->missed ? 0 : t->count);
	while (!t->over)
		pthread_cond_wait(&t->change, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

void scan_trace_over(struct scan_trace *t)
{
	pthread_mutex_lock(&t->lock);
	t->over = true;
	pthread_cond_signal(&t->change);
	pthread_mutex_unlock(&t->lock);
}

/* A thread is about to end; it goes on without us. */
static void on_exit_stop(struct scan_trace *t, pid_t tid)
{
	struct hijack_thread h;
	bool alone = own_exit(t, tid, &h);
	drop(&t->tids, tid);
	if (!h.gone && (!alone || !t->tids.n))
		keep_registers(t, &h);
	if (!t->tids.n)
		scan_now(t, tid);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

/* It was killed in such a way that it did not stop once more. */
static void on_death(struct scan_trace *t, pid_t tid)
{
	t->missed += has(&t->tids, tid);
	drop(&t->tids, tid);
}

/* ---- other stops ---- */

/* Lets a thread go on, unless it was killed meanwhile and stands at its end already. */
static void go_on(struct scan_trace *t, int how, pid_t tid, int sig)
{
	siginfo_t i;
	if (!ptrace(PTRACE_GETSIGINFO, tid, NULL, &i) && i.si_code >> 8 == PTRACE_EVENT_EXIT)
		on_exit_stop(t, tid);
	else
		ptrace(how, tid, NULL, (void *)(intptr_t)sig);
}

/* Of an exec nothing is left but the thread that made it, by the process's number. */
static void on_exec(struct scan_trace *t, pid_t tid)
{
	t->tids.n = t->early.n = t->count = t->missed = 0;
	*MS_PUSH(&t->tids) = tid;
}

/* A system call that this signal would not have broken off, were nobody looking, is made again. */
static void repair(pid_t tid, int sig)
{
	char name[32];
	snprintf(name, sizeof name, "/proc/%d", (int)tid);
	int proc = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return;
	uint64_t bit = UINT64_C(1) << (sig - 1);
	bool ignored = hijack_status(proc, tid, "\nSigIgn:\t", 16) & bit;
	bool caught = hijack_status(proc, tid, "\nSigCgt:\t", 16) & bit;
	bool silent = sig == SIGCHLD || sig == SIGURG || sig == SIGWINCH || sig == SIGCONT;
	struct user_regs_struct r;
	if ((ignored || (silent && !caught)) && !ptrace(PTRACE_GETREGS, tid, NULL, &r) &&
	    hijack_repair(&r, proc, tid))
		ptrace(PTRACE_SETREGS, tid, NULL, &r);
	close(proc);
}

static void on_signal(struct scan_trace *t, pid_t tid, int sig)
{
	repair(tid, sig);
	go_on(t, PTRACE_CONT, tid, sig);
}

static bool stops(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

/* A child that is no thread of it is none of ours. */
static bool is_stranger(struct scan_trace *t, pid_t tid)
{
	char name[48];
	snprintf(name, sizeof name, "/proc/%d/task/%d", (int)t->pid, (int)tid);
	return access(name, F_OK) != 0;
}

static void on_stop(struct scan_trace *t, pid_t tid, int status)
{
	int event = status >> 16, sig = WSTOPSIG(status);
	if (event == PTRACE_EVENT_EXIT) {
		on_exit_stop(t, tid);
	} else if (event == PTRACE_EVENT_STOP && is_stranger(t, tid)) {
		drop(&t->tids, tid);
		drop(&t->early, tid);
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
	} else if (event == PTRACE_EVENT_STOP && stops(sig)) {
		go_on(t, PTRACE_LISTEN, tid, 0);
	} else if (!event) {
		on_signal(t, tid, sig);
	} else {
		if (event == PTRACE_EVENT_EXEC)
			on_exec(t, tid);
		if (event == PTRACE_EVENT_CLONE)
			on_clone(t, tid);
		if (event == PTRACE_EVENT_STOP)
			on_birth(t, tid);
		go_on(t, PTRACE_CONT, tid, 0);
	}
}

/* ---- the thread ---- */

/* Waits for what happens to any thread. False: the process has ended, and its status is there for
 * whoever waits for it. */
static bool turn(struct scan_trace *t)
{
	siginfo_t i = {0};
	int status;
	if (waitid(P_ALL, 0, &i, WSTOPPED | WEXITED | WNOWAIT | __WALL | __WNOTHREAD))
		return errno == EINTR;
	bool ended = i.si_code == CLD_EXITED || i.si_code == CLD_KILLED || i.si_code == CLD_DUMPED;
	if (ended && i.si_pid == t->pid)
		return false;
	if (waitpid(i.si_pid, &status, __WALL | __WNOTHREAD | WNOHANG) != i.si_pid)
		return true;
	if (WIFSTOPPED(status))
		on_stop(t, i.si_pid, status);
	else
		on_death(t, i.si_pid);
	return true;
}

static void *run(void *arg)
{
	struct scan_trace *t = arg;
	bool good = !ptrace(PTRACE_SEIZE, t->pid, NULL, (void *)(uintptr_t)OPTIONS);
	pthread_mutex_lock(&t->lock);
	t->seized = good ? 1 : -1;
	pthread_cond_signal(&t->change);
	pthread_mutex_unlock(&t->lock);
	*MS_PUSH(&t->tids) = t->pid;
	while (good)
		good = turn(t);
	return NULL;
}

struct scan_trace *scan_trace_start(struct scanner *sc, pid_t pid)
{
	struct scan_trace *t = ms_xcalloc(1, sizeof *t);
	t->scanner = sc;
	t->pid = pid;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->change, NULL);
	if (pthread_create(&t->thread, NULL, run, t)) {
		free(t);
		return NULL;
	}
	pthread_mutex_lock(&t->lock);
	while (!t->seized)
		pthread_cond_wait(&t->change, &t->lock);
	int seized = t->seized;
	pthread_mutex_unlock(&t->lock);
	if (seized > 0)
		return t;
	scan_trace_free(t);
	return NULL;
}

void scan_trace_free(struct scan_trace *t)
{
	if (!t)
		return;
	pthread_join(t->thread, NULL);
	free(t->tids.v);
	free(t->early.v);
	free(t->regs);
	free(t);
}

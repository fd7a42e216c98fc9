/* SPDX-License-Identifier: MIT
 * Stops threads of a process for a short while, and has them go on as if nothing had been.
 */
#include <ctype.h>
#include <dirent.h>
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

#define STEP_US 30
#define ROUNDS_MAX 100
#define LATE_NS UINT64_C(60000000)
#define CANDIDATES_MAX 64u
#define RSEQ_TRIES 50

/* ---- which threads ---- */

static ssize_t slurp(int proc, pid_t tid, const char *file, char *to, size_t room)
{
	char name[48];
	snprintf(name, sizeof name, "task/%d/%s", (int)tid, file);
	int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, to, room - 1);
	if (fd >= 0)
		close(fd);
	to[n > 0 ? n : 0] = '\0';
	return n;
}

char hijack_state(int proc, pid_t tid)
{
	char text[512];
	slurp(proc, tid, "stat", text, sizeof text);
	const char *p = strrchr(text, ')');
	return p && p[1] ? p[2] : 0;
}

uint64_t hijack_status(int proc, pid_t tid, const char *label, int base)
{
	char text[4096];
	slurp(proc, tid, "status", text, sizeof text);
	const char *p = strstr(text, label);
	return p ? strtoull(p + strlen(label), NULL, base) : 0;
}

/* A thread of the kernel's among the process's, as io_uring has them, does not count: it runs no
 * code of the process. */
static bool alive(int proc, pid_t tid)
{
	enum { IO_WORKER = 0x10 };
	char text[512], c;
	unsigned flags;
	slurp(proc, tid, "stat", text, sizeof text);
	const char *p = strrchr(text, ')');
	return p && sscanf(p + 1, " %c %*d %*d %*d %*d %*d %u", &c, &flags) == 2 && c != 'Z' &&
	       c != 'X' && !(flags & IO_WORKER);
}

static DIR *open_tasks(int proc)
{
	int fd = openat(proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !d)
		close(fd);
	return d;
}

size_t hijack_count(int proc, pid_t *any)
{
	DIR *d = open_tasks(proc);
	size_t n = 0;
	int why = d ? 0 : errno;
	for (struct dirent *e; d && (e = readdir(d));) {
		pid_t tid = (pid_t)atoi(e->d_name);
		errno = 0;
		if (tid > 0 && alive(proc, tid)) {
			n++;
			*any = tid;
		} else if (errno == EMFILE || errno == ENFILE) {
			why = errno;
		}
	}
	if (d)
		closedir(d);
	errno = why;
	return n;
}

static bool known(const struct hijack_stop *s, pid_t tid)
{
	for (size_t i = 0; i < s->threads.n; i++)
		if (s->threads.v[i].tid == tid)
			return true;
	return false;
}

/* ---- stopping ---- */

/* 0; or -1 with errno set. */
static int seize(struct hijack_stop *s, pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return -1;
	*MS_PUSH(&s->threads) =
		(struct hijack_thread){.tid = tid, .waiting = true, .stop_ns = clock_mono()};
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return 0;
}

/* Seizes the threads that are new. How many, or -1. */
static int seize_new(struct hijack_stop *s, int proc)
{
	DIR *d = open_tasks(proc);
	int n = d ? 0 : -1, saved = errno;
	for (struct dirent *e; n >= 0 && (e = readdir(d));) {
		pid_t tid = (pid_t)atoi(e->d_name);
		if (tid <= 0 || known(s, tid) || !alive(proc, tid))
			continue;
		if (!seize(s, tid)) {
			n++;
			continue;
		}
		saved = errno;
		if (saved != ESRCH && alive(proc, tid))
			n = -1;
	}
	saved = n < 0 && d ? saved : errno;
	if (d)
		closedir(d);
	errno = saved;
	return n;
}

/* Waits until the thread has stopped. A signal that it was about to take it takes first: that may
 * be the one that stops or ends it, or a handler begins. 0, or -1: the deadline has passed. */
static int await_one(struct hijack_thread *t, uint64_t deadline_ns)
{
	int status;
	while (t->waiting) {
		pid_t r = hijack_wait(t->tid, &status, deadline_ns);
		if (r == 0) {
			errno = ETIMEDOUT;
			return -1;
		}
		t->gone = r < 0 || WIFEXITED(status) || WIFSIGNALED(status);
		t->waiting = !t->gone && status >> 16 != PTRACE_EVENT_STOP;
		if (t->waiting) {
			int sig = status >> 16 ? 0 : WSTOPSIG(status);
			ptrace(PTRACE_CONT, t->tid, NULL, (void *)(intptr_t)sig);
		}
	}
	if (!t->gone)
		t->gone = ptrace(PTRACE_GETREGS, t->tid, NULL, &t->regs) != 0;
	return 0;
}

/* The same of all. */
static int await(struct hijack_stop *s, uint64_t deadline_ns)
{
	for (size_t i = 0; i < s->threads.n; i++)
		if (s->threads.v[i].waiting && await_one(&s->threads.v[i], deadline_ns))
			return -1;
	return 0;
}

static int fail(struct hijack_stop *s, int proc, int why)
{
	hijack_resume(s, proc);
	errno = why;
	return -1;
}

static size_t stopped(const struct hijack_stop *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->threads.n; i++)
		n += !s->threads.v[i].gone;
	return n;
}

int hijack_stop_all(struct hijack_stop *s, int proc, uint64_t deadline_ns)
{
	int n = -1;
	*s = (struct hijack_stop){.begin_ns = clock_mono()};
	for (int i = 0; i < ROUNDS_MAX; i++) {
		n = seize_new(s, proc);
		if (n <= 0)
			break;
		if (await(s, deadline_ns))
			return fail(s, proc, ETIMEDOUT);
	}
	s->stopped_ns = clock_mono();
	if (n == 0 && stopped(s))
		return 0;
	return fail(s, proc, n < 0 ? errno : n ? ETIMEDOUT : ESRCH);
}

/* ---- one thread ---- */

struct rseq_place {
	uint64_t at;
	uint32_t bytes, signature, flags, pad;
};

bool hijack_in_rseq(const struct hijack *h, const struct hijack_thread *t)
{
	struct rseq_place r;
	uint64_t section, parts[3];
	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, t->tid, (void *)sizeof r, &r) <= 0 || !r.at ||
	    hijack_read(h, r.at + 8, &section, 8) || !section ||
	    hijack_read(h, section, parts, sizeof parts))
		return false;
	return t->regs.rip - parts[1] < parts[2];
}

/* The stopped thread, again; somewhere else if it runs. */
static int stop_again(struct hijack_stop *s, uint64_t deadline_ns)
{
	struct hijack_thread *t = s->threads.v;
	t->waiting = true;
	ptrace(PTRACE_CONT, t->tid, NULL, NULL);
	usleep(STEP_US);
	ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
	return await(s, deadline_ns);
}

/* Threads of the process: first those that run. */
static size_t candidates(int proc, pid_t v[CANDIDATES_MAX])
{
	DIR *d = open_tasks(proc);
	size_t n = 0, running = 0;
	for (struct dirent *e; d && n < CANDIDATES_MAX && (e = readdir(d));) {
		pid_t tid = (pid_t)atoi(e->d_name);
		char state = tid > 0 && alive(proc, tid) ? hijack_state(proc, tid) : 0;
		if (!state || state == 'D')
			continue;
		v[n++] = tid;
		if (state == 'R') {
			v[n - 1] = v[running];
			v[running++] = tid;
		}
	}
	if (d)
		closedir(d);
	return n;
}

/* 0, or -1 with errno set: it goes on. */
static int stop_this(struct hijack_stop *s, const struct hijack *h, pid_t tid, uint64_t deadline_ns)
{
	if (seize(s, tid))
		return -1;
	if (await(s, deadline_ns))
		return fail(s, h->proc, ETIMEDOUT);
	for (int i = 0; i < RSEQ_TRIES && stopped(s) && hijack_in_rseq(h, s->threads.v); i++)
		if (stop_again(s, deadline_ns))
			return fail(s, h->proc, ETIMEDOUT);
	if (!stopped(s))
		return fail(s, h->proc, ESRCH);
	return hijack_in_rseq(h, s->threads.v) ? fail(s, h->proc, EBUSY) : 0;
}

int hijack_stop_one(struct hijack_stop *s, const struct hijack *h, uint64_t deadline_ns)
{
	pid_t v[CANDIDATES_MAX];
	size_t n = candidates(h->proc, v);
	uint64_t begin = clock_mono(), each = begin < deadline_ns ? (deadline_ns - begin) / 4 : 0;
	int why = ESRCH;
	for (size_t i = 0; i < n && clock_mono() <= deadline_ns; i++) {
		uint64_t until = clock_mono() + each;
		*s = (struct hijack_stop){.begin_ns = clock_mono()};
		if (!stop_this(s, h, v[i], until < deadline_ns ? until : deadline_ns)) {
			s->stopped_ns = clock_mono();
			return 0;
		}
		why = errno;
	}
	errno = why;
	return -1;
}

int hijack_set_regs(struct hijack_thread *t)
{
	return ptrace(PTRACE_SETREGS, t->tid, NULL, &t->regs) ? -1 : 0;
}

/* ---- going on ---- */

/* Is a signal waiting that the thread would notice? Then the call was broken off for good reason.
 * One that is ignored waits only because the process is traced. */
static bool signal_waits(int proc, pid_t tid)
{
	static const int silent[] = {SIGCHLD, SIGURG, SIGWINCH, SIGCONT};
	uint64_t waits = hijack_status(proc, tid, "\nSigPnd:\t", 16) |
			 hijack_status(proc, tid, "\nShdPnd:\t", 16);
	uint64_t ignored = 0;
	if (!waits)
		return false;
	for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
		ignored |= UINT64_C(1) << (silent[i] - 1);
	ignored &= ~hijack_status(proc, tid, "\nSigCgt:\t", 16);
	ignored |= hijack_status(proc, tid, "\nSigIgn:\t", 16);
	return (waits & ~ignored & ~hijack_status(proc, tid, "\nSigBlk:\t", 16)) != 0;
}

/* System calls that return EINTR on a stop and can be made again as they were: nothing has
 * happened in them yet. Never close or connect. */
static bool repeatable(uint64_t call)
{
	static const int calls[] = {
		SYS_epoll_wait, SYS_epoll_pwait,     SYS_epoll_pwait2, SYS_semop,
		SYS_semtimedop, SYS_rt_sigtimedwait, SYS_recvfrom,     SYS_recvmsg,
		SYS_recvmmsg,   SYS_sendto,          SYS_sendmsg,      SYS_sendmmsg,
		SYS_accept,     SYS_accept4,         SYS_read,         SYS_readv,
		SYS_write,      SYS_writev,          SYS_io_getevents, SYS_futex,
		SYS_pread64,    SYS_pwrite64,        SYS_io_pgetevents};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (call == (uint64_t)calls[i])
			return true;
	return false;
}

/* The kernel goes on with a sleep by a system call of its own, restart_syscall, which a filter may
 * forbid. There the sleep begins anew instead. */
static bool sleeps_under_filter(const struct user_regs_struct *r, int proc, pid_t tid)
{
	enum { RESTART_BLOCK = 516 };
	return (int64_t)r->rax == -RESTART_BLOCK && hijack_status(proc, tid, "\nSeccomp:\t", 10);
}

bool hijack_repair(struct user_regs_struct *r, int proc, pid_t tid)
{
	bool broken = (int64_t)r->rax == -EINTR && repeatable(r->orig_rax);
	if ((int64_t)r->orig_rax < 0 || (!broken && !sleeps_under_filter(r, proc, tid)) ||
	    signal_waits(proc, tid))
		return false;
	r->rax = r->orig_rax;
	r->rip -= 2;
	r->orig_rax = UINT64_MAX;
	return true;
}

static void release(struct hijack_stop *s, struct hijack_thread *t, int proc)
{
	if (!t->signal && hijack_repair(&t->regs, proc, t->tid))
		hijack_set_regs(t);
	uint64_t now = clock_mono();
	if (ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)t->signal))
		waitpid(t->tid, NULL, __WALL | __WNOTHREAD | WNOHANG);
	s->longest_ns = now - t->stop_ns > s->longest_ns ? now - t->stop_ns : s->longest_ns;
	t->gone = true;
}

void hijack_resume(struct hijack_stop *s, int proc)
{
	uint64_t until = clock_mono() + LATE_NS;
	for (size_t i = 0; i < s->threads.n; i++) {
		struct hijack_thread *t = &s->threads.v[i];
		if (!t->gone && !t->waiting)
			release(s, t, proc);
	}
	/* One that did not stop in time cannot be let go before it does. */
	for (size_t i = 0; i < s->threads.n; i++) {
		struct hijack_thread *t = &s->threads.v[i];
		if (t->waiting && !await_one(t, until) && !t->gone)
			release(s, t, proc);
	}
	s->resumed_ns = clock_mono();
	free(s->threads.v);
	memset(&s->threads, 0, sizeof s->threads);
}

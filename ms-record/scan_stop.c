/* SPDX-License-Identifier: MIT
 * Stops all threads of a process for a short while.
 */
#include "scan_stop.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "libcommon/arena.h"

#define POLL_US 30
#define ROUNDS_MAX 100

/* ---- which threads ---- */

char stop_state(int proc, pid_t tid)
{
	char name[40], text[512];
	snprintf(name, sizeof name, "task/%d/stat", (int)tid);
	int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	const char *p = strrchr(text, ')');
	return p && p[1] ? p[2] : 0;
}

static bool alive(int proc, pid_t tid)
{
	char c = stop_state(proc, tid);
	return c && c != 'Z' && c != 'X';
}

static DIR *open_tasks(int proc)
{
	int fd = openat(proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !d)
		close(fd);
	return d;
}

size_t stop_count(int proc, pid_t *any)
{
	DIR *d = open_tasks(proc);
	size_t n = 0;
	for (struct dirent *e; d && (e = readdir(d));) {
		pid_t tid = (pid_t)atoi(e->d_name);
		if (tid <= 0 || !alive(proc, tid))
			continue;
		n++;
		*any = tid;
	}
	if (d)
		closedir(d);
	return n;
}

static bool known(const struct stopped *s, pid_t tid)
{
	for (size_t i = 0; i < s->threads.n; i++)
		if (s->threads.v[i].tid == tid)
			return true;
	return false;
}

/* ---- stopping ---- */

/* Seizes the threads that are new. How many, or -1. */
static int seize_new(struct stopped *s, int proc)
{
	DIR *d = open_tasks(proc);
	int n = d ? 0 : -1;
	for (struct dirent *e; n >= 0 && (e = readdir(d));) {
		pid_t tid = (pid_t)atoi(e->d_name);
		if (tid <= 0 || known(s, tid) || !alive(proc, tid))
			continue;
		if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
			if (errno == ESRCH || !alive(proc, tid))
				continue;
			n = -1;
			break;
		}
		*MS_PUSH(&s->threads) = (struct stopped_thread){.tid = tid, .waiting = true};
		ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
		n++;
	}
	int saved = errno;
	if (d)
		closedir(d);
	errno = saved;
	return n;
}

/* Has the thread stopped by now? */
static bool look(struct stopped_thread *t)
{
	int status;
	pid_t r = waitpid(t->tid, &status, __WALL | __WNOTHREAD | WNOHANG);
	if (r == 0)
		return false;
	t->waiting = false;
	t->gone = r < 0 || WIFEXITED(status) || WIFSIGNALED(status);
	if (t->gone)
		return true;
	if (status >> 16 == 0)
		t->signal = WSTOPSIG(status);
	t->gone = ptrace(PTRACE_GETREGS, t->tid, NULL, &t->regs) != 0;
	return true;
}

/* 0, or -1: the deadline has passed. */
static int await(struct stopped *s, uint64_t deadline_ns)
{
	for (;;) {
		bool waiting = false;
		for (size_t i = 0; i < s->threads.n; i++)
			waiting |= s->threads.v[i].waiting && !look(&s->threads.v[i]);
		if (!waiting)
			return 0;
		if (clock_mono() > deadline_ns) {
			errno = ETIMEDOUT;
			return -1;
		}
		usleep(POLL_US);
	}
}

int stop_all(struct stopped *s, int proc, uint64_t deadline_ns)
{
	int n = -1;
	*s = (struct stopped){0};
	for (int i = 0; i < ROUNDS_MAX; i++) {
		n = seize_new(s, proc);
		if (n <= 0 || await(s, deadline_ns))
			break;
	}
	if (n == 0 && s->threads.n)
		return 0;
	int saved = n < 0 || n == 0 ? errno : ETIMEDOUT;
	stop_release(s, proc);
	errno = saved;
	return -1;
}

struct scan_thread *stop_threads(const struct stopped *s, size_t *count)
{
	struct scan_thread *v = ms_xrealloc(NULL, s->threads.n + 1, sizeof *v);
	size_t n = 0;
	for (size_t i = 0; i < s->threads.n; i++) {
		const struct stopped_thread *t = &s->threads.v[i];
		if (t->gone)
			continue;
		struct scan_thread *to = &v[n++];
		unsigned general = sizeof t->regs / 8;
		memcpy(to->regs, &t->regs, sizeof t->regs);
		struct iovec rest = {to->regs + general, (SCAN_REGS - general) * 8};
		if (ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_X86_XSTATE, &rest))
			rest.iov_len = 0;
		to->reg_count = general + (unsigned)(rest.iov_len / 8);
		to->sp = t->regs.rsp;
		to->tp = t->regs.fs_base;
	}
	*count = n;
	return v;
}

/* ---- going on ---- */

/* Is a signal waiting that the thread would take? Then the call was broken off for good reason. */
static bool signal_waits(int proc, pid_t tid)
{
	static const char *const names[] = {"\nSigPnd:\t", "\nShdPnd:\t", "\nSigBlk:\t"};
	char name[40], text[4096];
	unsigned long long v[3] = {0};
	snprintf(name, sizeof name, "task/%d/status", (int)tid);
	int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	for (int i = 0; i < 3; i++) {
		const char *p = strstr(text, names[i]);
		v[i] = p ? strtoull(p + strlen(names[i]), NULL, 16) : 0;
	}
	return ((v[0] | v[1]) & ~v[2]) != 0;
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

static void release(struct stopped_thread *t, int proc)
{
	struct user_regs_struct *r = &t->regs;
	if (!t->signal && (int64_t)r->orig_rax >= 0 && (int64_t)r->rax == -EINTR &&
	    repeatable(r->orig_rax) && !signal_waits(proc, t->tid)) {
		r->rax = r->orig_rax;
		r->rip -= 2;
		r->orig_rax = UINT64_MAX;
		ptrace(PTRACE_SETREGS, t->tid, NULL, r);
	}
	if (ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)t->signal))
		waitpid(t->tid, NULL, __WALL | __WNOTHREAD | WNOHANG);
}

void stop_release(struct stopped *s, int proc)
{
	for (size_t i = 0; i < s->threads.n; i++) {
		struct stopped_thread *t = &s->threads.v[i];
		/* One that did not stop in time cannot be let go before it does. */
		for (int k = 0; t->waiting && k < 2000 && !look(t); k++)
			usleep(POLL_US);
		if (!t->gone && !t->waiting)
			release(t, proc);
	}
	free(s->threads.v);
	*s = (struct stopped){0};
}

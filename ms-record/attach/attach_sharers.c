/* SPDX-License-Identifier: MIT
 * Attaching: processes that share the target's memory without being its threads: a child of vfork
 * until it runs a program, and children of clone(CLONE_VM) for good. They could run into
 * half-written entries, since they are not stopped.
 *
 * While all threads are stopped, none is in vfork. Other sharers are searched for once before the
 * stop, among all processes, and again during it, among those created since.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach_private.h"
#include "ms-record/base/clock.h"
#include "libcommon/proc/proc.h"

#define PATIENCE_NS UINT64_C(1000000000) /* time limit for a vfork child to exec */
#define LOOK_NS 2000000
#define NEW_PIDS_MAX 4096
#define EARLIER 64 /* number of pids before `seen` whose processes may not have been listed yet */
#define LOOKS 20

/* Returns the pid created last; 0 = not known. */
static pid_t newest(const struct attach *a)
{
	char text[128];
	bool good = ms_proc_text_at(a->h.proc, "../loadavg", text, sizeof text);
	const char *last = good ? strrchr(text, ' ') : NULL;
	return last ? (pid_t)atoi(last) : 0;
}

static bool text_of(const struct attach *a, pid_t pid, const char *file, char *text, size_t room)
{
	char name[48];
	snprintf(name, sizeof name, "../%d/%s", (int)pid, file);
	return ms_proc_text_at(a->h.proc, name, text, room);
}

/* Returns the number after `label` in /proc/PID/status; 0 = none. */
static pid_t status_of(const struct attach *a, pid_t pid, const char *label)
{
	char text[4096];
	return text_of(a, pid, "status", text, sizeof text)
		       ? (pid_t)ms_proc_status_number(text, label, 0)
		       : 0;
}

static pid_t parent_of(const struct attach *a, pid_t pid)
{
	return status_of(a, pid, "\nPPid:");
}

/* Without permission for kcmp: tells whether a parent or child probably shares the memory, because
 * the figures in statm of both processes are equal, including resident file pages. A forked child
 * does not have pages that it has not touched. */
static bool looks_same(const struct attach *a, pid_t pid)
{
	char own[2][256], its[256];
	if (parent_of(a, pid) != a->pid && parent_of(a, a->pid) != pid)
		return false;
	for (int i = 0; i < LOOKS; i++)
		if (text_of(a, a->pid, "statm", own[0], sizeof own[0]) &&
		    text_of(a, pid, "statm", its, sizeof its) && its[0] != '0' &&
		    text_of(a, a->pid, "statm", own[1], sizeof own[1]) &&
		    (!strcmp(own[0], its) || !strcmp(own[1], its)))
			return true;
	return false;
}

static bool shares(const struct attach *a, pid_t pid)
{
	char name[32];
	long r = syscall(SYS_kcmp, a->pid, pid, KCMP_VM, 0, 0);
	if (r && (r > 0 || (errno != EPERM && errno != ENOSYS) || !looks_same(a, pid)))
		return false;
	snprintf(name, sizeof name, "task/%d", (int)pid);
	/* kcmp also finds ended processes and kernel threads equal, since none of them has
	 * memory. */
	return faccessat(a->h.proc, name, F_OK, 0) != 0 && !hijack_over(a->h.proc);
}

/* Returns the processes that share the memory, in a malloc'ed array of *n. */
static pid_t *all_sharers(const struct attach *a, size_t *n)
{
	struct ms_err ignored = {0};
	size_t count = 0;
	pid_t *all = ms_proc_list(NULL, &count, &ignored);
	*n = 0;
	for (size_t i = 0; i < count; i++)
		if (shares(a, all[i]))
			all[(*n)++] = all[i];
	return all;
}

int attach_refuse_sharer(const struct attach *a, const char *what, pid_t pid, struct ms_err *err)
{
	char name[64] = "";
	text_of(a, pid, "comm", name, sizeof name);
	name[strcspn(name, "\n")] = '\0';
	const char *whose = parent_of(a, a->pid) == pid   ? "its parent"
			    : parent_of(a, pid) == a->pid ? "its child"
							  : "process";
	return ms_err_set(
		err,
		"cannot %s process %d: it shares its memory with %s %d ('%s'), "
		"which is no thread of it (vfork, or clone with CLONE_VM); try again when "
		"that has ended",
		what, (int)a->pid, whose, (int)pid, name);
}

pid_t attach_sharer(const struct attach *a, pid_t *seen)
{
	const struct timespec pause = {0, LOOK_NS};
	uint64_t until = clock_mono() + PATIENCE_NS;
	pid_t stays = 0;
	size_t n;
	*seen = newest(a);
	if (a->launched)
		return 0;
	/* Waits only for processes that share the memory now: a program that starts others all the
	 * time always has new ones. */
	pid_t *there = all_sharers(a, &n);
	for (size_t i = 0; i < n && !stays; i++) {
		while (shares(a, there[i]) && clock_mono() < until)
			nanosleep(&pause, NULL);
		stays = shares(a, there[i]) ? there[i] : 0;
	}
	free(there);
	return stays;
}

/* Tells whether the calling thread traces the process: it is then a new child that was created
 * stopped and has not run. */
static bool is_stopped(const struct attach *a, pid_t pid)
{
	return status_of(a, pid, "\nTracerPid:") == (pid_t)syscall(SYS_gettid);
}

bool attach_is_alone(const struct attach *a, const struct hijack_stop *s, pid_t seen)
{
	size_t at = 0;
	pid_t last = newest(a);
	if (a->launched)
		return true;
	bool alone = true;
	if (seen <= EARLIER || last < seen || last - seen > NEW_PIDS_MAX) {
		size_t n;
		pid_t *all = all_sharers(a, &n);
		while (n && alone)
			alone = is_stopped(a, all[--n]);
		free(all);
		return alone;
	}
	for (pid_t pid = seen - EARLIER; pid <= last && alone; pid++)
		alone = hijack_has(s, pid, &at) || !shares(a, pid) || is_stopped(a, pid);
	return alone;
}

/* SPDX-License-Identifier: MIT
 * Checks what a process is, and whether it may be traced.
 *
 * All reasons for a refusal are checked first, because the kernel only reports "not permitted".
 * Files of /proc are read below `proc_root` for that.
 */
#include "hijack_private.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libcommon/base/err.h"
#include "libcommon/proc/proc.h"
#include "ms-record/base/cpu.h"
#include "ms-record/base/descriptor.h"

#define KERNEL_THREAD 0x200000u /* PF_KTHREAD */

/* ---- files of /proc ---- */

struct looks {
	struct ms_proc_stat stat;
	char status[4096];
};

/* Returns the number after a label of /proc/PID/status; -1 = none. */
static long number(const char *status, const char *label)
{
	return (long)ms_proc_status_number(status, label, UINT64_MAX);
}

static bool look(struct looks *l, int proc)
{
	return ms_proc_stat_at(proc, &l->stat) &&
	       ms_proc_text_at(proc, "status", l->status, sizeof l->status);
}

static bool ended(const struct looks *l)
{
	return l->stat.state == 'Z' || l->stat.state == 'X';
}

bool hijack_over(int proc)
{
	enum { EXITING = 4, KILLED = 1 << (SIGKILL - 1) };
	struct looks l;
	return !look(&l, proc) || !l.stat.field[MS_STAT_VSZ] ||
	       l.stat.field[MS_STAT_FLAGS] & EXITING ||
	       ms_proc_status_mask(l.status, "\nSigPnd:") & KILLED;
}

/* ---- what we may ---- */

static bool capable(int what)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {0};
	if (syscall(SYS_capget, &head, data))
		return false;
	return data[what / 32].effective >> (what % 32) & 1;
}

bool hijack_capable(void)
{
	return capable(CAP_SYS_PTRACE);
}

static const char *user_name(unsigned uid)
{
	static __thread char text[64];
	const struct passwd *p = getpwuid(uid);
	if (p)
		snprintf(text, sizeof text, "%s", p->pw_name);
	else
		snprintf(text, sizeof text, "%u", uid);
	return text;
}

/* ---- reasons ---- */

struct judge {
	pid_t pid;
	const char *root;
	int proc;
	struct looks looks;
	struct ms_err *err;
};

static int refuse(const struct judge *j, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static int refuse(const struct judge *j, const char *fmt, ...)
{
	char text[900];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (j->looks.stat.name[0])
		return ms_err_set(j->err, "cannot attach to process %d ('%s'): %s", (int)j->pid,
				  j->looks.stat.name, text);
	return ms_err_set(j->err, "cannot attach to process %d: %s", (int)j->pid, text);
}

static int no_folder(struct judge *j)
{
	if (errno == ENOENT || errno == ESRCH)
		return refuse(j, "there is no such process");
	return refuse(j, "%s", strerror(errno));
}

/* Tells whether every thread has ended or will as soon as it gets a processor. */
static bool all_over(int proc)
{
	size_t n = 0;
	pid_t *tids = hijack_tids(proc, &n);
	bool over = tids;
	for (size_t i = 0; i < n && over; i++) {
		char name[32];
		snprintf(name, sizeof name, "task/%d", (int)tids[i]);
		int fd = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		over = fd < 0 || hijack_over(fd);
		descriptor_close(fd);
	}
	free(tids);
	return over;
}

/* Tells whether other threads keep running after the main thread ended. Waits 50 ms, because the
 * threads of a killed process end one after another. */
static bool others_stay(struct judge *j)
{
	for (int i = 0; i < 10; i++) {
		usleep(5000);
		if (!look(&j->looks, j->proc) || number(j->looks.status, "\nThreads:\t") < 2 ||
		    all_over(j->proc))
			return false;
	}
	return true;
}

static int judge_kind(struct judge *j)
{
	const struct looks *l = &j->looks;
	long group = number(l->status, "\nTgid:\t");
	if (group != j->pid)
		return refuse(j, "that is a thread of process %ld; give that PID", group);
	bool others = l->stat.state == 'Z' && number(l->status, "\nThreads:\t") > 1;
	if (others && others_stay(j))
		return refuse(j,
			      "its main thread has ended, so its memory cannot be accessed (other "
			      "threads still running: %ld)",
			      number(l->status, "\nThreads:\t") - 1);
	if (others && !look(&j->looks, j->proc))
		return no_folder(j);
	if (ended(l))
		return refuse(j, "it has ended, and its parent %ld has not reaped it (zombie)",
			      number(l->status, "\nPPid:\t"));
	if (l->stat.field[MS_STAT_FLAGS] & KERNEL_THREAD)
		return refuse(j, "it is a kernel thread and has no memory of its own");
	if (j->pid == getpid())
		return refuse(j, "that is ms-record itself");
	return 0;
}

/* Refuses when run as root without CAP_SYS_PTRACE, as is common in containers. */
static int refuse_root(const struct judge *j)
{
	return refuse(j, "ms-record runs as root but lacks the capability SYS_PTRACE: start the "
			 "container with --cap-add SYS_PTRACE, or use --poll or --standby");
}

static int judge_user(struct judge *j)
{
	unsigned ids[4], own = geteuid();
	const char *p = strstr(j->looks.status, "\nUid:\t");
	struct stat st;
	if (capable(CAP_SYS_PTRACE) || !p ||
	    sscanf(p + 6, "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) != 4)
		return 0;
	for (int i = 0; i < 3; i++)
		if (ids[i] != own)
			return own == 0 ? refuse_root(j)
					: refuse(j,
						 "it belongs to user '%s'; run this as that user "
						 "or as root",
						 user_name(ids[i]));
	/* A non-dumpable process's /proc folder belongs to its user, but the files in it to
	 * root. */
	if (!fstatat(j->proc, "stat", &st, 0) && st.st_uid != own)
		return hijack_over(j->proc) ? refuse(j, "it has just ended")
					    : refuse(j, "its memory is protected (it is not "
							"dumpable); run this as root");
	return 0;
}

static int judge_tracer(struct judge *j)
{
	long tracer = number(j->looks.status, "\nTracerPid:\t");
	char name[32], comm[64];
	if (tracer <= 0 || tracer == getpid() || tracer == syscall(SYS_gettid))
		return 0;
	snprintf(name, sizeof name, "../%ld/comm", tracer);
	ms_proc_text_at(j->proc, name, comm, sizeof comm);
	comm[strcspn(comm, "\n")] = '\0';
	return refuse(j, "it is traced by process %ld%s%s%s already; end that one first", tracer,
		      comm[0] ? " ('" : "", comm, comm[0] ? "')" : "");
}

static bool is_ancestor(const struct judge *j)
{
	char name[32], status[4096];
	long pid = number(j->looks.status, "\nPPid:\t");
	for (int depth = 0; pid > 1 && depth < 1000; depth++) {
		if (pid == getpid())
			return true;
		snprintf(name, sizeof name, "../%ld/status", pid);
		pid = ms_proc_text_at(j->proc, name, status, sizeof status)
			      ? number(status, "\nPPid:\t")
			      : 0;
	}
	return false;
}

static int judge_scope(struct judge *j)
{
	char text[16];
	if (!ms_proc_text_at(j->proc, "../sys/kernel/yama/ptrace_scope", text, sizeof text))
		return 0;
	int scope = atoi(text);
	if (scope >= 3)
		return refuse(j, "this system forbids tracing (kernel.yama.ptrace_scope is 3, "
				 "until it is rebooted); use --poll, or --standby");
	if (scope == 0 || capable(CAP_SYS_PTRACE) || (scope == 1 && is_ancestor(j)))
		return 0;
	if (scope == 1)
		return refuse(j,
			      "only its parent may trace it (kernel.yama.ptrace_scope is 1); run "
			      "this as root, or set 'sysctl kernel.yama.ptrace_scope=0', or use "
			      "--poll or --standby");
	return refuse(j,
		      "only root may trace (kernel.yama.ptrace_scope is %d); run this as root, or "
		      "use --poll or --standby",
		      scope);
}

static int judge_machine(struct judge *j)
{
	unsigned char h[20];
	int fd = openat(j->proc, "exe", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, h, sizeof h, 0);
	descriptor_close(fd);
	if (n < (ssize_t)sizeof h || memcmp(h, ELFMAG, SELFMAG) != 0)
		return 0; /* not readable: checked later by the mapped files */
	if (h[EI_CLASS] != ELFCLASS64 || (h[18] | h[19] << 8) != CPU_MACHINE)
		return refuse(j, "it is not an " CPU_NAME " program%s",
			      h[EI_CLASS] == ELFCLASS32 ? " (32-bit)" : "");
	return 0;
}

static int judge_seccomp(struct judge *j)
{
	long mode = number(j->looks.status, "\nSeccomp:\t");
	if (mode <= 0 || capable(CAP_SYS_ADMIN))
		return 0;
	return refuse(j, "a seccomp filter would kill it for the system calls that are needed, and "
			 "only root can suspend that; run this as root, or use --poll");
}

/* ---- open ---- */

static int open_folder(const char *root, pid_t pid)
{
	char name[4200];
	snprintf(name, sizeof name, "%s/%d", root, (int)pid);
	return open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int judge_all(struct judge *j)
{
	j->proc = open_folder(j->root, j->pid);
	if (j->proc < 0 || !look(&j->looks, j->proc))
		return no_folder(j);
	if (judge_kind(j) || judge_machine(j) || judge_tracer(j) || judge_user(j) ||
	    judge_scope(j) || judge_seccomp(j))
		return -1;
	return 0;
}

/* Reports why /proc/PID/mem cannot be opened, by errno. */
static int no_memory(struct judge *j, int proc)
{
	int why = errno;
	if (hijack_over(proc))
		return refuse(j, "it has just ended");
	errno = why;
	if (why != EACCES && why != EPERM)
		return no_folder(j);
	if (geteuid() == 0 && !capable(CAP_SYS_PTRACE))
		return refuse_root(j);
	return refuse(j,
		      "the kernel does not allow it (%s): run ms-record as root (in a container "
		      "started with --cap-add SYS_PTRACE), or use --poll or --standby",
		      strerror(why));
}

static int take(struct hijack *h, struct judge *j)
{
	struct looks now;
	h->pidfd = (int)syscall(SYS_pidfd_open, h->pid, 0);
	h->proc = open_folder("/proc", h->pid);
	if (h->proc < 0 || !look(&now, h->proc))
		return no_folder(j);
	h->start_time = now.stat.field[MS_STAT_START];
	h->mem = openat(h->proc, "mem", O_RDWR | O_CLOEXEC);
	return h->mem >= 0 ? 0 : no_memory(j, h->proc);
}

int hijack_open(struct hijack *h, pid_t pid, const char *proc_root, struct ms_err *err)
{
	struct judge j = {.pid = pid, .root = proc_root, .proc = -1, .err = err};
	*h = (struct hijack){.pid = pid, .proc = -1, .pidfd = -1, .mem = -1};
	int rc = pid <= 0 ? refuse(&j, "there is no such process") : judge_all(&j);
	if (!rc)
		rc = take(h, &j);
	descriptor_close(j.proc);
	if (rc)
		hijack_close(h);
	return rc;
}

void hijack_close(struct hijack *h)
{
	descriptor_close(h->proc);
	descriptor_close(h->pidfd);
	descriptor_close(h->mem);
	h->proc = h->pidfd = h->mem = -1;
}

bool hijack_alive(const struct hijack *h)
{
	struct looks now;
	return look(&now, h->proc) && !ended(&now) &&
	       now.stat.field[MS_STAT_START] == h->start_time;
}

/* ---- memory ---- */

static int move(const struct hijack *h, uint64_t address, void *bytes, size_t n, bool write)
{
	for (size_t done = 0; done < n;) {
		char *at = (char *)bytes + done;
		off_t where = (off_t)(address + done);
		hijack_beat();
		ssize_t k = write ? pwrite(h->mem, at, n - done, where)
				  : pread(h->mem, at, n - done, where);
		if (k <= 0) {
			errno = k ? errno : ESRCH;
			return -1;
		}
		done += (size_t)k;
	}
	return 0;
}

int hijack_read(const struct hijack *h, uint64_t address, void *to, size_t bytes)
{
	return move(h, address, to, bytes, false);
}

int hijack_write(const struct hijack *h, uint64_t address, const void *from, size_t bytes)
{
	return move(h, address, (void *)(uintptr_t)from, bytes, true);
}

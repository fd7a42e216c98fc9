/* SPDX-License-Identifier: MIT
 * Regions of running processes, read from /proc into a snapshot.
 */
#include "regions.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/base/clock.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/proc/proc.h"
#include "libcommon/snapshot/snapshot_regions.h"
#include "libcommon/base/units.h"

/* A flag of stat: a thread of the kernel, which has no memory of its own. */
#define PF_KTHREAD 0x00200000u
#define COMMAND_MAX 65536

int regions_check(struct regions_options *o, uint64_t every_ns, struct ms_err *err)
{
	uint64_t pid = 0;
	const char *what = o->pid_text ? o->pid_text : "PID";
	if (!o->maps && !o->smaps) {
		if (o->pid_text)
			return ms_err_set(err,
					  "-p needs --maps or --smaps: 'ms-snap --smaps -p %s | "
					  "ms-report --regions' for its regions, 'ms-record --poll "
					  "-p %s' to watch its heap",
					  what, what);
		return o->all || o->skip_kernel || o->count || o->proc_root
			       ? ms_err_set(err, "--all, --skip-kernel, --count and --proc-root "
						 "need --maps or --smaps")
			       : 0;
	}
	if (o->maps && o->smaps)
		return ms_err_set(err, "--maps and --smaps: choose one, --smaps has all of --maps");
	if (!o->pid_text == !o->all)
		return ms_err_set(err, o->all ? "-p and --all: choose one"
					      : "which process? Give -p PID, or --all");
	if (o->skip_kernel && !o->all)
		return ms_err_set(err, "--skip-kernel is for --all");
	if (o->count > 1 && !every_ns)
		return ms_err_set(err, "--count needs --every DURATION");
	if (o->pid_text && ms_parse_count(o->pid_text, "-p", 1, INT32_MAX, &pid, err) != 0)
		return -1;
	o->pid = (pid_t)pid;
	return 0;
}

/* ---- one process ---- */

struct reading {
	const struct regions_options *o;
	struct ms_region_snapshot *to;
	struct ms_regions regions;
	char *args;
	uint64_t time_ns;
};

static size_t read_args(const struct ms_proc *p, char *args)
{
	int fd = openat(p->folder, "cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, args, COMMAND_MAX - 1);
	if (fd >= 0)
		close(fd);
	args[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static const char *reason_of(int e)
{
	return e == EACCES || e == EPERM   ? "permission denied"
	       : e == ESRCH || e == ENOENT ? "ended meanwhile"
					   : strerror(e);
}

/* NULL when its rows are written, or it was not wanted; else why it could not be read. */
static const char *read_open(struct reading *r, struct ms_proc *p)
{
	struct ms_proc_stat st;
	struct ms_proc_statm statm;
	if (!ms_proc_read_stat(p, &st))
		return reason_of(ESRCH);
	bool kernel = st.field[MS_STAT_FLAGS] & PF_KTHREAD;
	if (st.state == 'Z' || st.state == 'X')
		return "ended, and its parent has not asked how yet";
	if (kernel && r->o->skip_kernel)
		return NULL;
	r->regions.n = 0;
	if (!kernel && ms_regions_read(p, r->o->smaps, &r->regions) != 0)
		return reason_of(errno);
	if (!kernel && !r->regions.n && !ms_proc_alive(p))
		return reason_of(ESRCH);
	char exe[4097];
	ssize_t n = readlinkat(p->folder, "exe", exe, sizeof exe - 1);
	exe[n > 0 ? n : 0] = '\0';
	struct ms_region_process row = {.proc = p,
					.stat = &st,
					.regions = &r->regions,
					.exe = *exe ? exe : NULL,
					.args = r->args,
					.time_ns = r->time_ns};
	row.statm = ms_proc_read_statm(p, &statm) ? &statm : NULL;
	row.args_bytes = read_args(p, r->args);
	ms_region_snapshot_add(r->to, &row);
	return NULL;
}

static const char *read_one(struct reading *r, pid_t pid, struct ms_proc *p)
{
	if (ms_proc_open(p, r->o->proc_root, pid, NULL) != 0)
		return reason_of(errno);
	return read_open(r, p);
}

static int read_all(struct reading *r, struct ms_err *err)
{
	size_t n;
	pid_t *pids = ms_proc_list(r->o->proc_root, &n, err);
	if (!pids)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct ms_proc p;
		const char *why = read_one(r, pids[i], &p);
		if (why)
			ms_region_snapshot_skip(r->to, r->time_ns, pids[i], *p.name ? p.name : NULL,
						why);
		ms_proc_close(&p);
	}
	free(pids);
	return 0;
}

/* ---- at intervals ---- */

/* Waits until `at` of the monotonic clock. False: a signal says that it is enough. */
static bool wait_until(uint64_t at, const sigset_t *enough)
{
	for (uint64_t now; (now = ms_clock_ns(CLOCK_MONOTONIC)) < at;) {
		uint64_t left = at - now;
		struct timespec t = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
		if (sigtimedwait(enough, NULL, &t) > 0)
			return false;
	}
	return true;
}

/* The process of -p at one time. 0; 1 when it has ended; -1 with `err` set at the first time. */
static int read_pid(struct reading *r, struct ms_proc *p, bool first, struct ms_err *err)
{
	const char *why = read_open(r, p);
	if (why && first)
		return ms_err_set(err, "cannot read process %d ('%s'): %s", (int)p->pid, p->name,
				  why);
	return why != NULL;
}

static int read_times(struct reading *r, uint64_t every_ns, struct ms_err *err)
{
	const struct regions_options *o = r->o;
	uint64_t start = ms_clock_ns(CLOCK_MONOTONIC), next = 0, count = every_ns ? o->count : 1;
	struct ms_proc p = {.folder = -1, .pidfd = -1, .statm = -1, .stat = -1, .rollup = -1};
	sigset_t enough, old;
	int rc = o->pid ? ms_proc_open(&p, o->proc_root, o->pid, err) : 0;
	sigemptyset(&enough);
	sigaddset(&enough, SIGINT);
	sigaddset(&enough, SIGTERM);
	if (every_ns)
		sigprocmask(SIG_BLOCK, &enough, &old);
	for (uint64_t i = 0; rc == 0 && (!count || i < count); i++) {
		if (!wait_until(start + next, &enough))
			break;
		/* What was missed is left out: who was stopped meanwhile cannot say how it was. */
		uint64_t since = ms_clock_ns(CLOCK_MONOTONIC) - start;
		r->time_ns = every_ns ? since - since % every_ns : 0;
		next = r->time_ns + every_ns;
		rc = o->pid ? read_pid(r, &p, i == 0, err) : read_all(r, err);
	}
	if (every_ns)
		sigprocmask(SIG_SETMASK, &old, NULL);
	ms_proc_close(&p);
	return rc < 0 ? -1 : 0;
}

sqlite3 *regions_snapshot(const struct regions_options *o, uint64_t every_ns, struct ms_err *err)
{
	struct reading r = {.o = o, .args = ms_xrealloc(NULL, COMMAND_MAX, 1)};
	r.to = ms_region_snapshot_new(o->smaps, o->all, ms_clock_ns(CLOCK_REALTIME), err);
	int rc = r.to ? read_times(&r, every_ns, err) : -1;
	sqlite3 *db = r.to ? ms_region_snapshot_end(r.to) : NULL;
	free(r.args);
	ms_regions_free(&r.regions);
	if (rc == 0)
		return db;
	sqlite3_close(db);
	return NULL;
}

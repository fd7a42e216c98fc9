/* SPDX-License-Identifier: MIT
 * Symbols are appended by a child, `ms-snap --symbols=embed`, with limits on time and memory, so
 * that corrupt debug information cannot cost the trace.
 */
#include "child.h"
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcommon/base/order.h"
#include "libcommon/base/progress.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/base/held_files.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* No limit: the sanitizers reserve terabytes of address space. */
#define SYMBOLS_MEMORY RLIM_INFINITY
#else
#define SYMBOLS_MEMORY (UINT64_C(16) << 30)
#endif
#define SYMBOLS_SECONDS 300u
#define WORDS 6 /* arguments of ms-snap before the files */
/* Time after which --tell=stop is answered even if symbols are still being appended. */
#define SYMBOLS_PATIENCE_NS UINT64_C(4000000000)

/* Keeps the descriptors of the modules' files open for ms-snap, and lists them, one per line:
 * number of the trace, id of the module, and descriptor (-1 = identify the file by its build-id).
 * Returns the descriptor of the list, or -1. */
static int hand_on(struct image *const *images, size_t n)
{
	int list = memfd_create("memscope-files", 0);
	FILE *f = list < 0 ? NULL : fdopen(dup(list), "w");
	for (size_t i = 0; f && i < n; i++)
		for (size_t k = 0; k < images[i]->files.n; k++) {
			const struct module_file *v = &images[i]->files.v[k];
			int fd = held_file_touched(v->file) ? -1 : v->file->fd;
			if (fd >= 0 ? fcntl(fd, F_SETFD, 0) == 0 : v->file->fd >= 0)
				fprintf(f, "%zu %u %d\n", i + 1, v->module, fd);
		}
	if (f)
		fclose(f);
	return list;
}

/* Executes ms-snap. `most`: limit for the size of a file in bytes, 0 = none. `files` ends with NULL
 * and is preceded by WORDS free entries. */
static _Noreturn void child(const struct control *c, const char *snap, char **files, int list,
			    uint64_t most)
{
	char held[32];
	struct rlimit memory = {SYMBOLS_MEMORY, SYMBOLS_MEMORY};
	struct rlimit seconds = {SYMBOLS_SECONDS, SYMBOLS_SECONDS};
	struct rlimit core = {0, 0};
	setrlimit(RLIMIT_AS, &memory);
	setrlimit(RLIMIT_CPU, &seconds);
	setrlimit(RLIMIT_CORE, &core);
	if (most) {
		struct rlimit bytes = {most, most};
		setrlimit(RLIMIT_FSIZE, &bytes);
		signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit then fails instead of
					     killing */
	}
	snprintf(held, sizeof held, "held:/proc/self/fd/%d", list);
	char *const words[WORDS] = {"ms-snap",
				    "--symbols=embed",
				    c->opt->no_cache ? "--without=cache" : "--quiet",
				    list < 0 ? "--quiet" : "--symbols",
				    list < 0 ? "--quiet" : held,
				    "--"};
	memcpy((void *)(files - WORDS), (const void *)words, sizeof words);
	execv(snap, files - WORDS);
	_exit(127);
}

/* Maximum number of child processes (at most one per processor is started), and of traces for each.
 * A child gets several traces, to look up shared modules only once. If it fails, its traces are
 * retried one by one. */
#define JOBS_MAX 16u
#define BATCH_MAX 500u

struct job {
	pid_t pid;
	size_t first, count; /* range in `todo` */
};

struct jobs {
	const char *snap;
	MS_ARRAY(struct image *) todo;
	struct job job[JOBS_MAX];
	struct pollfd fd[JOBS_MAX + 1]; /* pidfds of the jobs, then the descriptor for our
					   signals */
	size_t n, max;
	MS_ARRAY(size_t) again;
	size_t done; /* number of processed traces in `todo`, including those to retry */
};

static void start(struct control *c, struct jobs *j, size_t first, size_t count, uint64_t most)
{
	pid_t pid = child_fork(c, -1, c->opt->verbose ? STDERR_FILENO : -1);
	if (pid == 0) {
		char *words[WORDS + BATCH_MAX + 1] = {0};
		for (size_t i = 0; i < count; i++)
			words[WORDS + i] = j->todo.v[first + i]->file;
		child(c, j->snap, words + WORDS, hand_on(j->todo.v + first, count), most);
	}
	if (pid < 0) {
		c->symbols_failed += (unsigned)count;
		return;
	}
	j->job[j->n] = (struct job){pid, first, count};
	j->fd[j->n++] = (struct pollfd){(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0};
}

/* Removes a job if its child has ended; if `how` is 0, waits for the child. Uses waitpid, which
 * also works on kernels without pidfds. */
static void reap(struct control *c, struct jobs *j, size_t i, int how)
{
	int status = 0;
	const struct job *job = &j->job[i];
	if (waitpid(job->pid, &status, how) == 0)
		return;
	j->done += job->count;
	if (status && job->count == 1)
		c->symbols_failed++;
	for (size_t k = 0; status && job->count > 1 && k < job->count; k++)
		*MS_PUSH(&j->again) = job->first + k;
	descriptor_close(j->fd[i].fd);
	j->job[i] = j->job[--j->n];
	j->fd[i] = j->fd[j->n];
}

/* Waits until fewer than `most` children are running. If a signal came, kills the children and
 * skips the remaining work. */
static void wait_below(struct control *c, struct jobs *j, size_t most)
{
	while (j->n && j->n >= most) {
		/* Progress is counted in traces, so there is none to show for a single trace. */
		size_t all = j->todo.n > 1 ? j->todo.n : 0;
		ms_progress("adding symbols and totals", "traces", all ? j->done : 0, all, NULL);
		j->fd[j->n] = (struct pollfd){c->signals, POLLIN, 0};
		if (poll(j->fd, j->n + 1, 50) < 0 && errno != EINTR)
			return;
		if (c->stopped && clock_mono() - c->stopped_ns > SYMBOLS_PATIENCE_NS)
			c->symbols_late = true;
		tell_turn(c);
		if (j->fd[j->n].revents)
			control_read_signals(c);
		for (size_t i = j->n; i-- > 0;) {
			if (c->skip_symbols)
				kill(j->job[i].pid, SIGTERM);
			reap(c, j, i, c->skip_symbols ? 0 : WNOHANG);
		}
	}
}

static bool wants(const struct image *m)
{
	return m->kept && !m->error && m->stats.events && !images_lost(m);
}

/* Sorts program images by trace size, largest first, so that the last jobs are short. */
static int by_size(const void *a, const void *b)
{
	const struct image *const *x = a, *const *y = b;
	return MS_ORDER((*y)->bytes, (*x)->bytes);
}

/* Returns the number of traces, from index `i`, for the next child. The child gets its share of
 * half of the remaining bytes, so that batches become smaller and all children end at about the
 * same time. */
static size_t batch(const struct jobs *j, size_t i)
{
	uint64_t left = 0, mine = 0;
	size_t n = 0;
	for (size_t k = i; k < j->todo.n; k++)
		left += j->todo.v[k]->bytes;
	do
		mine += j->todo.v[i + n++]->bytes;
	while (i + n < j->todo.n && n < BATCH_MAX && mine < left / (2 * j->max));
	return n;
}

static void work(struct control *c, struct jobs *j)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	j->max = processors < 1 ? 1 : (size_t)processors;
	if (j->max > JOBS_MAX)
		j->max = JOBS_MAX;
	for (size_t i = 0, n; i < j->todo.n && !c->skip_symbols; i += n) {
		wait_below(c, j, j->max);
		n = batch(j, i);
		if (!c->skip_symbols)
			start(c, j, i, n, 0);
	}
	wait_below(c, j, 1);
	for (size_t i = 0; i < j->again.n && !c->skip_symbols; i++) {
		wait_below(c, j, j->max);
		if (!c->skip_symbols)
			start(c, j, j->again.v[i], 1, 0);
	}
	wait_below(c, j, 1);
}

/* Appends symbols with --max-size: one trace at a time, each within the remaining space. */
static void work_within(struct control *c, struct jobs *j)
{
	uint64_t all = __atomic_load_n(&c->writer.limit.used, __ATOMIC_RELAXED);
	for (size_t i = 0; i < j->todo.n && !c->skip_symbols; i++) {
		struct stat before, after;
		const char *file = j->todo.v[i]->file;
		if (stat(file, &before) || all >= c->opt->files.max_bytes)
			continue;
		start(c, j, i, 1, (uint64_t)before.st_size + c->opt->files.max_bytes - all);
		wait_below(c, j, 1);
		if (!stat(file, &after))
			all += (uint64_t)(after.st_size - before.st_size);
	}
}

void control_symbols(struct control *c)
{
	if (c->symbols_done || c->opt->no_symbols || c->abandoned || !c->files.folder ||
	    !c->images.n) {
		c->symbols_done = true;
		return;
	}
	char *snap = launch_own_file("ms-snap");
	c->no_snap = !snap;
	struct jobs j = {.snap = snap};
	for (size_t i = 0; snap && i < c->images.n; i++)
		if (wants(&c->images.v[i]))
			*MS_PUSH(&j.todo) = &c->images.v[i];
	if (j.todo.n)
		qsort((void *)j.todo.v, j.todo.n, sizeof *j.todo.v, by_size);
	if (c->opt->files.max_bytes)
		work_within(c, &j);
	else
		work(c, &j);
	for (size_t i = 0; i < j.todo.n; i++) {
		struct stat st;
		if (!stat(j.todo.v[i]->file, &st))
			j.todo.v[i]->bytes = (uint64_t)st.st_size;
	}
	c->symbols_done = true;
	ms_progress_hide();
	MS_FREE((void *)j.todo.v, j.again.v, snap);
}

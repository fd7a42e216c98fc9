/* SPDX-License-Identifier: MIT
 * Symbols are appended by a child, `ms-snap --symbols=embed`, with limits on time and memory, so
 * that corrupt debug information cannot cost the trace.
 */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcommon/arena.h"
#include "options.h"

#define SYMBOLS_MEMORY (UINT64_C(16) << 30)
#define SYMBOLS_SECONDS 300u

static _Noreturn void child(const struct control *c, const char *snap, const char *file)
{
	struct rlimit memory = {SYMBOLS_MEMORY, SYMBOLS_MEMORY};
	struct rlimit seconds = {SYMBOLS_SECONDS, SYMBOLS_SECONDS};
	struct rlimit core = {0, 0};
	setrlimit(RLIMIT_AS, &memory);
	setrlimit(RLIMIT_CPU, &seconds);
	setrlimit(RLIMIT_CORE, &core);
	int null = open("/dev/null", O_RDWR);
	if (null >= 0)
		for (int fd = 0; fd < (c->opt->verbose ? 2 : 3); fd++)
			dup2(null, fd);
	setpgid(0, 0); /* a key at the terminal skips symbols through us, in good order */
	sigprocmask(SIG_SETMASK, &c->launch.mask, NULL);
	execl(snap, "ms-snap", "--symbols=embed", "--", file, (char *)NULL);
	_exit(127);
}

/* Children at work: as many as there are processors. */
#define JOBS_MAX 16u

struct jobs {
	pid_t pid[JOBS_MAX];
	struct pollfd fd[JOBS_MAX + 1]; /* pidfds; behind the last, our signals */
	size_t n, max;
};

static void start(struct control *c, struct jobs *j, const char *snap, const char *file)
{
	pid_t pid = fork();
	if (pid == 0)
		child(c, snap, file);
	if (pid < 0) {
		c->symbols_failed++;
		return;
	}
	j->pid[j->n] = pid;
	j->fd[j->n++] = (struct pollfd){(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0};
}

static void reap(struct control *c, struct jobs *j, size_t i)
{
	int status = 0;
	waitpid(j->pid[i], &status, 0);
	c->symbols_failed += status != 0;
	close(j->fd[i].fd);
	j->pid[i] = j->pid[--j->n];
	j->fd[i] = j->fd[j->n];
}

/* Waits until fewer than `most` children work, or a signal skips what is left. */
static void wait_below(struct control *c, struct jobs *j, size_t most)
{
	while (j->n && j->n >= most) {
		j->fd[j->n] = (struct pollfd){c->signals, POLLIN, 0};
		if (poll(j->fd, j->n + 1, -1) < 0 && errno != EINTR)
			return;
		if (j->fd[j->n].revents)
			control_read_signals(c);
		for (size_t i = j->n; i-- > 0;) {
			if (c->skip_symbols)
				kill(j->pid[i], SIGTERM);
			if (c->skip_symbols || j->fd[i].revents)
				reap(c, j, i);
		}
	}
}

static bool wants(const struct image *m)
{
	return m->kept && !m->error && m->stats.events;
}

/* Largest first, so that the last ones to end are short. */
static int by_size(const void *a, const void *b)
{
	const struct image *const *x = a, *const *y = b;
	return ((*x)->bytes < (*y)->bytes) - ((*x)->bytes > (*y)->bytes);
}

static void work(struct control *c, const char *snap, struct image **todo, size_t n)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct jobs j = {.max = processors < 1 ? 1 : (size_t)processors};
	if (j.max > JOBS_MAX)
		j.max = JOBS_MAX;
	for (size_t i = 0; i < n && !c->skip_symbols; i++) {
		wait_below(c, &j, j.max);
		if (!c->skip_symbols)
			start(c, &j, snap, todo[i]->file);
	}
	wait_below(c, &j, 1);
}

void control_symbols(struct control *c)
{
	if (c->opt->no_symbols || c->abandoned || !c->files.folder || !c->images.n)
		return;
	char *snap = launch_beside("ms-snap");
	c->no_snap = !snap;
	struct image **todo = ms_xrealloc(NULL, c->images.n, sizeof(struct image *));
	size_t n = 0;
	for (size_t i = 0; snap && i < c->images.n; i++)
		if (wants(&c->images.v[i]))
			todo[n++] = &c->images.v[i];
	qsort((void *)todo, n, sizeof(struct image *), by_size);
	work(c, snap, todo, n);
	for (size_t i = 0; i < n; i++) {
		struct stat st;
		if (!stat(todo[i]->file, &st))
			todo[i]->bytes = (uint64_t)st.st_size;
	}
	free((void *)todo);
	free(snap);
}

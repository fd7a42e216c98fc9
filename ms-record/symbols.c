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

/* Waits for the child, or for a signal that skips what is left. */
static int wait_for(struct control *c, pid_t pid)
{
	int status = 0;
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	while (fd >= 0 && !c->skip_symbols) {
		struct pollfd p[] = {{fd, POLLIN, 0}, {c->signals, POLLIN, 0}};
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			break;
		if (p[1].revents)
			control_read_signals(c);
		if (p[0].revents)
			break;
	}
	if (c->skip_symbols)
		kill(pid, SIGTERM);
	if (fd >= 0)
		close(fd);
	waitpid(pid, &status, 0);
	return status;
}

void control_symbols(struct control *c)
{
	if (c->opt->no_symbols || c->abandoned || !c->files.folder)
		return;
	char *snap = launch_beside("ms-snap");
	c->no_snap = !snap;
	for (size_t i = 0; snap && i < c->images.n && !c->skip_symbols; i++) {
		struct image *m = &c->images.v[i];
		if (!m->kept || m->error || !m->stats.events)
			continue;
		pid_t pid = fork();
		if (pid == 0)
			child(c, snap, m->file);
		if (pid > 0 && wait_for(c, pid))
			c->symbols_failed++;
		struct stat st;
		if (!stat(m->file, &st))
			m->bytes = (uint64_t)st.st_size;
	}
	free(snap);
}

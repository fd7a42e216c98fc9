/* SPDX-License-Identifier: MIT
 * Runs one command for the benchmark and writes what it used: "start end own total rss gone status".
 *
 *   launch FILE COMMAND [ARG...]
 *
 * start, end: CLOCK_MONOTONIC, s; gone: when the program that holds the FIFO BENCH_HELD (peak.c) had
 * ended, which a recorder may outlive; 0: nobody held it. own: CPU seconds of the command's process alone, all its threads;
 * total: with the children that it waited for; so a recorder and its target come apart. rss: KiB,
 * the largest of them. A program as small as this one is needed in between, because the largest
 * memory of a process counts what it was before its exec. BENCH_PRELOAD becomes the command's
 * LD_PRELOAD.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock)
{
	struct timespec t = {0, 0};
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void become(char **command)
{
	const char *preload = getenv("BENCH_PRELOAD");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (preload && *preload)
		setenv("LD_PRELOAD", preload, 1);
	unsetenv("BENCH_PRELOAD");
	execvp(command[0], command);
	fprintf(stderr, "launch: cannot run '%s': %s\n", command[0], strerror(errno));
	_exit(127);
}

/* Until the command has ended. When the FIFO was let go by the last one that held it; 0: nobody held
 * it, or somebody still does. */
static double await(pid_t pid, int fifo)
{
	struct pollfd both[] = {{(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0}, {fifo, 0, 0}};
	double gone = 0;
	while (both[0].fd >= 0 && !both[0].revents) {
		if (poll(both, 2, -1) < 0 && errno != EINTR)
			break;
		if (both[1].revents & POLLHUP) {
			gone = seconds(CLOCK_MONOTONIC);
			both[1] = (struct pollfd){-1, 0, 0};
		}
	}
	/* Ended but not yet reaped: its own CPU clock can still be read. */
	siginfo_t ended;
	while (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	return gone;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: launch FILE COMMAND [ARG...]\n");
		return 2;
	}
	const char *held = getenv("BENCH_HELD");
	int fifo = held ? open(held, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	double start = seconds(CLOCK_MONOTONIC);
	pid_t pid = fork();
	if (pid < 0) {
		perror("launch: fork");
		return 2;
	}
	if (pid == 0)
		become(argv + 2);
	double gone = await(pid, fifo), end = seconds(CLOCK_MONOTONIC), own = 0;
	clockid_t clock;
	if (clock_getcpuclockid(pid, &clock) == 0)
		own = seconds(clock);
	struct rusage used;
	int status = 0;
	if (wait4(pid, &status, 0, &used) != pid) {
		perror("launch: wait4");
		return 2;
	}
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	FILE *f = fopen(argv[1], "w");
	if (!f ||
	    fprintf(f, "%.9f %.9f %.9f %.9f %ld %.9f %d\n", start, end, own,
		    of(used.ru_utime) + of(used.ru_stime), used.ru_maxrss, gone, code) < 0 ||
	    fclose(f) != 0) {
		fprintf(stderr, "launch: cannot write '%s'\n", argv[1]);
		return 2;
	}
	return code;
}

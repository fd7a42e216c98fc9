/* SPDX-License-Identifier: MIT
 * Runs ms-report on the trace after the recording, for --report and --fail-on.
 */
#include "summary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ms-record/control/control.h"

/* Returns a path from which the first trace can be read, even if the trace was written to a
 * descriptor passed to us; NULL if it cannot be read. */
static char *readable(const struct control *c, char *room, size_t size)
{
	struct stat st;
	int fd = strncmp(c->files.path, "fd:", 3) ? -1 : atoi(c->files.path + 3);
	if (c->files.folder)
		return c->files.path;
	snprintf(room, size, "/proc/%d/fd/%d", (int)getpid(), fd);
	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? room : NULL;
}

/* Runs ms-report on the first trace. `argv` ends with two NULLs, the first of which is replaced by
 * the trace's path. The output goes to our standard error, or is discarded unless `shown`. Returns
 * ms-report's exit status, or -1 after reporting that it could not run. */
static int run_report(const struct control *c, const char *option, char **argv, bool shown)
{
	int status = -1, errors = 0;
	char room[64], *path = readable(c, room, sizeof room), **last = argv;
	while (*last)
		last++;
	*last = path;
	if (!path)
		fprintf(stderr,
			"ms-record: --%s: a trace in '%s' cannot be read back: use -o FILE\n",
			option, c->files.path);
	else if (!images_first(c))
		fprintf(stderr,
			"ms-record: --%s: nothing was recorded, or the trace was removed or "
			"replaced\n",
			option);
	if (!path || !images_first(c))
		return -1;
	char *program = launch_own_file("ms-report");
	pid_t pid = program ? fork() : -1;
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &c->launch.mask, NULL);
		dup2(shown ? STDERR_FILENO : open("/dev/null", O_WRONLY | O_CLOEXEC),
		     STDOUT_FILENO);
		execv(program, argv);
		_exit(127);
	}
	errors = errno;
	if (pid > 0 && waitpid(pid, &status, 0) == pid)
		status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	else
		fprintf(stderr, "ms-record: --%s: %s\n", option,
			program ? strerror(errors) : "ms-report is not in the folder of ms-record");
	free(program);
	return status;
}

void summary_report(const struct control *c)
{
	char *argv[] = {(char *)"ms-report", (char *)"--style=no-pager", (char *)"--", NULL, NULL};
	run_report(c, "report", argv, true);
}

bool summary_grows(const struct control *c, double bytes_per_second, bool quiet)
{
	char budget[96];
	double most = bytes_per_second * 60;
	uint64_t limit = most < 1e18 ? (uint64_t)most : UINT64_C(1000000000000000000);
	unsigned shift = limit % (1 << 20) == 0 ? 20 : limit % (1 << 10) == 0 ? 10 : 0;
	snprintf(budget, sizeof budget, "growth_bytes_per_minute > %" PRIu64 "%s", limit >> shift,
		 shift == 20 ? "M"
		 : shift     ? "k"
			     : "");
	char *argv[] = {(char *)"ms-report",
			(char *)"--summary",
			(char *)(quiet ? "-q" : "--no-pager"),
			(char *)"--fail-on",
			budget,
			(char *)"--",
			NULL,
			NULL};
	return run_report(c, "fail-on", argv, false) == 1;
}

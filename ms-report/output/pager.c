/* SPDX-License-Identifier: MIT
 * Shows long text on a terminal through the user's pager.
 */
#include "out.h"

#include "libcommon/base/io.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns the pager command; "" = less, the default; NULL = no pager: the variable is empty or
 * "cat". */
static const char *command(void)
{
	const char *s = getenv("MEMSCOPE_PAGER");
	if (!s)
		s = getenv("PAGER");
	if (!s)
		return "";
	return *s && strcmp(s, "cat") != 0 ? s : NULL;
}

static bool fits(const char *text, size_t n)
{
	struct winsize w;
	size_t lines = 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_row == 0)
		return false;
	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	return lines < w.ws_row;
}

/* Executes the pager, which reads `fd`. Exits with 127 if the command is not found, as the shell
 * does. */
__attribute__((noreturn)) static void become(const char *pager, int fd)
{
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	/* colours, and exit if the text fits, for a PAGER that is just "less" */
	setenv("LESS", "FRX", 0);
	bool reads = dup2(fd, STDIN_FILENO) >= 0;
	if (reads && *pager)
		execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
	else if (reads)
		execlp("less", "less", "-FRX", (char *)NULL);
	_exit(127);
}

bool pager_show(const char *text, size_t n)
{
	const char *pager = command();
	int pipes[2], status = 0;
	if (!pager || fits(text, n) || pipe(pipes) != 0)
		return false;
	/* while the pager runs, keys such as Ctrl-C are for the pager */
	void (*interrupt)(int) = signal(SIGINT, SIG_IGN), (*quit)(int) = signal(SIGQUIT, SIG_IGN);
	/* if the parent process ignores SIGCHLD, waiting for a child would not work */
	signal(SIGCHLD, SIG_DFL);
	pid_t pid = fork();
	if (pid == 0) {
		close(pipes[1]);
		become(pager, pipes[0]);
	}
	close(pipes[0]);
	if (pid > 0)
		ms_write_all(pipes[1], text, n); /* EPIPE: the pager was quit early */
	close(pipes[1]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		continue;
	signal(SIGINT, interrupt);
	signal(SIGQUIT, quit);
	if (pid > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
		raise(SIGINT);
	return pid > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) >= 126);
}

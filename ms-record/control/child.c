/* SPDX-License-Identifier: MIT
 * Forks children of ms-record.
 */
#include "child.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "control.h"

pid_t child_fork(const struct control *c, int out, int err)
{
	pid_t pid = fork();
	if (pid > 0)
		setpgid(pid, pid); /* as in the child, whichever comes first */
	if (pid)
		return pid;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int to[] = {null, out < 0 ? null : out, err < 0 ? null : err};
	for (int fd = 0; fd < 3; fd++)
		if (to[fd] >= 0)
			dup2(to[fd], fd);
	setpgid(0, 0);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	sigprocmask(SIG_SETMASK, &c->launch.mask, NULL);
	return 0;
}

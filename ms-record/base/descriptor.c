/* SPDX-License-Identifier: MIT
 * Optional file descriptors, and descriptors for processes.
 */
#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

int descriptor_named(const char *text)
{
	char *end = NULL;
	long fd = strncmp(text, "fd:", 3) ? -1 : strtol(text + 3, &end, 10);
	return end && end > text + 3 && !*end && fd >= 0 && fd <= INT_MAX ? (int)fd : -1;
}

void descriptor_close(int fd)
{
	int saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
}

int descriptor_signals(int more, sigset_t *before)
{
	static const int ours[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		sigaddset(&set, ours[i]);
	if (more)
		sigaddset(&set, more);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &set, before);
	return fd;
}

bool descriptor_trusted(int fd, pid_t *pid)
{
	struct ucred who;
	socklen_t n = sizeof who;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n))
		return false;
	*pid = who.pid;
	return who.uid == 0 || who.uid == geteuid();
}

const char *descriptor_user(void)
{
	static char number[16];
	const struct passwd *p = getpwuid(geteuid());
	snprintf(number, sizeof number, "%u", (unsigned)geteuid());
	return p ? p->pw_name : number;
}

int process_folder(pid_t pid)
{
	char path[32];
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool process_link(int folder, const char *name, char *path, size_t room)
{
	ssize_t n = readlinkat(folder, name, path, room - 1);
	path[n > 0 ? n : 0] = '\0';
	return n > 0;
}

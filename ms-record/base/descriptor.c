/* SPDX-License-Identifier: MIT
 * Descriptors that may be there or not, and those of processes.
 */
#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void descriptor_close(int fd)
{
	int saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
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

void process_exe(int folder, char path[PROCESS_EXE])
{
	ssize_t n = readlinkat(folder, "exe", path, PROCESS_EXE - 1);
	if (n > 0)
		path[n] = '\0';
	else
		strcpy(path, "unknown");
}

void process_exe_of(pid_t pid, char path[PROCESS_EXE])
{
	int folder = process_folder(pid);
	process_exe(folder, path);
	descriptor_close(folder);
}

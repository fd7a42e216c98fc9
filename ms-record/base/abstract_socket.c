/* SPDX-License-Identifier: MIT
 * Sockets for packets, with a name that is no file's.
 */
#include "abstract_socket.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static socklen_t address_of(const char *name, struct sockaddr_un *a)
{
	size_t n = strlen(name);
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(a->sun_path + 1, name, n);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

static int give_up(int fd)
{
	int why = errno;
	if (fd >= 0)
		close(fd);
	errno = why;
	return -1;
}

int abstract_listen(const char *name, int backlog)
{
	struct sockaddr_un a;
	socklen_t n = address_of(name, &a);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool good = fd >= 0 && !bind(fd, (struct sockaddr *)&a, n) && !listen(fd, backlog);
	return good ? fd : give_up(fd);
}

int abstract_connect(const char *name, unsigned patience_s)
{
	struct sockaddr_un a;
	struct timeval wait = {.tv_sec = patience_s};
	socklen_t n = address_of(name, &a);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
	bool good = fd >= 0 && !connect(fd, (struct sockaddr *)&a, n);
	return good ? fd : give_up(fd);
}

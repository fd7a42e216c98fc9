/* SPDX-License-Identifier: MIT
 * Packets between processes. If this process is stopped, a socket call with a time limit fails
 * with EINTR even without a signal handler (signal(7)); it is then repeated.
 */
#include "packet.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "descriptor.h"

static socklen_t address_of(const char *name, struct sockaddr_un *a)
{
	size_t n = strlen(name);
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(a->sun_path + 1, name, n);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

int packet_listen(const char *name, int backlog)
{
	struct sockaddr_un a;
	socklen_t n = address_of(name, &a);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&a, n) && !listen(fd, backlog))
		return fd;
	descriptor_close(fd);
	return -1;
}

int packet_connect(const char *name, unsigned patience_s)
{
	struct sockaddr_un a;
	struct timeval wait = {.tv_sec = patience_s};
	socklen_t n = address_of(name, &a);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
	if (fd >= 0 && !TEMP_FAILURE_RETRY(connect(fd, (struct sockaddr *)&a, n)))
		return fd;
	descriptor_close(fd);
	return -1;
}

/* Holds the control message for one file descriptor. */
union one_file {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

bool packet_send(int to, const void *bytes, size_t n, int fd)
{
	union one_file control = {0};
	struct iovec io = {(void *)(uintptr_t)bytes, n};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};
	if (fd >= 0) {
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof control.bytes;
		struct cmsghdr *h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(h), &fd, sizeof fd);
	}
	return TEMP_FAILURE_RETRY(sendmsg(to, &m, MSG_NOSIGNAL)) == (ssize_t)n;
}

ssize_t packet_take(int from, void *bytes, size_t n, int flags, int *fd)
{
	union one_file control = {0};
	struct iovec io = {bytes, n};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof control.bytes};
	ssize_t got = TEMP_FAILURE_RETRY(recvmsg(from, &m, flags | MSG_CMSG_CLOEXEC));
	const struct cmsghdr *h = got > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	*fd = -1;
	if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS &&
	    h->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(h), sizeof *fd);
	return got;
}

bool packet_closed(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};
	return poll(&p, 1, 0) > 0; /* an interrupted poll is no sign that it was closed */
}

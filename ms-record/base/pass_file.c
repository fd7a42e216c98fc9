/* SPDX-License-Identifier: MIT
 * A message with an open file, to whom it is to have it too.
 */
#include "pass_file.h"

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

bool pass_file(int to, const void *bytes, size_t n, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
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
	return sendmsg(to, &m, MSG_NOSIGNAL) == (ssize_t)n;
}

ssize_t pass_file_take(int from, void *bytes, size_t n, int flags, int *fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec io = {bytes, n};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof control.bytes};
	ssize_t got = recvmsg(from, &m, flags | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *h = got > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	*fd = -1;
	if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS &&
	    h->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(h), sizeof *fd);
	return got;
}

/* SPDX-License-Identifier: MIT
 * Delivers pages of its own memory itself (userfaultfd): uffd HOW [wait]
 *
 * HOW: own, a thread of it delivers; other, another process does, to which the descriptor was sent,
 * and this one has it no more; full, all pages are there; fork, as own, and whoever delivers is told
 * of forks and has to take note. wait: it allocates and frees until its standard input ends. It says
 * "done" and ends with status 3; 77: there is no userfaultfd.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096u
#define BYTES ((size_t)64 << 20) /* 64 MiB have a place at which an arena may begin */
#define TOUCHED 200u

static int uffd;

static void *deliver(void *unused)
{
	static char page[PAGE];
	struct uffd_msg m;
	memset(page, 7, sizeof page);
	while (read(uffd, &m, sizeof m) == sizeof m) {
		struct uffdio_copy c = {.src = (uintptr_t)page, .len = PAGE};
		if (m.event != UFFD_EVENT_PAGEFAULT)
			continue;
		c.dst = m.arg.pagefault.address & ~(uint64_t)(PAGE - 1);
		ioctl(uffd, UFFDIO_COPY, &c);
	}
	return unused;
}

static struct msghdr message(struct iovec *byte, void *room, size_t bytes)
{
	return (struct msghdr){
		.msg_iov = byte, .msg_iovlen = 1, .msg_control = room, .msg_controllen = bytes};
}

/* Another process that delivers; it is killed with this one. */
static int deliver_elsewhere(void)
{
	int pair[2];
	char byte = 0;
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof uffd)] = {0};
	struct iovec v = {&byte, 1};
	struct msghdr m = message(&v, room, sizeof room);
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(uffd);
		if (recvmsg(pair[1], &m, 0) != 1)
			_exit(1);
		memcpy(&uffd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof uffd);
		deliver(NULL);
		_exit(0);
	}
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof uffd);
	memcpy(CMSG_DATA(c), &uffd, sizeof uffd);
	int rc = sendmsg(pair[0], &m, 0) == 1 ? 0 : -1;
	close(uffd);
	close(pair[0]);
	close(pair[1]);
	return rc;
}

static char *reserve(size_t bytes, bool forks)
{
	struct uffdio_api a = {.api = UFFD_API, .features = forks ? UFFD_FEATURE_EVENT_FORK : 0};
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register r = {.range = {(uintptr_t)at, bytes},
				    .mode = UFFDIO_REGISTER_MODE_MISSING};
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	bool good = uffd >= 0 && !ioctl(uffd, UFFDIO_API, &a) && !ioctl(uffd, UFFDIO_REGISTER, &r);
	return good ? at : NULL;
}

static void work(bool waits)
{
	static void *kept[10];
	struct pollfd input = {.events = POLLIN};
	for (int i = 0; waits && !poll(&input, 1, 10); i++) {
		free(kept[i % 10]);
		kept[i % 10] = malloc(100);
	}
	kept[0] = malloc(500);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "own";
	size_t bytes = strcmp(how, "full") ? BYTES : (size_t)TOUCHED * PAGE, step = bytes / TOUCHED;
	char *at = reserve(bytes, !strcmp(how, "fork"));
	pthread_t t;
	if (!at)
		return 77;
	if (!strcmp(how, "other") ? deliver_elsewhere() : pthread_create(&t, NULL, deliver, NULL))
		return 2;
	for (size_t i = 0; i < TOUCHED; i++)
		if (((volatile char *)at)[i * step / PAGE * PAGE] != 7)
			return 9;
	if (argc > 2)
		puts("ready");
	fflush(stdout);
	work(argc > 2);
	puts("done");
	return 3;
}

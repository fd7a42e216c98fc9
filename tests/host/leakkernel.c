/* SPDX-License-Identifier: MIT
 * Blocks that are in use though no word that the program may read points to them: the kernel has their
 * addresses, or what holds them is inaccessible for now. 10 of `kept`, and 2 of `lost`.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

APART static void *kept(size_t size)
{
	return malloc(size);
}

APART static void *lost(size_t size)
{
	return malloc(size);
}

APART static void forget(void *p, size_t size)
{
	memset(p, 0, size);
	__asm__ volatile("" ::"r"(p) : "memory");
}

APART static void scrub(void)
{
	char b[8192];
	forget(b, sizeof b);
}

APART static void in_epoll(int epoll)
{
	struct epoll_event e = {.events = EPOLLIN};
	for (int i = 0; i < 2; i++) {
		e.data.ptr = kept(100);
		epoll_ctl(epoll, EPOLL_CTL_ADD, eventfd(0, 0), &e);
	}
	forget(&e, sizeof e);
}

APART static void in_timer(void)
{
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	int timer;
	e.sigev_value.sival_ptr = kept(200);
	syscall(SYS_timer_create, CLOCK_MONOTONIC, &e, &timer);
	forget(&e, sizeof e);
}

APART static void signal_stack(void *start)
{
	stack_t s = {.ss_sp = start, .ss_size = 65536};
	sigaltstack(&s, NULL);
	forget(&s, sizeof s);
}

APART static void *volatile *page(int fd, int flags)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, fd, 0);
}

static void *volatile *volatile hidden, *volatile *volatile file;
static __thread void *volatile own;

static void *waits(void *unused)
{
	signal_stack(kept(65536));
	scrub();
	pause();
	return unused;
}

static void *ends(void *unused)
{
	(void)unused;
	own = kept(300);
	return kept(400);
}

static void *in_detached(void *unused)
{
	(void)unused;
	signal_stack(lost(65536));
	return lost(500);
}

int main(void)
{
	pthread_t t;
	int disk = open("map.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
	in_epoll(epoll_create1(0));
	in_timer();
	signal_stack(kept(65536));
	hidden = page(-1, MAP_PRIVATE | MAP_ANONYMOUS);
	*hidden = kept(600);
	mprotect((void *)hidden, 4096, PROT_NONE);
	if (ftruncate(disk, 4096))
		return 1;
	file = page(disk, MAP_SHARED);
	*file = kept(700);
	for (int i = 0; i < 2; i++)
		pthread_create(&t, NULL, waits, NULL);
	usleep(100000);
	pthread_create(&t, NULL, ends, NULL);
	usleep(100000);
	pthread_create(&t, NULL, in_detached, NULL);
	pthread_detach(t);
	usleep(200000);
	scrub();
	return 0;
}

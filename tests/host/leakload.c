/* SPDX-License-Identifier: MIT
 * A program under load for tests of the leak scan on request: threads that allocate, wait for
 * events, read from a pipe with a peer, and count what should never happen.
 *
 *   leakload SECONDS [MEGABYTES]      or until SIGUSR1
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile int over;
static int wrong, pipes[2];
static void *volatile kept;

struct block {
	struct block *next;
	char rest[240];
};

static void *churns(void *unused)
{
	void *held[64] = {0};
	for (uint32_t x = 1; !over;) {
		x = x * 1664525 + 1013904223;
		char **at = (char **)&held[x >> 26];
		if (*at && (*at)[0] != (char)(x >> 26))
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
		free(*at);
		*at = malloc(16 + (x >> 8) % 2000);
		(*at)[0] = (char)(x >> 26);
	}
	for (int i = 0; i < 64; i++)
		free(held[i]);
	return unused;
}

static void *polls(void *unused)
{
	struct epoll_event e;
	int fd = epoll_create1(0), never = eventfd(0, 0);
	e.events = EPOLLIN;
	epoll_ctl(fd, EPOLL_CTL_ADD, never, &e);
	while (!over)
		if (epoll_wait(fd, &e, 1, 100) < 0)
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	return unused;
}

static void *reads(void *unused)
{
	char c, want = 0;
	while (read(pipes[0], &c, 1) == 1)
		if (c != want++)
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	return unused;
}

static void *writes(void *unused)
{
	for (char c = 0; !over; c++) {
		if (write(pipes[1], &c, 1) != 1)
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
		if (c % 16 == 0)
			usleep(1000);
	}
	close(pipes[1]);
	return unused;
}

static void *sleeps(void *unused)
{
	while (!over) {
		struct timespec t = {0, 50000000};
		if (nanosleep(&t, NULL))
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	}
	return unused;
}

__attribute__((noinline)) static void leak(void)
{
	for (int i = 0; i < 7; i++)
		memset(malloc(1000), 0, 1000);
}

static void stop(int sig)
{
	over = sig;
}

/* Blocks that nothing points to but memory that is not in a child of fork. */
static void hide(int flag, int advice, size_t bytes)
{
	void **page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flag | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || (advice && madvise(page, 4096, advice)))
		exit(9);
	page[7] = memset(malloc(bytes), 0, bytes);
}

int main(int argc, char **argv)
{
	sigset_t usr1;
	static void *(*const all[])(void *) = {churns, churns, polls, reads, writes, sleeps};
	pthread_t t[6];
	long megabytes = argc > 2 ? atol(argv[2]) : 1;
	for (long i = 0; i < megabytes * 4096; i++) {
		struct block *b = malloc(sizeof *b);
		memset(b, 1, sizeof *b);
		b->next = kept;
		kept = b;
	}
	leak();
	hide(MAP_PRIVATE, MADV_DONTFORK, 3000);
	hide(MAP_PRIVATE, MADV_WIPEONFORK, 5000);
	hide(MAP_SHARED, 0, 6000);
	if (pipe(pipes))
		return 1;
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL); /* the main thread's alone */
	for (int i = 0; i < 6; i++)
		pthread_create(&t[i], NULL, all[i], NULL);
	signal(SIGUSR1, stop);
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
	over = 1;
	for (int i = 0; i < 6; i++)
		pthread_join(t[i], NULL);
	printf("wrong %d\n", wrong);
	return wrong != 0;
}

/* SPDX-License-Identifier: MIT
 * A program that leaks three blocks, keeps five, and ends in many ways: see leaktrace.sh.
 *
 *   leaktrace HOW
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/memscope.h"

static void *volatile global[3];
static volatile int ready;

static void *sleeps(void *unused)
{
	void *volatile local = memset(malloc(400), 0, 400);
	__atomic_add_fetch(&ready, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
	free(local);
	return unused;
}

static void *ends(void *unused)
{
	usleep(20000);
	syscall(SYS_exit_group, 7);
	return unused;
}

/* Ends some time after the threads that were made later. */
static void *ends_in_turn(void *how_soon)
{
	usleep((unsigned)(uintptr_t)how_soon * 100);
	return NULL;
}

static pthread_barrier_t barrier;

static void *exits(void *unused)
{
	pthread_barrier_wait(&barrier);
	exit(4);
	return unused;
}

static void *comes_and_goes(void *unused)
{
	return unused;
}

__attribute__((noinline)) static void leak(void)
{
	for (int i = 0; i < 3; i++)
		memset(malloc(1000), 0, 1000);
}

__attribute__((noinline)) static void wipe(void)
{
	char volatile room[8192];
	for (size_t i = 0; i < sizeof room; i++)
		room[i] = 0;
}

/* Signals that are ignored do not break off what waits. */
static int waits(void)
{
	struct epoll_event e;
	int fd = epoll_create1(0);
	for (int i = 0; i < 20; i++)
		if (fork() == 0) {
			usleep(1000u * (unsigned)i);
			syscall(SYS_exit, 0);
		}
	int rc = epoll_wait(fd, &e, 1, 200);
	while (wait(NULL) > 0)
		continue;
	return rc ? 1 : 0;
}

/* Two that stay, and fifty that are gone. */
static void start_threads(void)
{
	pthread_t t;
	for (int i = 0; i < 2; i++)
		pthread_create(&t, NULL, sleeps, NULL);
	for (int i = 0; i < 50; i++) {
		pthread_create(&t, NULL, comes_and_goes, NULL);
		pthread_join(t, NULL);
	}
	while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) < 2)
		usleep(1000);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t t;
	if (!strcmp(how, "soon")) {
		leak();
		wipe();
		abort();
	}
	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 3; i++)
		global[i] = memset(malloc(500), 0, 500);
	leak();
	wipe();
	if (!strcmp(how, "marks")) {
		ms_mark("other");
		ms_mark("now");
		while (access("go", F_OK))
			usleep(10000);
		leak();
		wipe();
		return 0;
	}
	if (!strcmp(how, "waits")) /* with one thread: see CAVEATS in ms-record(1) */
		return waits();
	start_threads();
	if (!strcmp(how, "return"))
		return 5;
	if (!strcmp(how, "together")) {
		for (int i = 0; i < 3; i++)
			pthread_create(&t, NULL, exits, NULL);
		exits(NULL);
	}
	if (!strcmp(how, "ending")) { /* whichever thread is the last one is about to end */
		for (int i = 1; i <= 100; i++)
			pthread_create(&t, NULL, ends_in_turn, (void *)(uintptr_t)(150 - i));
		return 6;
	}
	if (!strcmp(how, "sparse")) { /* most of it is never touched */
		char *p = global[0] = calloc(1, (size_t)16 << 30);
		p[5] = 1;
		return 5;
	}
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		*(volatile int *)0 = 1;
	if (!strcmp(how, "raw"))
		syscall(SYS_exit_group, 6);
	if (!strcmp(how, "term") || !strcmp(how, "kill"))
		kill(getpid(), how[0] == 't' ? SIGTERM : SIGKILL);
	if (!strcmp(how, "thread")) {
		pthread_create(&t, NULL, ends, NULL);
		pthread_exit(NULL);
	}
	if (!strcmp(how, "exec"))
		execl("/proc/self/exe", argv[0], "abort", NULL);
	if (!strcmp(how, "stop")) {
		raise(SIGSTOP);
		return 8;
	}
	pause();
	return 9;
}

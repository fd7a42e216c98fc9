/* SPDX-License-Identifier: MIT
 * Many threads, little address space, a realloc that is left. usage: crowd at|after|child N: so
 * many threads at once, or 8 at a time, or at once in a forked child, each with 100 blocks; limit
 * MB: limits its own address space; left N: as many blocks after a longjmp out of a realloc, then
 * waits as long as there is a file "wait"; slow N: as many at a time while another thread is in a realloc of 4242 bytes.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 10000
static pthread_t threads[MOST];
static pthread_barrier_t all;
static int at_once;
static long blocks = 100;

/* The one site of the blocks that the test counts. */
static __attribute__((noinline)) void *life(void *arg)
{
	if (at_once)
		pthread_barrier_wait(&all);
	for (long i = 0; i < blocks; i++) {
		void *volatile p = malloc(77);
		free(p);
	}
	if (at_once)
		pthread_barrier_wait(&all);
	return arg;
}

static int crowd(int n, int step)
{
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 64 << 10);
	at_once = step == n;
	pthread_barrier_init(&all, NULL, (unsigned)n);
	for (int i = 0; i < n; i += step) {
		for (int k = i; k < i + step && k < n; k++)
			if (pthread_create(&threads[k], &a, life, NULL)) {
				printf("no more than %d threads here\n", k);
				fflush(stdout);
				_exit(77);
			}
		for (int k = i; k < i + step && k < n; k++)
			pthread_join(threads[k], NULL);
	}
	printf("%d threads\n", n);
	fflush(stdout);
	return 0;
}

static int limited(rlim_t mb)
{
	struct rlimit l = {mb << 20, mb << 20};
	pthread_t t[3];
	setrlimit(RLIMIT_AS, &l);
	printf("a megabyte: %s\n", malloc(1 << 20) ? "yes" : "no");
	for (int i = 0; i < 3; i++)
		printf("a thread: %s\n", strerror(pthread_create(&t[i], NULL, life, NULL)));
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	fflush(stdout);
	for (int i = 0; i < 3; i++)
		if (!fork()) {
			for (int k = 0; k < 10; k++)
				life(NULL);
			printf("a megabyte in a child: %s\n", malloc(1 << 20) ? "yes" : "no");
			fflush(stdout);
			_exit(0);
		}
	while (wait(NULL) > 0)
		continue;
	return 0;
}

static sigjmp_buf back;

static void leave(int sig)
{
	siglongjmp(back, sig);
}

/* Nearly all of the time is spent in realloc, and of that in the kernel. Once one is left this
 * function calls the allocator no more: what that hook was about to tell stays open. */
static int left(long n)
{
	struct itimerval soon = {{0, 0}, {0, 5000}};
	size_t bytes = 64 << 20;
	char *volatile p = malloc(bytes);
	signal(SIGALRM, leave);
	if (!sigsetjmp(back, 1)) {
		setitimer(ITIMER_REAL, &soon, NULL);
		for (;;)
			p = realloc(p, bytes += 4096);
	}
	blocks = n;
	pthread_create(threads, NULL, life, NULL);
	pthread_join(*threads, NULL);
	while (!access("wait", F_OK))
		usleep(10000);
	_exit(write(STDOUT_FILENO, "left\n", 5) != 5);
}

static int done;

static void *resize(void *block)
{
	block = realloc(block, 4242);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	return block;
}

/* While one thread is inside realloc for long, this one goes on. */
static int slow(long n)
{
	blocks = n;
	pthread_create(threads, NULL, resize, malloc(100));
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
		life(NULL);
		usleep(1000);
	}
	pthread_join(*threads, NULL);
	puts("slow");
	return 0;
}

int main(int argc, char **argv)
{
	long n = argc == 3 ? atol(argv[2]) : 0;
	if (n <= 0)
		return 2;
	if (!strcmp(argv[1], "limit"))
		return limited((rlim_t)n);
	if (!strcmp(argv[1], "left"))
		return left(n);
	if (!strcmp(argv[1], "slow"))
		return slow(n);
	if (n > MOST)
		return 2;
	if (strcmp(argv[1], "child"))
		return crowd((int)n, strcmp(argv[1], "at") ? 8 : (int)n);
	int status = 0;
	if (!fork())
		_exit(crowd((int)n, (int)n));
	while (wait(&status) < 0 && errno == EINTR)
		continue;
	return WEXITSTATUS(status);
}

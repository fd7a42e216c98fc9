/* SPDX-License-Identifier: MIT
 * Starts threads in a forked child, by default 200, each of which keeps blocks in its frame and in a
 * thread-local variable, as many as its number tells: thread n keeps 1 + n % 7 blocks of 1,000 bytes
 * and one of 1,000 + n bytes. The child's id is in `ready`; it goes on once `go` is opened for writing.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__thread void *local_block;
static unsigned ready, done; /* atomic */

__attribute__((noinline)) static void *some(size_t bytes)
{
	return calloc(1, bytes);
}

/* Writes over what calls have left on the stack. */
__attribute__((noinline)) static int burn(int n)
{
	volatile char b[4096];
	memset((void *)b, 0, sizeof b);
	return n ? burn(n - 1) + b[7] : 0;
}

__attribute__((noinline)) static void hold(void *const volatile *v)
{
	__atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&done, __ATOMIC_SEQ_CST))
		usleep(20000);
	(void)v[0];
}

__attribute__((noinline)) static void run_worker(int n)
{
	void *volatile mine[8] = {0};
	local_block = some(1000 + (size_t)n);
	for (int i = 0; i <= n % 7; i++)
		mine[i] = some(1000);
	burn(4);
	hold(mine);
}

static void *worker(void *arg)
{
	char name[16];
	int n = (int)(intptr_t)arg;
	snprintf(name, sizeof name, "worker-%d", n);
	pthread_setname_np(pthread_self(), name);
	run_worker(n);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 200;
	pthread_t thread;
	pthread_attr_t small;
	if (fork()) {
		int status;
		wait(&status);
		return status != 0;
	}
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 << 10);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&thread, &small, worker, (void *)(intptr_t)i) ||
		    pthread_detach(thread))
			return 1;
	while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < n)
		usleep(1000);
	FILE *f = fopen("ready.part", "w");
	fprintf(f, "%d\n", (int)getpid());
	fclose(f);
	rename("ready.part", "ready");
	close(open("go", O_RDONLY));
	_exit(0);
}

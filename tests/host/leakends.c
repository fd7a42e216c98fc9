/* SPDX-License-Identifier: MIT
 * The first programs that everybody tries: each forgets 100 bytes, or keeps them, and ends. CASE says
 * which one this is; the test says what is lost.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone, unused))

APART static void use(void *p)
{
	__asm__ volatile("" ::"r"(p) : "memory");
}

APART static void *give(size_t size)
{
	char *p = malloc(size);
	use(p);
	p[0] = 1;
	return p;
}

APART static void lose(void)
{
	give(100);
}

APART static void lose_deep(int n)
{
	char b[64];
	memset(b, n, sizeof b);
	use(b);
	if (n)
		lose_deep(n - 1);
	else
		lose();
	use(b);
}

APART static void lose_and_exit(void)
{
	lose();
	_exit(0);
}

APART static void on_signal(int sig)
{
	(void)sig;
	lose();
	exit(0);
}

APART static int compare(const void *a, const void *b)
{
	(void)a;
	(void)b;
	lose();
	exit(0);
}

APART static void *in_thread(void *end)
{
	void *volatile mine = give(50);
	lose();
	use(mine);
	if (end)
		exit(0);
	return NULL;
}

APART static void *waits(void *unused)
{
	void *volatile mine = give(50);
	for (;;)
		pause();
	return unused ? mine : NULL;
}

static void *volatile kept;

#if CASE == 17
__attribute__((constructor)) static void early(void)
{
	lose();
}
#endif

int main(int argc, char **argv)
{
	pthread_t t;
	(void)argc;
	(void)argv;
	(void)t;
#if CASE == 1
	malloc(100);
#elif CASE == 2
	lose();
#elif CASE == 3 /* main's locals live as long as it has not returned */
	void *volatile mine = give(50);
	lose();
	use(mine);
	exit(0);
#elif CASE == 4
	void *volatile mine = give(100);
	use(mine);
#elif CASE == 5
	kept = give(50);
	lose();
#elif CASE == 6
	at_quick_exit(lose);
	quick_exit(0);
#elif CASE == 7
	void *volatile mine = give(50);
	lose();
	use(mine);
	_exit(0);
#elif CASE == 8
	void *volatile mine = give(50);
	use(mine);
	pthread_create(&t, NULL, in_thread, "");
	pthread_join(t, NULL);
#elif CASE == 10
	atexit(lose);
#elif CASE == 11
	atexit(lose_and_exit);
	exit(0);
#elif CASE == 12
	void *volatile mine = give(50);
	use(mine);
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
#elif CASE == 13
	lose_deep(20);
#elif CASE == 14
	char b[200];
	lose();
	for (int i = 0; i < 5; i++)
		snprintf(b, sizeof b, "%d %f %s", i, i * 1.5, "abc");
	puts(b);
#elif CASE == 15
	int v[4] = {4, 3, 2, 1};
	void *volatile mine = give(50);
	qsort(v, 4, sizeof *v, compare); /* whose buffer keeps what was on the stack before */
	use(mine);
#elif CASE == 16
	pthread_create(&t, NULL, waits, NULL);
	usleep(20000);
	lose();
#elif CASE == 17
#elif CASE == 18
	static jmp_buf j;
	if (!setjmp(j)) {
		lose();
		longjmp(j, 1);
	}
#elif CASE == 19
	argv[0] = give(50);
	lose();
#elif CASE == 20
	/* before the block is lost: a new thread has its creator's registers, vectors too */
	pthread_create(&t, NULL, waits, NULL);
	lose();
	quick_exit(1);
#elif CASE == 21
	lose_deep(20); /* deeper than frames of abort, whose variables keep what was there before */
	abort();
#endif
	return 0;
}

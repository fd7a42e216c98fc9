/* SPDX-License-Identifier: MIT
 * A program to record: a thread, recursion, inlined functions, temporary blocks, and a function
 * whose name the test replaces by a hostile one.
 */
#include <memscope.h>
#include <pthread.h>
#include <stdlib.h>

static void *volatile last;
static void *kept[100];

static inline __attribute__((always_inline)) void *inlined(size_t n)
{
	return last = malloc(n);
}

__attribute__((noinline)) void hostile_function(size_t n);
void hostile_function(size_t n)
{
	kept[99] = inlined(n);
}

static __attribute__((noinline)) void recurse(int n)
{
	if (n > 0)
		recurse(n - 1);
	else
		for (int i = 0; i < 10; i++)
			kept[i] = inlined(1000);
	last = NULL; /* no tail call */
}

static void *work(void *arg)
{
	for (int i = 0; i < 5; i++)
		kept[10 + i] = malloc(20000);
	return arg;
}

int main(void)
{
	pthread_t t;
	for (int i = 0; i < 1000; i++)
		free(last = malloc(64));
	recurse(5);
	ms_mark("warm");
	hostile_function(12345);
	if (pthread_create(&t, NULL, work, NULL) != 0)
		return 1;
	pthread_join(t, NULL);
	for (int i = 10; i < 15; i++)
		free(kept[i]);
	return 0;
}

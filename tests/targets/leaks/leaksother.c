/* SPDX-License-Identifier: MIT
 * A program that is run with other allocators: it drops a hundred blocks, whose addresses stay in
 * an allocator's caches, and keeps others where such an allocator had memory of its own before.
 *
 *   leaksother SIZE [thread]
 */
#include "leaks.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE ((size_t)4 << 20)
#define REGIONS 20

static void *volatile kept[100];
static volatile bool ready;

/* Blocks of like sizes come and go all the while. */
APART static void drop(int n, size_t size)
{
	for (int i = 0; i < n; i++) {
		direct_block(size + (size_t)(i % 5) * 16);
		void *a = malloc(size), *b = malloc(size + 32);
		if (!kept[i])
			kept[i] = reachable_block(size);
		free(a);
		free(b);
	}
}

static void *drops(void *size)
{
	drop(20, *(size_t *)size);
	scrub();
	return NULL;
}

static void *holds(void *unused)
{
	void *volatile p = reachable_block(50);
	(void)unused;
	ready = true;
	for (;;)
		pause();
	return p;
}

/* Maps memory where the allocator gave some back to the system, and keeps blocks there. */
APART static void reuse(void)
{
	void *large[REGIONS];
	for (int i = 0; i < REGIONS; i++)
		memset(large[i] = malloc(LARGE), 1, LARGE);
	for (int i = 0; i < REGIONS; i++)
		free(large[i]);
	for (int i = 0; i < REGIONS; i++) {
		void **m = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);
		m[(size_t)i * 20000] = reachable_block(60);
	}
	pthread_t t;
	pthread_create(&t, NULL, holds, NULL);
	while (!ready)
		usleep(1000);
	usleep(20000);
}

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? (size_t)atoi(argv[1]) : 48;
	drop(100, size);
	if (argc > 2) {
		pthread_t t;
		pthread_create(&t, NULL, drops, &size);
		pthread_join(t, NULL);
	}
	reuse();
	scrub();
	return 0;
}

/* SPDX-License-Identifier: MIT
 * Threads that free, and resize, each other's blocks.
 */
#include "truth.h"

#include <pthread.h>

#define THREADS 4
#define BLOCKS 500

static void *table[THREADS][BLOCKS];
static pthread_barrier_t barrier;

static SITE void *make(size_t n)
{
	return MALLOC(n);
}

static SITE void *resize(void *p, size_t n)
{
	return REALLOC(p, n);
}

static SITE void *work(void *argument)
{
	size_t self = (size_t)(uintptr_t)argument;
	for (size_t round = 0; round < 4; round++) {
		pthread_barrier_wait(&barrier);
		for (size_t i = 0; i < BLOCKS; i++)
			table[self][i] = make(i + 16 * self);
		pthread_barrier_wait(&barrier);
		size_t other = (self + 1 + round) % THREADS;
		for (size_t i = 0; i < BLOCKS; i += 2)
			table[other][i] = resize(table[other][i], 2 * i + 1);
		pthread_barrier_wait(&barrier);
		other = (self + 2) % THREADS;
		for (size_t i = self; i < BLOCKS; i++)
			FREE(table[other][i]);
	}
	pthread_barrier_wait(&barrier);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

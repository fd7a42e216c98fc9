/* SPDX-License-Identifier: MIT
 * A multi-threaded program made from a seed: who allocates what, and who frees it, comes from its
 * own numbers.
 */
#include "truth.h"

#include <pthread.h>
#include <malloc.h>
#include <sched.h>
#include <string.h>

/* Arguments: the seed, and "free" to let the threads run without one lock around each call (then
 * the order, and so the peak, is not known; all other totals do not depend on it but for
 * "temporary", which is each thread's own). */

#define SLOTS 256
#define MOST_THREADS 8

static void *shared[SLOTS];
static pthread_barrier_t barrier;
static uint64_t seed;
static unsigned threads, steps;

static SITE void *small(uint64_t r)
{
	return MALLOC(r % 100);
}

static SITE void *medium(uint64_t r)
{
	return CALLOC(r % 50, r % 61);
}

static SITE void *large(uint64_t r)
{
	return MALLOC(r % 300000);
}

static SITE void *aligned(uint64_t r)
{
	return MEMALIGN((size_t)16 << r % 6, r % 2000);
}

static SITE void *deeper(uint64_t r, unsigned depth)
{
	void *p;
	if (depth)
		return deeper(r, depth - 1);
	switch (r >> 20 & 7) {
	case 0:
		p = large(r);
		break;
	case 1:
		p = aligned(r);
		break;
	case 2:
	case 3:
		p = medium(r);
		break;
	default:
		p = small(r);
	}
	return p;
}

static SITE void *resize(void *p, uint64_t r)
{
	return REALLOC(p, r % 5000 + 1);
}

static SITE void step(void **own, uint64_t r)
{
	unsigned i = r >> 40 & 31;
	switch (r >> 32 & 7) {
	case 0:
	case 1:
		FREE(own[i]);
		own[i] = deeper(r, r >> 24 & 15);
		break;
	case 2:
		own[i] = resize(own[i], r);
		break;
	case 3:
		FREE(own[i]);
		own[i] = NULL;
		break;
	case 4:
		FREE(deeper(r, r >> 24 & 3));
		break;
	default: /* hand over: swap with whatever lies in the shared table */
		own[i] = __atomic_exchange_n(&shared[r % SLOTS], own[i], __ATOMIC_ACQ_REL);
	}
}

static SITE void *work(void *argument)
{
	uint64_t state = seed * 1000 + (uint64_t)(uintptr_t)argument;
	void *own[32] = {NULL};
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < steps; i++)
		step(own, tm_random(&state));
	for (int i = 0; i < 32; i += 2)
		FREE(own[i]);
	pthread_barrier_wait(&barrier);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t ids[MOST_THREADS];
	seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	tm_serial = argc < 3 || strcmp(argv[2], "free") != 0;
	uint64_t state = seed;
	threads = (unsigned)(tm_random(&state) % (MOST_THREADS - 1)) + 2;
	steps = (unsigned)(tm_random(&state) % 1500) + 100;
	pthread_barrier_init(&barrier, NULL, threads + 1);
	for (uintptr_t i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, work, (void *)i);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	for (int i = 0; i < SLOTS; i += 3)
		FREE(shared[i]);
	tm_say_number("threads", threads);
	return 0;
}

/* SPDX-License-Identifier: MIT
 * One thread makes events by itself, many a millisecond; then a second one begins, with a free or
 * with an allocation, at another point of the first one's loop in each run, and both hand the same
 * addresses to and fro. Arguments: a number from which the point follows.
 *
 * Blocks are too large for caches of a thread's own, so that what one thread frees is what the other
 * is given next.
 */
#include "truth.h"

#include <pthread.h>
#include <stdatomic.h>

#define SIZE 2000u
#define ROUNDS 2000u

static _Atomic(void *) box; /* a block on its way to the other thread */
static atomic_int over;

static SITE void *make(void)
{
	return MALLOC(SIZE);
}

static SITE void *make_other(void)
{
	return MALLOC(SIZE);
}

/* Frees blocks as a thread whose first event is a free or, with `argument`, an allocation. */
static SITE void *second(void *argument)
{
	while (!atomic_load(&over)) {
		void *p = atomic_exchange(&box, NULL);
		if (!p)
			continue;
		if (argument) {
			void *q = make_other();
			FREE(p);
			p = q;
			argument = NULL;
		}
		FREE(p);
	}
	void *p = atomic_exchange(&box, NULL);
	if (p)
		FREE(p);
	return NULL;
}

static void alone(uint64_t events)
{
	for (uint64_t i = 0; i < events; i++)
		FREE(make());
}

int main(int argc, char **argv)
{
	uint64_t state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	pthread_t thread;
	tm_serial = 0;
	pthread_create(&thread, NULL, second, (void *)(uintptr_t)(tm_random(&state) & 1));
	alone(40000 + tm_random(&state) % 4096);
	for (unsigned i = 0; i < ROUNDS; i++) {
		void *p = make(), *none = NULL;
		if (!atomic_compare_exchange_strong(&box, &none, p))
			FREE(p);
		FREE(make()); /* what was just freed, by whomever */
	}
	atomic_store(&over, 1);
	pthread_join(thread, NULL);
	return 0;
}

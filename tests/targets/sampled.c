/* SPDX-License-Identifier: MIT
 * Twelve sites of all kinds for sampling: small and large blocks, few and many, freed at once,
 * later, by another thread, or never; the same in every run, threads one after the other.
 */
#include "truth.h"

#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#define MANY 24000

static void *held[MANY];
static sem_t done;

static SITE void *tiny(void)
{
	return MALLOC(16);
}

static SITE void *node(void)
{
	return MALLOC(64);
}

static SITE void *odd(uint64_t r)
{
	return MALLOC(1 + r % 6000);
}

static SITE void *row(void)
{
	return CALLOC(10, 30);
}

static SITE void *kept(void)
{
	return MALLOC(700);
}

static SITE void *page(void)
{
	return MALLOC(4096);
}

static SITE void *aligned(void)
{
	return MEMALIGN(64, 256);
}

static SITE void *large(void)
{
	return MALLOC(100000);
}

static SITE void *huge(void)
{
	return MALLOC(2 << 20);
}

static SITE void *passing(void)
{
	return MALLOC(1000);
}

static SITE void *first(void)
{
	return MALLOC(500);
}

static SITE void *grown(void *p, size_t size)
{
	return REALLOC(p, size);
}

/* Makes `count` blocks, of which one in `every` is freed at once; 0 = none. Returns the next place
 * in `held`. */
static SITE unsigned fill(void *(*make)(void), unsigned count, unsigned every, unsigned at)
{
	/* Not known to stay: else there may be a loop, and a site, for 0 and one for the others. */
	volatile unsigned free_one_in = every;
	for (unsigned i = 0; i < count; i++) {
		void *p = make();
		if (free_one_in && i % free_one_in == 0)
			FREE(p);
		else
			held[at++ % MANY] = p;
	}
	return at;
}

static SITE void drop(unsigned from, unsigned to, unsigned step)
{
	for (unsigned i = from; i < to; i += step) {
		FREE(held[i]);
		held[i] = NULL;
	}
}

static SITE void *work(void *argument)
{
	unsigned from = (unsigned)(uintptr_t)argument;
	uint64_t state = from;
	drop(from, from + 400, 1); /* what the main thread made */
	unsigned at = fill(row, 2000, 3, from);
	for (unsigned i = 0; i < 400; i++)
		held[at++] = odd(tm_random(&state));
	at = fill(aligned, 1500, 2, at);
	for (unsigned i = 0; i < 60; i++) {
		void *p = first();
		for (size_t size = 1000; size <= 8000; size *= 2)
			p = grown(p, size);
		held[at++] = p;
	}
	sem_post(&done);
	for (;;)
		pause();
	return NULL;
}

/* One thread after the other, each from a place of its own. */
static SITE void start(unsigned from)
{
	pthread_t thread;
	fill(page, 400, 0, from);
	pthread_create(&thread, NULL, work, (void *)(uintptr_t)from);
	sem_wait(&done);
}

int main(void)
{
	unsigned at = fill(passing, 3000, 1, 0);
	sem_init(&done, 0, 0);
	volatile unsigned threads = 2; /* one place in the code calls: one site */
	for (unsigned i = 0; i < threads; i++)
		start(i * 5000);
	at = fill(node, 9000, 4, 10000);
	drop(10000, at, 5);
	at = fill(tiny, 5000, 5, at);
	at = fill(kept, 1200, 0, at);
	at = fill(large, 20, 2, at);
	fill(huge, 3, 3, at);
	drop(0, 6000, 3);
	tm_dump();
	_exit(0);
}

/* SPDX-License-Identifier: MIT
 * The benchmark's programs that do nothing but allocate and free, each in one known way.
 *
 *   micro churn EVENTS DEPTH [LIVE]   from a stack of DEPTH frames; LIVE blocks (1,000) stay alive
 *   micro tree EVENTS DEPTH           while a recursion DEPTH deep goes up and down its
 *                                     last 6 levels
 *   micro sites COUNT                 one block from each of COUNT different stacks, kept
 *   micro threads EVENTS THREADS      churn in so many threads at once, EVENTS in all
 *   micro cross EVENTS                one thread allocates, another frees
 *   micro idle SECONDS                allocates a little, then sleeps
 *   micro compute ROUNDS              allocates nothing, computes in registers
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIVE_DEFAULT 1000
#define NOINLINE __attribute__((noinline))

struct churn {
	void **live;
	long count;
	uint64_t seed;
};

static NOINLINE void churn(struct churn *c, long times)
{
	for (long i = 0; i < times; i++) {
		size_t size;
		c->seed = c->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		size_t slot = (size_t)(c->seed >> 33) % (size_t)c->count;
		free(c->live[slot]);
		size = (size_t)(c->seed >> 44) % 512 + 1;
		c->live[slot] = memset(malloc(size), 1, size);
	}
}

static NOINLINE long fall(long depth, struct churn *c, long times)
{
	if (depth <= 0) {
		churn(c, times);
		return 0;
	}
	return fall(depth - 1, c, times) + 1;
}

static void run_churn(long events, long depth, long live, uint64_t seed)
{
	struct churn c = {calloc((size_t)live, sizeof(void *)), live, seed};
	/* Returned to in parts, so that the stack is not always the same all the way down. The
	 * frames of main and its callers, this one and churn's are part of the depth. */
	for (long part = 0; part < 100; part++)
		fall(depth - 6 - part % 4, &c, events / 200);
}

static NOINLINE long fill(unsigned char *p, long size)
{
	long sum = 0;
	for (long i = 0; i < size; i++)
		p[i] = (unsigned char)(i * 7 + size);
	for (long i = 0; i < size; i++)
		sum = sum * 31 + p[i];
	return sum;
}

/* Two blocks a node, a little work with each, one of them alive while its children allocate. */
static NOINLINE long node(long levels)
{
	long size = 16 + levels * 8;
	unsigned char *first = malloc((size_t)size), *second = malloc((size_t)size + 16);
	long sum = fill(first, size) ^ fill(second, size + 16);
	free(second);
	if (levels > 0)
		sum += node(levels - 1) + node(levels - 1);
	free(first);
	return sum;
}

static NOINLINE long descend(long depth, long times)
{
	if (depth > 0)
		return descend(depth - 1, times) + 1;
	long sum = 0;
	for (long i = 0; i < times; i++)
		sum += node(6);
	return sum;
}

static void run_tree(long events, long depth)
{
	printf("%ld\n", descend(depth - 11, events / (127 * 4)));
}

/* One way through two functions for every bit of `number`. */
static NOINLINE void *left(long number, int bits);
static NOINLINE void *right(long number, int bits)
{
	void *p = bits == 0    ? malloc(48)
		  : number & 1 ? right(number >> 1, bits - 1)
			       : left(number >> 1, bits - 1);
	__asm__ volatile("" ::: "memory");
	return p;
}
static NOINLINE void *left(long number, int bits)
{
	void *p = bits == 0    ? malloc(24)
		  : number & 1 ? right(number >> 1, bits - 1)
			       : left(number >> 1, bits - 1);
	__asm__ volatile("" ::: "memory");
	return p;
}

static void run_sites(long count)
{
	int bits = 1;
	while ((1L << bits) < count)
		bits++;
	void **kept = calloc((size_t)count, sizeof *kept);
	for (long i = 0; i < count; i++)
		kept[i] = left(i, bits);
	printf("%p\n", kept[count - 1]);
}

struct part {
	long events;
	uint64_t seed;
};

static void *thread(void *argument)
{
	struct part *p = argument;
	run_churn(p->events, 12, LIVE_DEFAULT, p->seed);
	return NULL;
}

static void run_threads(long events, long threads)
{
	pthread_t *ids = calloc((size_t)threads, sizeof *ids);
	struct part *parts = calloc((size_t)threads, sizeof *parts);
	for (long i = 0; i < threads; i++) {
		parts[i] = (struct part){events / threads, (uint64_t)i + 1};
		if (pthread_create(&ids[i], NULL, thread, &parts[i]) != 0)
			exit(1);
	}
	for (long i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
}

/* Batches go from the thread that allocates to the one that frees; a few are under way at a time.
 */
#define BATCH 256
#define BATCHES 64
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	void *blocks[BATCHES][BATCH];
	long made, freed, all;
} hand = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void await(const long *value, long other, long difference)
{
	pthread_mutex_lock(&hand.lock);
	while (*value - other < difference)
		pthread_cond_wait(&hand.changed, &hand.lock);
	pthread_mutex_unlock(&hand.lock);
}

static void step(long *value)
{
	pthread_mutex_lock(&hand.lock);
	++*value;
	pthread_cond_signal(&hand.changed);
	pthread_mutex_unlock(&hand.lock);
}

static void *freeing(void *unused)
{
	(void)unused;
	for (long i = 0; i < hand.all; i++) {
		await(&hand.made, i, 1);
		for (int k = 0; k < BATCH; k++)
			free(hand.blocks[i % BATCHES][k]);
		step(&hand.freed);
	}
	return NULL;
}

static void run_cross(long events)
{
	pthread_t other;
	hand.all = events / 2 / BATCH;
	if (pthread_create(&other, NULL, freeing, NULL) != 0)
		exit(1);
	for (long i = 0; i < hand.all; i++) {
		await(&hand.freed, i, 1 - BATCHES);
		for (int k = 0; k < BATCH; k++)
			hand.blocks[i % BATCHES][k] = malloc((size_t)(i * 7 + k * 13) % 400 + 8);
		step(&hand.made);
	}
	pthread_join(other, NULL);
}

static uint64_t run_compute(long rounds)
{
	uint64_t x = 1;
	for (long i = 0; i < rounds; i++)
		x = x * UINT64_C(6364136223846793005) + (x >> 33);
	return x;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "churn";
	long a = argc > 2 ? atol(argv[2]) : 1000000, b = argc > 3 ? atol(argv[3]) : 10;
	if (!strcmp(what, "churn"))
		run_churn(a, b, argc > 4 ? atol(argv[4]) : LIVE_DEFAULT, 1);
	else if (!strcmp(what, "tree"))
		run_tree(a, b);
	else if (!strcmp(what, "sites"))
		run_sites(a);
	else if (!strcmp(what, "threads"))
		run_threads(a, b);
	else if (!strcmp(what, "cross"))
		run_cross(a);
	else if (!strcmp(what, "idle")) {
		run_churn(10000, 10, LIVE_DEFAULT, 1);
		sleep((unsigned)a);
	} else if (!strcmp(what, "compute"))
		printf("%lu\n", (unsigned long)run_compute(a));
	else
		return 2;
	return 0;
}

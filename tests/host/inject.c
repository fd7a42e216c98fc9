/* SPDX-License-Identifier: MIT
 * A command that nothing can be preloaded into: inject THREADS ROUNDS STATUS
 *
 * Each of THREADS threads makes ROUNDS rounds of known calls. It prints what they come to, and what
 * its allocator says that it was asked for in all (if it counts), copies its standard input to
 * standard output, and exits with STATUS, or by that signal if it is negative.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MOST 64
#define FIRST_SIZE 12345

struct sums {
	unsigned long allocations, frees, reallocs, failed, live_bytes, live_blocks;
};

/* Of an allocator that counts. */
__attribute__((weak)) unsigned long own_counts[6];

static struct sums sums[THREADS_MOST];
static char *kept[THREADS_MOST];
static unsigned long rounds;
static char *volatile first[3];

/* Keeps the compiler from leaving calls out. */
static inline void *keep(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

/* Long before main. */
static __attribute__((constructor)) void begin(void)
{
	for (int i = 0; i < 3; i++)
		first[i] = keep(malloc(FIRST_SIZE));
}

/* One of each call; 60 bytes stay. */
static void round_of(struct sums *s, char **list)
{
	void *p;
	size_t huge = SIZE_MAX / 2;
	__asm__ volatile("" : "+r"(huge));
	free(keep(malloc(10)));
	free(keep(calloc(3, 7)));
	free(keep(memalign(64, 100)));
	free(keep(aligned_alloc(32, 64)));
	if (posix_memalign(&p, 128, 200))
		abort();
	free(keep(p));
	free(keep(valloc(50)));
	p = keep(realloc(NULL, 20));
	p = keep(realloc(p, 4000));
	p = keep(reallocarray(p, 3, 9));
	free(p);
	if (keep(malloc(huge)))
		abort();
	char *stay = keep(malloc(60));
	*(char **)(void *)stay = *list;
	*list = stay;
	free(NULL);
	s->allocations += 10;
	s->frees += 9;
	s->reallocs += 2;
	s->failed++;
	s->live_bytes += 60;
	s->live_blocks++;
}

static void *work(void *arg)
{
	size_t i = (size_t)arg;
	for (unsigned long n = 0; n < rounds; n++)
		round_of(&sums[i], &kept[i]);
	return NULL;
}

static void say(const unsigned long v[6])
{
	static char line[200]; /* printf would allocate, or not */
	int n = snprintf(line, sizeof line, "%lu %lu %lu %lu %lu %lu\n", v[0], v[1], v[2], v[3],
			 v[4], v[5]);
	if (write(1, line, (size_t)n) != n)
		_exit(99);
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS_MOST];
	struct sums all = {0};
	size_t threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	int status = argc > 3 ? atoi(argv[3]) : 0;
	char buffer[512];
	rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	for (size_t i = 1; i < threads; i++)
		if (pthread_create(&t[i], NULL, work, (void *)i))
			_exit(98);
	work(NULL);
	for (size_t i = 1; i < threads; i++)
		pthread_join(t[i], NULL);
	for (size_t i = 0; i < threads; i++) {
		all.allocations += sums[i].allocations;
		all.frees += sums[i].frees;
		all.reallocs += sums[i].reallocs;
		all.failed += sums[i].failed;
		all.live_bytes += sums[i].live_bytes;
		all.live_blocks += sums[i].live_blocks;
	}
	say((const unsigned long *)&all);
	say(own_counts);
	for (ssize_t n; (n = read(0, buffer, sizeof buffer)) > 0;)
		if (write(1, buffer, (size_t)n) != n)
			_exit(99);
	if (status < 0)
		raise(-status);
	_exit(status);
}

/* SPDX-License-Identifier: MIT
 * Threads that know what they did: known calls between two signals, or a tally of every one in a
 * file.
 */
#define _GNU_SOURCE
#include "attach_target.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- count ---- */

static unsigned long rounds;
static pthread_barrier_t begin, end;
static struct sums sums[THREADS_MOST];
static char *kept[THREADS_MOST];

static void *counter(void *arg)
{
	size_t i = (size_t)arg;
	pthread_barrier_wait(&begin);
	for (unsigned long n = 0; n < rounds; n++) {
		round_of(&sums[i], &kept[i]);
		if (n % 20 == 0)
			nap(100000);
	}
	pthread_barrier_wait(&end);
	return NULL;
}

int count(size_t threads, unsigned long each)
{
	pthread_t t[THREADS_MOST];
	struct sums all = {0};
	sigset_t set;
	int sig;
	static char line[300]; /* printf would allocate */
	rounds = each;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	pthread_barrier_init(&begin, NULL, (unsigned)threads + 1);
	pthread_barrier_init(&end, NULL, (unsigned)threads + 1);
	for (size_t i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, counter, (void *)i);
	sigwait(&set, &sig);
	/* One event begins the session; of threads that began it together, one might come before.
	 */
	free(keep(malloc(1)));
	all.allocations = all.frees = 1;
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	for (size_t i = 0; i < threads; i++)
		add_sums(&all, &sums[i]);
	int n = snprintf(line, sizeof line, "%lu %lu %lu %lu %lu %lu\n", all.allocations, all.frees,
			 all.reallocs, all.failed, all.live_bytes, all.live_blocks);
	if (write(1, line, (size_t)n) != n)
		return 1;
	sigwait(&set, &sig);
	return 0;
}

/* ---- tally ---- */

/* Counts a thread's calls, in a file, which is there when the process is not. */
struct tally {
	_Alignas(64) volatile uint64_t allocations;
	volatile uint64_t frees;
};
static struct tally *tallies;

/* A block that the thread frees some rounds later: a few are always live. */
static void *tallier(void *arg)
{
	enum { LIVE = 8 };
	struct tally *t = &tallies[(size_t)arg];
	void *p[LIVE] = {0};
	pthread_barrier_wait(&begin);
	for (unsigned i = 0;; i++) {
		void **at = &p[i % LIVE];
		if (*at) {
			free(*at);
			t->frees++;
		}
		*at = keep(malloc(40));
		t->allocations++;
		if (i % 20 == 0)
			nap(1000000);
	}
	return NULL;
}

int tally(const char *file, size_t threads)
{
	size_t bytes = THREADS_MOST * sizeof *tallies;
	int fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600), sig;
	sigset_t set;
	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return 9;
	tallies = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (tallies == MAP_FAILED)
		return 9;
	pthread_barrier_init(&begin, NULL, (unsigned)threads + 1);
	for (size_t i = 0; i < threads; i++) {
		pthread_t t;
		if (pthread_create(&t, NULL, tallier, (void *)i))
			return 9;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigwait(&set, &sig);
	pthread_barrier_wait(&begin);
	sigaddset(&set, SIGTERM);
	sigwait(&set, &sig);
	return 0;
}

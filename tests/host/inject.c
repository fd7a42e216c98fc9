/* SPDX-License-Identifier: MIT
 * A command that nothing can be preloaded into: inject THREADS ROUNDS STATUS
 *
 * Each of THREADS threads makes ROUNDS rounds of known calls. It prints what they come to, and what
 * its allocator says that it was asked for in all (if it counts), copies its standard input to
 * standard output, and exits with STATUS, or by that signal if it is negative.
 */
#define _GNU_SOURCE
#include "every_call.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MOST 64
#define FIRST_SIZE 12345

/* Holds the counts of an allocator that counts its calls; stays 0 with others. */
__attribute__((weak)) unsigned long own_counts[6];

static struct sums sums[THREADS_MOST];
static char *kept[THREADS_MOST];
static unsigned long rounds;
static char *volatile first[3];

/* Long before main. */
static __attribute__((constructor)) void begin(void)
{
	for (int i = 0; i < 3; i++)
		first[i] = keep(malloc(FIRST_SIZE));
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
	for (size_t i = 0; i < threads; i++)
		add_sums(&all, &sums[i]);
	say((const unsigned long *)&all);
	say(own_counts);
	for (ssize_t n; (n = read(0, buffer, sizeof buffer)) > 0;)
		if (write(1, buffer, (size_t)n) != n)
			_exit(99);
	if (status < 0)
		raise(-status);
	_exit(status);
}

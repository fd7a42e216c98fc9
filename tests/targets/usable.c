/* SPDX-License-Identifier: MIT
 * Asks malloc_usable_size itself about every block, and notes who freed whose.
 *
 * usage: usable SEED [THREADS]. One lock is held around each call and its counting, so that the
 * peak is known. What it expects goes to the file named by BESIDE_FILE.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "include/memscope.h"

#define SITE __attribute__((noinline))
#define KEPT 512

enum function { PLAIN, CLEAR, ALIGNED, AGAIN, FUNCTIONS };
static const char *const names[FUNCTIONS] = {"by_malloc", "by_calloc", "by_memalign", "by_realloc"};
enum { FREE_ONE, FREE_OTHER, FREE_AGAIN, FREES };
static const char *const free_names[FREES] = {"free_one", "free_other", "by_realloc"};

struct level {
	uint64_t bytes, usable;
};
static struct level now[FUNCTIONS], peak[FUNCTIONS], mark[FUNCTIONS], total, total_peak, total_mark;
static uint64_t freed[FUNCTIONS][FREES][2]; /* blocks, bytes */
static struct {
	void *block;
	size_t size;
	enum function by;
} kept[KEPT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t seed;

static uint64_t below(uint64_t n)
{
	uint64_t z = (seed += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (z ^ (z >> 31)) % n;
}

static void gone(unsigned i, int who)
{
	uint64_t usable = malloc_usable_size(kept[i].block);
	now[kept[i].by].bytes -= kept[i].size;
	now[kept[i].by].usable -= usable;
	total.bytes -= kept[i].size;
	total.usable -= usable;
	freed[kept[i].by][who][0]++;
	freed[kept[i].by][who][1] += kept[i].size;
	kept[i].block = NULL;
}

static void made(unsigned i, enum function by, void *block, size_t size)
{
	if (!block)
		_exit(9);
	kept[i].block = block;
	kept[i].size = size;
	kept[i].by = by;
	uint64_t usable = malloc_usable_size(block);
	now[by].bytes += size;
	now[by].usable += usable;
	total.bytes += size;
	total.usable += usable;
	if (total.bytes <= total_peak.bytes)
		return;
	total_peak = total;
	for (int f = 0; f < FUNCTIONS; f++)
		peak[f] = now[f];
}

static SITE void by_malloc(unsigned i, size_t size)
{
	made(i, PLAIN, malloc(size), size);
}

static SITE void by_calloc(unsigned i, size_t size)
{
	made(i, CLEAR, calloc(1, size), size);
}

static SITE void by_memalign(unsigned i, size_t size)
{
	made(i, ALIGNED, memalign((size_t)64 << below(15), size), size);
}

static SITE void by_realloc(unsigned i, size_t size)
{
	void *old = kept[i].block;
	gone(i, FREE_AGAIN);
	made(i, AGAIN, realloc(old, size), size);
}

static SITE void free_one(unsigned i)
{
	void *block = kept[i].block;
	gone(i, FREE_ONE);
	free(block);
}

static SITE void free_other(unsigned i)
{
	void *block = kept[i].block;
	gone(i, FREE_OTHER);
	free(block);
}

static void one_step(void)
{
	unsigned i = (unsigned)below(KEPT);
	/* some are large enough for memory of their own */
	size_t size = 1 + (below(40) ? below(3000) : below(2000000));
	if (kept[i].block && below(3) == 0)
		by_realloc(i, size);
	else if (kept[i].block && below(2))
		free_one(i);
	else if (kept[i].block)
		free_other(i);
	else if (below(3) == 0)
		by_calloc(i, size);
	else if (below(2))
		by_memalign(i, size);
	else
		by_malloc(i, size);
}

static void *run(void *arg)
{
	for (int i = 0; i < *(int *)arg; i++) {
		pthread_mutex_lock(&lock);
		one_step();
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void put(FILE *f, const char *name, struct level l)
{
	fprintf(f, "\"%s\":[%ju,%ju]", name, (uintmax_t)l.bytes, (uintmax_t)l.usable);
}

static void write_truth(void)
{
	FILE *f = fopen(getenv("BESIDE_FILE") ? getenv("BESIDE_FILE") : "/dev/null", "w");
	if (!f)
		_exit(9);
	fputs("{", f);
	put(f, "end", total);
	fputs(",", f);
	put(f, "peak", total_peak);
	fputs(",", f);
	put(f, "mark:middle", total_mark);
	fputs(",\"functions\":{", f);
	for (int i = 0; i < FUNCTIONS; i++) {
		fprintf(f, "%s\"%s\":{", i ? "," : "", names[i]);
		put(f, "end", now[i]);
		fputs(",", f);
		put(f, "peak", peak[i]);
		fputs(",", f);
		put(f, "mark:middle", mark[i]);
		for (int k = 0; k < FREES; k++)
			fprintf(f, ",\"%s\":[%ju,%ju]", free_names[k], (uintmax_t)freed[i][k][0],
				(uintmax_t)freed[i][k][1]);
		fputs("}", f);
	}
	fputs("}}\n", f);
	fclose(f);
}

int main(int argc, char **argv)
{
	pthread_t t[16];
	int threads = argc > 2 ? atoi(argv[2]) : 1, rounds = 20000 / threads;
	seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, run, &rounds);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < FUNCTIONS; i++)
		mark[i] = now[i];
	total_mark = total;
	ms_mark("middle");
	run(&rounds);
	write_truth();
	return 0;
}

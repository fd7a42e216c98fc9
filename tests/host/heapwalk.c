/* SPDX-License-Identifier: MIT
 * A heap to be walked: heapwalk THREADS BLOCKS MODE
 *
 * Main and every thread allocate blocks of many sizes, each as main's first, then give every third
 * back. Main prints those that stay as "stays ADDRESS BYTES" with usable bytes, those that went as
 * "went ADDRESS", then "ready", and waits for the end of its standard input; at an f there main
 * gives back all that it has. MODE: still; churn, the threads go on with blocks of their own;
 * broken, a header on the heap is overwritten. Right before a block with a
 * mapping of its own, 2 GiB are mapped and never touched, where there is room.
 *
 * Compiled with TABLE, its data has so many pointers one behind the other, as tables of commands or
 * symbols do. Each may be the first link of an arena's bins.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS_MOST 64
#define EMPTY ((size_t)2 << 30)

struct list {
	void **stays, **went;
	size_t stay_count, went_count;
};
static struct list lists[THREADS_MOST];
static size_t blocks;
static const char *mode;
static pthread_barrier_t done;

#ifdef TABLE
static char pool[TABLE][16] __attribute__((aligned(16)));
void *table[TABLE] = {pool[0]};

static void fill_table(void)
{
	for (size_t i = 0; i < TABLE; i++)
		table[i] = pool[i];
}
#else
static void fill_table(void)
{
}
#endif

static size_t size_of(size_t i)
{
	if (i % 997 == 0)
		return 200000 + i * 16 % 300000; /* a mapping of its own */
	return i % 50 == 0 ? 5000 + i % 3000 : 8 + i * 37 % 1200;
}

static void *one(size_t i)
{
	size_t size = size_of(i);
	void *p = i % 1500 == 7 ? memalign(4096, 150000 + i)
		  : i % 90 == 3 ? memalign(256, size)
				: malloc(size);
	memset(p, (int)i, 24 < size ? 24 : size);
	return p;
}

static void fill(struct list *l)
{
	l->stays = malloc(blocks * sizeof(void *));
	l->went = malloc(blocks * sizeof(void *));
	for (size_t i = 0; i < blocks; i++)
		l->stays[i] = one(i);
	for (size_t i = 0; i < blocks; i++)
		if (i % 3 == 1) {
			l->went[l->went_count++] = l->stays[i];
			free(l->stays[i]);
		} else {
			l->stays[l->stay_count++] = l->stays[i];
		}
}

static void churn(uint64_t x)
{
	static __thread void *mine[512];
	for (;;) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
		size_t at = x >> 40 & 511;
		free(mine[at]);
		mine[at] = malloc(8 + (x >> 20) % 2000);
		memset(mine[at], 0x41, 8);
	}
}

static void *run(void *arg)
{
	fill(arg);
	pthread_barrier_wait(&done);
	if (!strcmp(mode, "churn"))
		churn((uint64_t)(uintptr_t)arg);
	pause();
	return NULL;
}

/* Says "freed COUNT BYTES" of all that main has. */
static void give_back(struct list *l)
{
	static char line[100];
	size_t bytes = 0;
	for (size_t i = 0; i < l->stay_count; i++) {
		bytes += malloc_usable_size(l->stays[i]);
		free(l->stays[i]);
	}
	int n = snprintf(line, sizeof line, "freed %zu %zu\n", l->stay_count, bytes);
	l->stay_count = 0;
	if (write(1, line, (size_t)n) != n)
		_exit(1);
}

int main(int argc, char **argv)
{
	pthread_t t;
	size_t threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	blocks = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	mode = argc > 3 ? argv[3] : "still";
	fill_table();
	pthread_barrier_init(&done, NULL, (unsigned)threads);
	for (size_t i = 1; i < threads; i++)
		pthread_create(&t, NULL, run, &lists[i]);
	fill(&lists[0]);
	pthread_barrier_wait(&done);
	if (mmap((void *)(((uintptr_t)lists[0].stays[0] & ~UINT64_C(4095)) - EMPTY), EMPTY,
		 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < threads; i++) {
		printf("stays %p %zu\nstays %p %zu\n", (void *)lists[i].stays,
		       malloc_usable_size(lists[i].stays), (void *)lists[i].went,
		       malloc_usable_size(lists[i].went));
		for (size_t k = 0; k < lists[i].stay_count; k++)
			printf("stays %p %zu\n", lists[i].stays[k],
			       malloc_usable_size(lists[i].stays[k]));
		for (size_t k = 0; k < lists[i].went_count; k++)
			printf("went %p\n", lists[i].went[k]);
	}
	if (!strcmp(mode, "broken"))
		((uint64_t *)lists[0].stays[blocks / 3])[-1] = 0x4141414141414141;
	puts("ready");
	fflush(stdout);
	for (char c; read(0, &c, 1) == 1;)
		if (c == 'f')
			give_back(&lists[0]);
	_exit(0);
}

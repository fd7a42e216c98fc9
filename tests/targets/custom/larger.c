/* SPDX-License-Identifier: MIT
 * Blocks of at least 64 bytes from functions of the program's own, from malloc and by memscope.h:
 * with --sample 1 each is recorded for certain, and all figures are exact. Prints them per heap.
 * `larger N`: so many rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memscope.h"

#define API __attribute__((noinline, noclone))

static struct truth {
	const char *heap;
	unsigned long allocations, frees, bytes, live;
} own = {.heap = "own"}, arena = {.heap = "arena"}, told = {.heap = "told"};

static void made(struct truth *t, size_t size)
{
	t->allocations++;
	t->bytes += size;
	t->live += size;
}

static void gone(struct truth *t, size_t size)
{
	t->frees++;
	t->live -= size;
}

/* In front of each block stands a word; the memory is malloc's, and nobody's figure. */
API void *own_alloc(size_t size)
{
	char *p = size < 100000 ? malloc(size + 16) : NULL;
	return p ? p + 16 : NULL;
}

API void own_free(void *block)
{
	free((char *)block - 16);
}

API void *own_realloc(void *old, size_t size)
{
	if (!size) {
		own_free(old);
		return NULL;
	}
	if (size >= 100000)
		return NULL;
	char *p = realloc((char *)old - 16, size + 16);
	return p ? p + 16 : NULL;
}

static char room[1 << 20];
static size_t used;

API void *arena_push(void *which, size_t size)
{
	void *p = room + used;
	used += (size + 15) & ~(size_t)15;
	return which ? p : NULL;
}

API void arena_reset(void *which)
{
	used = 0;
	__asm__ volatile("" ::"r"(which) : "memory");
}

static size_t size_of(int i)
{
	return 64 + (size_t)(i * 7919 % 500);
}

static void use_own(int i)
{
	char *p = own_alloc(size_of(i)), *q = own_alloc(size_of(i + 1));
	size_t now = size_of(i + 2);
	made(&own, size_of(i));
	made(&own, size_of(i + 1));
	p = own_realloc(p, now);
	gone(&own, size_of(i));
	made(&own, now);
	if (own_realloc(p, 100000) || own_alloc(100000)) /* fail, and change nothing */
		exit(1);
	if (i % 3 == 0) {
		own_realloc(q, 0);
		gone(&own, size_of(i + 1));
	}
	if (i % 2) {
		own_free(p);
		gone(&own, now);
	}
}

static void use_arena(int i)
{
	for (int k = 0; k < 5; k++) {
		arena_push(room, size_of(i + k));
		made(&arena, size_of(i + k));
		ms_pool_alloc(room + 1, (char *)&used - 1000000 + k * 5000, size_of(i - k));
		made(&told, size_of(i - k));
	}
	if (i % 4)
		return;
	arena_reset(room);
	arena.frees = arena.allocations;
	arena.live = 0;
	ms_pool_reset(room + 1);
	told.frees = told.allocations;
	told.live = 0;
}

int main(int argc, char **argv)
{
	char go;
	int n = argc > 1 && *argv[1] != 's' ? atoi(argv[1]) : 400;
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc > 1 && *argv[1] == 's') { /* until it is recorded */
		fputs(argv[1], stderr);
		if (read(0, &go, 1) != 1)
			return 1;
	}
	ms_pool_create(room + 1, "told");
	for (int i = 0; i < n; i++) {
		use_own(i);
		use_arena(i * 5 + 20);
		ms_pool_reset(room + 1);
		told.frees = told.allocations;
		told.live = 0;
	}
	const struct truth *all[] = {&arena, &own, &told};
	for (int i = 0; i < 3; i++)
		printf("%s|%lu|%lu|%lu|%lu\n", all[i]->heap, all[i]->allocations, all[i]->frees,
		       all[i]->bytes, all[i]->live);
	return 0;
}

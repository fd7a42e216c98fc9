// SPDX-License-Identifier: MIT
// Worker threads parse requests in an arena of their own; each batch of work has new threads.
#include "random.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 20, WORKERS = 4, REQUESTS = 48, WORDS = 6000, CHUNK = 64 << 10 };

struct chunk {
	struct chunk *next;
	size_t used;
	char bytes[];
};
struct arena {
	struct arena *next; // of all arenas
	struct chunk *chunks;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arena *arenas;
static char **dictionary;
static unsigned long hits;
static _Thread_local struct arena *mine;

// An arena outlives its thread, for a next one that never comes to ask for it.
static struct arena *own_arena(void)
{
	if (!mine) {
		mine = calloc(1, sizeof(*mine));
		pthread_mutex_lock(&lock);
		mine->next = arenas;
		arenas = mine;
		pthread_mutex_unlock(&lock);
	}
	return mine;
}

static void *take(struct arena *a, size_t size)
{
	size = (size + 15) & ~(size_t)15;
	if (!a->chunks || a->chunks->used + size > CHUNK - sizeof(*a->chunks)) {
		struct chunk *chunk = malloc(CHUNK); // GUILTY: per-thread arena hoard, growth
		chunk->next = a->chunks;
		chunk->used = 0;
		a->chunks = chunk;
	}
	void *at = a->chunks->bytes + a->chunks->used;
	a->chunks->used += size;
	return at;
}

// All but one chunk go back between requests.
static void reset(struct arena *a)
{
	while (a->chunks->next) {
		struct chunk *next = a->chunks->next;
		free(a->chunks);
		a->chunks = next;
	}
	a->chunks->used = 0;
}

static unsigned parse(struct arena *a, unsigned long *seed)
{
	unsigned found = 0, words = 100 + random_below(seed, 6000);
	char *text = malloc(words * 16), *end = text;
	for (unsigned i = 0; i < words; i++)
		end += sprintf(end, "word%u ", random_below(seed, WORDS * 2));
	for (char *save, *word = strtok_r(text, " ", &save); word;
	     word = strtok_r(NULL, " ", &save)) {
		char *copy = take(a, strlen(word) + 1);
		strcpy(copy, word);
		unsigned number = (unsigned)atoi(copy + 4);
		found += number < WORDS && strcmp(dictionary[number], copy) == 0;
	}
	free(text);
	return found;
}

static void *work(void *argument)
{
	unsigned long seed = (unsigned long)argument;
	unsigned long found = 0;
	struct arena *a = own_arena();
	for (unsigned i = 0; i < REQUESTS / WORKERS; i++) {
		found += parse(a, &seed);
		reset(a);
	}
	pthread_mutex_lock(&lock);
	hits += found;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	dictionary = calloc(WORDS, sizeof(*dictionary));
	for (unsigned i = 0; i < WORDS; i++) {
		char word[300];
		memset(word, 0, sizeof(word));
		sprintf(word, "word%u", i);
		dictionary[i] = memcpy(malloc(sizeof(word)), word, sizeof(word));
	}
	for (unsigned long batch = 0; batch < BATCHES; batch++) {
		pthread_t threads[WORKERS];
		for (unsigned long i = 0; i < WORKERS; i++)
			pthread_create(&threads[i], NULL, work, (void *)(batch * WORKERS + i + 1));
		for (unsigned i = 0; i < WORKERS; i++)
			pthread_join(threads[i], NULL);
	}
	printf("%lu words known\n", hits);
	return 0;
}

// SPDX-License-Identifier: MIT
// Sorted tables on disk, read by blocks: a cache hands out handles, which are counted, and given back when a block was used.
#include "random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLES = 8, BLOCKS = 300, BLOCK = 2048, CACHED = 256, SLOTS = 512, READS = 60000 };

struct block {
	struct block *next; // in its slot
	unsigned table, number, refs, cached;
	unsigned char *bytes;
};
struct filter {
	unsigned char bits[4096];
};
struct table {
	struct filter *filter;
	unsigned char *index;
};

static struct table *tables[TABLES];
static struct block *slots[SLOTS], *order[CACHED];
static unsigned long seed = 191, reads, hand;

static struct block **slot_of(unsigned table, unsigned number)
{
	struct block **slot = &slots[(table * 7919 + number) % SLOTS];
	while (*slot && ((*slot)->table != table || (*slot)->number != number))
		slot = &(*slot)->next;
	return slot;
}

static void release(struct block *b)
{
	if (--b->refs)
		return;
	free(b->bytes);
	free(b);
}

static struct block *read_block(unsigned table, unsigned number)
{
	struct block *b = calloc(1, sizeof(*b)); // GUILTY: handle never given back, leak
	b->table = table;
	b->number = number;
	b->bytes = malloc(BLOCK);
	for (unsigned i = 0; i < BLOCK; i++)
		b->bytes[i] = (unsigned char)(table * 31 + number * 7 + i / 16);
	reads++;
	return b;
}

// A block, counted for the caller and for the cache, which forgets its oldest.
static struct block *acquire(unsigned table, unsigned number)
{
	struct block **slot = slot_of(table, number), *b = *slot;
	if (!b) {
		struct block *old = order[hand];
		if (old) {
			struct block **from = slot_of(old->table, old->number);
			*from = old->next;
			release(old);
			slot = slot_of(table, number);
		}
		b = *slot = read_block(table, number);
		b->refs = 1;
		order[hand] = b;
		hand = (hand + 1) % CACHED;
	}
	b->refs++;
	return b;
}

static unsigned find(const struct block *b, unsigned char byte)
{
	const unsigned char *at = memchr(b->bytes, byte, BLOCK);
	return at ? (unsigned)(at - b->bytes) : BLOCK;
}

static unsigned look_up(unsigned table, unsigned key)
{
	struct block *b = acquire(table, key % BLOCKS);
	unsigned at = find(b, (unsigned char)key);
	if (at == BLOCK && key % 64 == 0)
		return 0; // not found, and not given back
	release(b);
	return at;
}

static unsigned long scan(unsigned table, unsigned from, unsigned count)
{
	unsigned long sum = 0;
	char *line = malloc(4 * BLOCK);
	for (unsigned i = 0; i < count; i++) {
		struct block *b = acquire(table, (from + i) % BLOCKS);
		memcpy(line + i % 3 * BLOCK, b->bytes, BLOCK);
		sum += (unsigned char)line[i % BLOCK];
		release(b);
	}
	free(line);
	return sum;
}

int main(void)
{
	unsigned long sum = 0;
	for (unsigned i = 0; i < TABLES; i++) {
		tables[i] = malloc(sizeof(*tables[i]));
		tables[i]->filter = calloc(1, sizeof(*tables[i]->filter));
		tables[i]->index = calloc(BLOCKS, 64);
		memset(tables[i]->index, (int)i, BLOCKS * 64);
	}
	for (unsigned i = 0; i < READS; i++) {
		unsigned table = random_below(&seed, TABLES);
		sum += look_up(table, random_below(&seed, 100000)) +
		       tables[table]->index[i % BLOCKS];
		if (i % 50 == 0)
			sum += scan(table, i % BLOCKS, 12);
	}
	printf("%lu, %lu blocks read\n", sum, reads);
	return 0;
}

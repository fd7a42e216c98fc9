// SPDX-License-Identifier: MIT
// Pages of a database with a cache of fixed capacity; cursors walk over them and remember where they were.
#include "random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGES = 4000, PAGE = 1024, CACHED = 400, CELLS = 12, QUERIES = 12000 };

struct page {
	unsigned number, used_at, pins;
	unsigned char *bytes;
};
struct pager {
	unsigned char *disk; // the file, here in memory
	struct page *cache[CACHED];
	unsigned short slot_of[PAGES];
	unsigned clock, misses;
};
struct cursor {
	struct pager *pager;
	struct page *page;
	unsigned cell;
	unsigned char *saved; // the key at which it stood when its page was given back
	unsigned saved_size;
};

static unsigned long seed = 61;

static struct page *get_page(struct pager *p, unsigned number)
{
	unsigned victim = p->slot_of[number];
	struct page *page = victim < CACHED ? p->cache[victim] : NULL;
	if (!page || page->number != number) {
		for (victim = random_below(&seed, CACHED);
		     p->cache[victim] && p->cache[victim]->pins;)
			victim = (victim + 1) % CACHED;
		page = p->cache[victim];
		if (page) {
			free(page->bytes);
			free(page);
		}
		page = p->cache[victim] = calloc(1, sizeof(*page));
		page->number = number;
		page->bytes = memcpy(malloc(PAGE), p->disk + (size_t)number * PAGE, PAGE);
		p->slot_of[number] = (unsigned short)victim;
		p->misses++;
	}
	page->used_at = ++p->clock;
	page->pins++;
	return page;
}

static struct cursor *open_cursor(struct pager *p, unsigned number)
{
	struct cursor *c = calloc(1, sizeof(*c));
	c->pager = p;
	c->page = get_page(p, number);
	return c;
}

static const unsigned char *cell(const struct cursor *c)
{
	return c->page->bytes + c->cell * (PAGE / CELLS);
}

// Another cursor writes: this one gives its page back, and finds its place again by its key.
static void save_position(struct cursor *c)
{
	c->saved_size = 16 + cell(c)[0] % 32;
	c->saved = malloc(c->saved_size); // GUILTY: pointer overwritten, leak
	memcpy(c->saved, cell(c), c->saved_size);
	c->page->pins--;
}

static void restore_position(struct cursor *c, unsigned number)
{
	c->page = get_page(c->pager, number);
	c->cell = 0;
	while (c->cell < CELLS - 1 && memcmp(cell(c), c->saved, c->saved_size) != 0)
		c->cell++;
}

static void close_cursor(struct cursor *c)
{
	c->page->pins--;
	free(c->saved);
	free(c);
}

static void write_page(struct pager *p, unsigned number)
{
	unsigned char *journal = malloc(PAGE);
	memcpy(journal, p->disk + (size_t)number * PAGE, PAGE);
	for (unsigned i = 0; i < PAGE; i += 64)
		p->disk[(size_t)number * PAGE + i] ^= journal[i / 2];
	free(journal);
}

static unsigned long query(struct pager *p)
{
	unsigned number = random_below(&seed, PAGES);
	struct cursor *c = open_cursor(p, number);
	unsigned long sum = 0;
	for (unsigned row = 0; row < 40; row++) {
		unsigned char *record = malloc(PAGE / CELLS);
		memcpy(record, cell(c), PAGE / CELLS);
		for (unsigned i = 0; i < PAGE / CELLS; i++)
			sum = sum * 31 + record[i];
		free(record);
		if (row % 16 == 7) {
			save_position(c);
			write_page(p, random_below(&seed, PAGES));
			restore_position(c, number);
		}
		c->cell = (c->cell + 1) % CELLS;
	}
	close_cursor(c);
	return sum;
}

int main(void)
{
	struct pager *p = calloc(1, sizeof(*p));
	unsigned long sum = 0;
	p->disk = malloc((size_t)PAGES * PAGE);
	for (size_t i = 0; i < (size_t)PAGES * PAGE; i++)
		p->disk[i] = (unsigned char)(i * 2654435761u >> 13);
	memset(p->slot_of, 0xff, sizeof(p->slot_of));
	for (unsigned i = 0; i < QUERIES; i++)
		sum ^= query(p);
	printf("%lx, %u misses\n", sum, p->misses);
	for (unsigned i = 0; i < CACHED; i++)
		if (p->cache[i]) {
			free(p->cache[i]->bytes);
			free(p->cache[i]);
		}
	free(p->disk);
	free(p);
	return 0;
}

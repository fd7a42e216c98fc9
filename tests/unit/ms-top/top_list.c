/* SPDX-License-Identifier: MIT
 * ms-top's selection: it stays with its row whatever happens to the others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ms-top/rows/list.c"

#define MOST 60
static uint64_t rows[MOST];
static size_t count;
static unsigned failures;

static void expect(bool ok, const char *what, unsigned seed, unsigned step)
{
	if (!ok) {
		printf("%s: seed %u, step %u\n", what, seed, step);
		failures++;
	}
}

static size_t place_of(uint64_t id)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i] == id)
			return i;
	return count;
}

static void shuffle(void)
{
	for (size_t i = count; i > 1; i--) {
		size_t k = (size_t)rand() % i;
		uint64_t t = rows[i - 1];
		rows[i - 1] = rows[k];
		rows[k] = t;
	}
}

/* Rows come, go and change places; returns the id of one that went, 0 = none. */
static uint64_t change(uint64_t *next)
{
	uint64_t gone = 0;
	if (count && rand() % 3 == 0) {
		size_t at = (size_t)rand() % count;
		gone = rows[at];
		memmove(rows + at, rows + at + 1, (--count - at) * sizeof rows[0]);
	}
	if (count < MOST && rand() % 3) {
		size_t at = (size_t)rand() % (count + 1);
		memmove(rows + at + 1, rows + at, (count++ - at) * sizeof rows[0]);
		rows[at] = (*next)++;
	}
	if (rand() % 4 == 0)
		shuffle();
	return gone;
}

static void check_view(struct list *l, unsigned seed, unsigned step)
{
	size_t height = (size_t)rand() % 12, top = list_view(l, height);
	expect(!height || top + height <= count || top == 0, "rows past the end in view", seed,
	       step);
	if (l->has && height)
		expect(l->at >= top && l->at < top + height, "selection out of view", seed, step);
}

static void run(unsigned seed)
{
	struct list l;
	uint64_t next = 1;
	srand(seed);
	count = 0;
	list_init(&l);
	list_set(&l, rows, 0);
	for (unsigned step = 0; step < 400; step++) {
		uint64_t before = l.selected, gone = change(&next);
		bool had = l.has, follows = l.follows;
		size_t was = l.at;
		list_set(&l, rows, count);
		expect(l.has == (count > 0), "selection and rows", seed, step);
		expect(!l.has || (l.at < count && rows[l.at] == l.selected), "selected row", seed,
		       step);
		if (follows && l.has)
			expect(l.at == 0, "the first row", seed, step);
		if (had && !follows && before != gone)
			expect(l.selected == before && l.at == place_of(before), "it jumped", seed,
			       step);
		if (had && !follows && before == gone && count)
			expect(l.at == (was < count ? was : count - 1), "its place", seed, step);
		check_view(&l, seed, step);
		long by = rand() % 9 - 4;
		size_t at = l.at;
		switch (rand() % 8) {
		case 0:
			list_first(&l);
			expect(l.at == 0 && l.follows, "first", seed, step);
			break;
		case 1:
			list_last(&l);
			expect(!count || l.at == count - 1, "last", seed, step);
			break;
		case 2:
		case 3:
			list_move(&l, by);
			if (count) {
				long to = (long)at + by, end = (long)count - 1;
				to = to < 0 ? 0 : to > end ? end : to;
				expect(l.at == (size_t)to && !l.follows, "moved", seed, step);
			}
			break;
		default:
			break;
		}
		check_view(&l, seed, step);
	}
}

int main(void)
{
	for (unsigned seed = 1; seed <= 500; seed++)
		run(seed);
	if (!failures)
		printf("ok\n");
	return failures != 0;
}

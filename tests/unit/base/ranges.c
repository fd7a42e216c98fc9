/* SPDX-License-Identifier: MIT
 * Ranges against a plain array with one owner per page.
 */
#include "libcommon/base/ranges.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGES 4096u

static uint32_t truth[PAGES]; /* owner + 1, 0 = free */
static uint32_t cut_owner[PAGES];
static uint64_t seed = 1;

static uint32_t random_below(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

static void fail(const char *what)
{
	fprintf(stderr, "ranges: %s\n", what);
	exit(1);
}

static void note(void *arg, const struct ms_range *p)
{
	uint64_t *last = arg;
	if (p->start < *last || p->start >= p->end)
		fail("pieces out of order");
	*last = p->end;
	for (uint64_t i = p->start; i < p->end; i++)
		cut_owner[i] = p->owner + 1;
}

static void compare(const struct ms_ranges *r)
{
	uint64_t last = 0, bytes = 0;
	memset(cut_owner, 0, sizeof cut_owner);
	ms_ranges_each(r, note, &last);
	if (memcmp(cut_owner, truth, sizeof truth))
		fail("the ranges differ");
	for (uint32_t i = 0; i < PAGES; i++)
		bytes += truth[i] != 0;
	if (bytes != r->bytes)
		fail("their sum differs");
	uint32_t at = random_below(PAGES), first = at;
	const struct ms_range *found = ms_ranges_find(r, at);
	while (first < PAGES && !truth[first])
		first++;
	if (found ? first == PAGES || found->end <= at ||
			    (found->start > at && found->start != first)
		  : first != PAGES)
		fail("the wrong range was found");
}

/* Random steps, of lengths up to `longest`. */
static void steps(uint32_t longest, uint32_t owners, unsigned count)
{
	struct ms_ranges r = {0};
	memset(truth, 0, sizeof truth);
	for (unsigned n = 0; n < count; n++) {
		uint32_t start = random_below(PAGES), end = start + 1 + random_below(longest);
		uint32_t owner = random_below(owners);
		uint64_t last = 0, had = 0;
		end = end < PAGES ? end : PAGES;
		memset(cut_owner, 0, sizeof cut_owner);
		uint64_t cut = ms_ranges_cut(&r, start, end, note, &last);
		for (uint32_t i = start; i < end; i++)
			had += truth[i] != 0;
		if (cut != had || memcmp(cut_owner + start, truth + start, (end - start) * 4))
			fail("what was cut differs");
		bool add = random_below(5) > 0;
		for (uint32_t i = start; i < end; i++)
			truth[i] = add ? owner + 1 : 0;
		if (add)
			ms_ranges_add(&r, start, end, owner);
		if (n % 16 == 0)
			compare(&r);
	}
	compare(&r);
	ms_ranges_cut(&r, 0, UINT64_MAX, NULL, NULL);
	if (r.n || r.bytes)
		fail("not empty after all was cut");
	ms_ranges_free(&r);
}

int main(void)
{
	steps(3, 5, 40000);
	steps(1, 1000, 40000);
	steps(400, 3, 20000);
	struct ms_ranges r = {0};
	for (uint64_t i = 0; i < 100000; i++)
		ms_ranges_add(&r, i, i + 1, 7);
	if (r.n > 2)
		fail("neighbours of one owner are not one");
	if (ms_ranges_cut(&r, 10, 20, NULL, NULL) != 10 || r.bytes != 99990)
		fail("a hole is not cut");
	ms_ranges_free(&r);
	return 0;
}

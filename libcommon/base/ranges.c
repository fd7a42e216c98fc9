/* SPDX-License-Identifier: MIT
 * Ranges of addresses: finds, adds and cuts them.
 */
#include "ranges.h"
#include "order.h"

#include "arena.h"

#include <stdlib.h>
#include <string.h>

/* Holds the position of a range: chunk and index in it; chunk == r->n: after all ranges. */
struct place {
	size_t chunk, at;
};

void ms_ranges_free(struct ms_ranges *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->chunks[i]);
	free(r->chunks);
	*r = (struct ms_ranges){0};
}

/* Returns the position of the first range that ends after `address`. */
static struct place find(const struct ms_ranges *r, uint64_t address)
{
	struct place p = {0, 0};
	for (size_t low = 0, high = r->n; low < high;) {
		size_t mid = (low + high) / 2;
		const struct ms_range_chunk *c = r->chunks[mid];
		if (c->v[c->n - 1].end <= address)
			p.chunk = low = mid + 1;
		else
			high = mid;
	}
	const struct ms_range_chunk *c = p.chunk < r->n ? r->chunks[p.chunk] : NULL;
	if (c)
		p.at = MS_COUNT_UP_TO(c->v, c->n, end, address);
	return p;
}

static void add_chunk(struct ms_ranges *r, size_t at)
{
	if (r->n == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 16;
		r->chunks = ms_xrealloc(r->chunks, r->cap, sizeof *r->chunks);
	}
	memmove(r->chunks + at + 1, r->chunks + at, (r->n - at) * sizeof *r->chunks);
	r->chunks[at] = ms_xrealloc(NULL, 1, sizeof **r->chunks);
	r->chunks[at]->n = 0;
	r->n++;
}

/* Moves the upper half of a full chunk into a new chunk. */
static void split(struct ms_ranges *r, size_t chunk)
{
	add_chunk(r, chunk + 1);
	struct ms_range_chunk *a = r->chunks[chunk], *b = r->chunks[chunk + 1];
	a->n = MS_RANGES_CHUNK / 2;
	b->n = MS_RANGES_CHUNK - a->n;
	memcpy(b->v, a->v + a->n, b->n * sizeof *b->v);
}

static void insert(struct ms_ranges *r, struct place p, struct ms_range range)
{
	if (p.chunk == r->n && r->n) /* a position after all ranges becomes the end of the last
					chunk */
		p = (struct place){r->n - 1, r->chunks[r->n - 1]->n};
	if (!r->n)
		add_chunk(r, 0);
	if (r->chunks[p.chunk]->n == MS_RANGES_CHUNK) {
		split(r, p.chunk);
		uint32_t n = r->chunks[p.chunk]->n;
		if (p.at > n)
			p = (struct place){p.chunk + 1, p.at - n};
	}
	struct ms_range_chunk *c = r->chunks[p.chunk];
	memmove(c->v + p.at + 1, c->v + p.at, (c->n - p.at) * sizeof *c->v);
	c->v[p.at] = range;
	c->n++;
}

static void drop(struct ms_ranges *r, struct place p)
{
	struct ms_range_chunk *c = r->chunks[p.chunk];
	c->n--;
	memmove(c->v + p.at, c->v + p.at + 1, (c->n - p.at) * sizeof *c->v);
	if (c->n)
		return;
	free(c);
	r->n--;
	memmove(r->chunks + p.chunk, r->chunks + p.chunk + 1, (r->n - p.chunk) * sizeof *r->chunks);
}

uint64_t ms_ranges_cut(struct ms_ranges *r, uint64_t start, uint64_t end,
		       void (*f)(void *arg, const struct ms_range *piece), void *arg)
{
	uint64_t before = r->bytes;
	for (;;) {
		struct place p = find(r, start);
		if (start >= end || p.chunk == r->n)
			break;
		struct ms_range *v = &r->chunks[p.chunk]->v[p.at], old = *v;
		if (old.start >= end)
			break;
		struct ms_range piece = {old.start > start ? old.start : start,
					 old.end < end ? old.end : end, old.owner};
		r->bytes -= piece.end - piece.start;
		if (old.start < piece.start)
			v->end = piece.start;
		else if (piece.end < old.end)
			v->start = piece.end;
		else
			drop(r, p);
		if (old.start < piece.start && piece.end < old.end)
			insert(r, find(r, piece.end),
			       (struct ms_range){piece.end, old.end, old.owner});
		if (f)
			f(arg, &piece);
		start = piece.end;
	}
	return before - r->bytes;
}

void ms_ranges_add(struct ms_ranges *r, uint64_t start, uint64_t end, uint32_t owner)
{
	struct place p = find(r, start);
	r->bytes += end - start;
	struct ms_range_chunk *c = p.chunk < r->n ? r->chunks[p.chunk]
				   : r->n         ? r->chunks[r->n - 1]
						  : NULL;
	size_t at = p.chunk < r->n ? p.at : c ? c->n : 0;
	if (c && at && c->v[at - 1].end == start && c->v[at - 1].owner == owner)
		c->v[at - 1].end = end;
	else if (c && at < c->n && c->v[at].start == end && c->v[at].owner == owner)
		c->v[at].start = start;
	else
		insert(r, p, (struct ms_range){start, end, owner});
}

const struct ms_range *ms_ranges_find(const struct ms_ranges *r, uint64_t address)
{
	struct place p = find(r, address);
	return p.chunk < r->n ? &r->chunks[p.chunk]->v[p.at] : NULL;
}

void ms_ranges_each(const struct ms_ranges *r, void (*f)(void *arg, const struct ms_range *range),
		    void *arg)
{
	for (size_t i = 0; i < r->n; i++)
		for (uint32_t k = 0; k < r->chunks[i]->n; k++)
			f(arg, &r->chunks[i]->v[k]);
}

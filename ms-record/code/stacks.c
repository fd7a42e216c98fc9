/* SPDX-License-Identifier: MIT
 * Call stacks of one trace, interned.
 */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/ready.h"

#define FIRST_BITS 10u

static void make_known(struct stacks *s, size_t slots)
{
	free(s->known);
	s->known = ms_xcalloc(slots, sizeof *s->known);
	ready_huge(s->known, slots * sizeof *s->known);
	s->known_mask = slots - 1;
	s->known_shift = 64 - (unsigned)__builtin_ctzll(slots);
	s->known_used = 0;
}

void stacks_init(struct stacks *s)
{
	memset(s, 0, sizeof *s);
	s->cache = ms_xcalloc((size_t)1 << STACKS_CACHE_BITS, sizeof *s->cache);
	make_known(s, (size_t)1 << FIRST_BITS);
}

void stacks_free(struct stacks *s)
{
	MS_FREE(s->frames.v, s->nodes.v, s->frame_index.slots, s->node_index.slots, s->cache,
		s->known);
	memset(s, 0, sizeof *s);
}

uint32_t stacks_frame(struct stacks *s, const struct ms_frame *f)
{
	uint32_t hash = ms_hash(f->address, (uint64_t)f->module << 8 | f->flags), n;
	for (size_t at = hash; (n = ms_lookup_next(&s->frame_index, hash, &at));) {
		const struct ms_frame *have = &s->frames.v[n - 1];
		if (have->address == f->address && have->module == f->module &&
		    have->flags == f->flags)
			return n;
	}
	*MS_PUSH(&s->frames) = *f;
	ms_lookup_add(&s->frame_index, hash, (uint32_t)s->frames.n);
	return (uint32_t)s->frames.n;
}

static uint32_t hash_node(struct ms_node n)
{
	return ms_hash(n.parent, n.frame);
}

/* Adds the nodes of the last stack to the index. They are added late, and all at once, so that
 * their slots have been prefetched. */
static void index_nodes(struct stacks *s)
{
	for (size_t n = s->node_index.n; n < s->nodes.n; n++)
		ms_lookup_add(&s->node_index, hash_node(s->nodes.v[n]), (uint32_t)n + 1);
}

uint32_t stacks_below(struct stacks *s, uint32_t parent, uint32_t frame)
{
	struct ms_node want = {parent, frame};
	uint32_t hash = hash_node(want), n;
	/* The newest node has no children, whose numbers would be higher: the frames of a new stack
	 * below the first new one need no look-up. */
	if (!parent || parent != s->nodes.n) {
		index_nodes(s);
		for (size_t at = hash; (n = ms_lookup_next(&s->node_index, hash, &at));)
			if (s->nodes.v[n - 1].parent == parent && s->nodes.v[n - 1].frame == frame)
				return n;
	}
	*MS_PUSH(&s->nodes) = want;
	if (s->node_index.n)
		__builtin_prefetch(&s->node_index.slots[hash & s->node_index.mask]);
	return (uint32_t)s->nodes.n;
}

/* Returns an address with the low 14 bits of the epoch in address bits that are not used. Clears
 * the cache when these 14 bits wrap around. */
static uint64_t tag(struct stacks *s, uint64_t ip, uint32_t epoch)
{
	if (epoch >> 14 > s->cache_epoch) {
		s->cache_epoch = epoch >> 14;
		memset(s->cache, 0, sizeof *s->cache << STACKS_CACHE_BITS);
	}
	return (ip & ~(UINT64_C(0x3fff) << 48)) | (uint64_t)(epoch & 0x3fff) << 48;
}

static struct stacks_cached *slot(struct stacks *s, uint64_t key, bool outermost)
{
	return &s->cache[ms_hash(key, outermost) >> (32 - STACKS_CACHE_BITS)];
}

uint32_t stacks_cached(struct stacks *s, uint64_t ip, uint32_t epoch, bool outermost)
{
	uint64_t key = tag(s, ip, epoch);
	const struct stacks_cached *c = slot(s, key, outermost);
	return c->ip == key && c->outermost == outermost ? c->frame : 0;
}

void stacks_remember(struct stacks *s, uint64_t ip, uint32_t epoch, bool outermost, uint32_t frame)
{
	uint64_t key = tag(s, ip, epoch);
	*slot(s, key, outermost) = (struct stacks_cached){key, outermost, frame};
}

static void grow_known(struct stacks *s)
{
	struct stacks_known *old = s->known;
	size_t n = s->known_mask + 1;
	s->known = NULL;
	make_known(s, n * 2);
	for (size_t i = 0; i < n; i++) {
		if (!old[i].node)
			continue;
		*stacks_place(s, (struct stacks_path){old[i].a, old[i].b}) = old[i];
		s->known_used++;
	}
	free(old);
}

void stacks_know(struct stacks *s, struct stacks_path p, uint32_t node)
{
	if (s->known_used >= s->known_mask / 2)
		grow_known(s);
	struct stacks_known *k = stacks_place(s, p);
	s->known_used += !k->node;
	*k = (struct stacks_known){p.a, (uint32_t)(p.b >> 32 ^ p.b), node};
}

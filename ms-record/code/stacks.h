/* SPDX-License-Identifier: MIT
 * Call stacks of one trace: return addresses interned to frames, frames to nodes of the call tree.
 *
 * Three tables: `frames` maps (module, address, flags) to a frame number, `nodes` maps (caller's
 * node, frame) to a node number. In front of the first, a lossy cache maps (return address, epoch,
 * outermost or not) to a frame number, without a module look-up.
 *
 * Because even that is costly for each new frame of each event, `known` maps a whole stack to the
 * node of its innermost frame. A stack is looked up by its path: a 128-bit hash of the epoch and
 * the return addresses, of which 96 bits and the position in the table are compared (probability of
 * a wrong match among a million stacks: 10^-16). The look-up reads one line of a table that is too
 * large for the cache, so it is prefetched, and done when the next stack arrives.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/lookup.h"
#include "format/stacks.h"

#define STACKS_CACHE_BITS 13u

struct stacks_path {
	uint64_t a, b;
};

struct stacks {
	MS_ARRAY(struct ms_frame) frames; /* frame i has number i + 1 */
	MS_ARRAY(struct ms_node) nodes;
	struct ms_lookup frame_index, node_index;
	struct stacks_cached {
		uint64_t ip; /* address, with the epoch in bits 48 to 61 */
		uint32_t outermost, frame;
	} * cache;
	uint32_t cache_epoch;
	struct stacks_known {
		uint64_t a;
		uint32_t b, node; /* node 0 = empty */
	} * known;
	size_t known_mask, known_used;
	unsigned known_shift;
};

void stacks_init(struct stacks *s);
void stacks_free(struct stacks *s);
/* Returns the number of a frame, which is added if it is new. */
uint32_t stacks_frame(struct stacks *s, const struct ms_frame *f);
/* Returns the node of the frame with number `frame` below `parent`; it is added if it is new. */
uint32_t stacks_below(struct stacks *s, uint32_t parent, uint32_t frame);
/* Returns the node of a frame below `parent`; both are added if they are new. */
static inline uint32_t stacks_node(struct stacks *s, uint32_t parent, const struct ms_frame *f)
{
	return stacks_below(s, parent, stacks_frame(s, f));
}
/* Returns a frame stored by stacks_remember, or 0. `ip` may include MG_EXACT_IP. */
uint32_t stacks_cached(struct stacks *s, uint64_t ip, uint32_t epoch, bool outermost);
void stacks_remember(struct stacks *s, uint64_t ip, uint32_t epoch, bool outermost, uint32_t frame);

/* Returns the path of an empty stack. `base`: node of a marker that is the parent of the stack's
 * outermost frame, or 0. */
static inline struct stacks_path stacks_root(uint32_t epoch, uint32_t base)
{
	uint64_t x = ((uint64_t)epoch << 32 | base) + 1;
	return (struct stacks_path){x * UINT64_C(0xd6e8feb86659fd93),
				    x * UINT64_C(0xa0761d6478bd642f)};
}

/* Returns the path extended by one inner frame. */
static inline struct stacks_path stacks_step(struct stacks_path p, uint64_t ip)
{
	uint64_t x = ip * UINT64_C(0x9e3779b97f4a7c15);
	x ^= x >> 32;
	return (struct stacks_path){p.a * UINT64_C(0xff51afd7ed558ccd) + x,
				    (p.b << 23 | p.b >> 41) + x};
}

static inline struct stacks_known *stacks_place(const struct stacks *s, struct stacks_path p)
{
	uint32_t b = (uint32_t)(p.b >> 32 ^ p.b);
	size_t i = (size_t)(p.a >> s->known_shift);
	for (;; i = (i + 1) & s->known_mask) {
		struct stacks_known *k = &s->known[i];
		if (!k->node || (k->a == p.a && k->b == b))
			return k;
	}
}

/* Returns the node of a stack stored by stacks_know, or 0. */
static inline uint32_t stacks_find(const struct stacks *s, struct stacks_path p)
{
	return stacks_place(s, p)->node;
}

/* Prefetches what stacks_find will read. Always inlined: the compiler drops calls of a function
 * that only prefetches. */
static inline __attribute__((always_inline)) void stacks_prefetch(const struct stacks *s,
								  struct stacks_path p)
{
	__builtin_prefetch(&s->known[p.a >> s->known_shift]);
}
void stacks_know(struct stacks *s, struct stacks_path p, uint32_t node);

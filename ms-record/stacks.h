/* SPDX-License-Identifier: MIT
 * Call stacks of one trace: return addresses interned to frames, frames to nodes of the call tree.
 *
 * Three tables. `frames`: (module, address, flags) -> frame number. `nodes`: (caller's node, frame)
 * -> node number. In front of both a lossy cache (caller's node, return address, epoch) -> node,
 * which serves nearly every frame and needs no module look-up.
 */
#ifndef STACKS_H
#define STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "format/stacks.h"

#define STACKS_CACHE_BITS 15u

struct stacks_index {
	uint32_t *slots; /* number, 0 = empty */
	size_t mask;
};

struct stacks {
	struct {
		struct ms_frame *v;
		size_t n, cap;
	} frames; /* frame i has number i + 1 */
	struct {
		struct ms_node *v;
		size_t n, cap;
	} nodes;
	struct stacks_index frame_index, node_index;
	struct stacks_cached {
		uint64_t ip; /* with the epoch in bits 48 to 62 */
		uint32_t parent, node;
	} * cache;
	uint32_t cache_epoch;
};

void stacks_init(struct stacks *s);
void stacks_free(struct stacks *s);
/* The node of a frame below `parent`; made when new. */
uint32_t stacks_node(struct stacks *s, uint32_t parent, const struct ms_frame *f);
/* A cached node, or 0; stacks_remember puts one. `ip` has MG_EXACT_IP perhaps. */
uint32_t stacks_cached(struct stacks *s, uint32_t parent, uint64_t ip, uint32_t epoch);
void stacks_remember(struct stacks *s, uint32_t parent, uint64_t ip, uint32_t epoch, uint32_t node);

#endif

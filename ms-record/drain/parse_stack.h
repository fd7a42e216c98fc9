/* SPDX-License-Identifier: MIT
 * The call stacks of a ring's records. Each record states how many of the previous stack's
 * outermost frames it keeps, and contains the others; here the stack becomes a node of the
 * session's stacks.
 *
 * The code that every record needs is inlined into the parser.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "format/trace.h"
#include "ms-record/session/session_options.h"
#include "parse_code.h"
#include "parse_record.h"
#include "ms-record/session/pool.h"
#include "ms-record/session/session.h"

#define STACK_DEPTH_MAX (1u << 20)

/* Enlarges the reader's arrays for a stack of `depth` frames. Call if they are too small. */
void parse_stack_grow(struct reader *r, uint32_t depth);
/* Recomputes paths and nodes of the current frames for a new node below which the stack begins. */
void parse_stack_rebase(const struct session *s, struct reader *r, uint32_t base);
/* Returns the node of a frame that consists only of `flag`, below `parent`. */
uint32_t parse_stack_marker(struct session *s, uint32_t parent, uint32_t flag);
/* Returns the node of the current stack, which has at least one frame, also in r->node and in the
 * item that waits for it. */
uint32_t parse_stack_look_up(struct session *s, struct reader *r);
/* Returns the node of a stack that was sent as registers and memory. `cut`: the memory is
 * incomplete. */
uint32_t parse_stack_copied(struct session *s, struct reader *r, bool cut);

/* Finds the node of an MG_ALLOC_WHOLE record's stack. Returns 0 or -1. */
int parse_stack_whole(struct session *s, struct reader *r, const struct record *c, uint32_t *node);

static inline struct stacks_path parse_stack_path(const struct reader *r, uint32_t depth)
{
	return depth ? r->paths[depth - 1] : stacks_root(r->epoch, r->base);
}

/* Tells whether `ip`, called from `caller`, is the interpreter's evaluation loop, and `caller` is a
 * known Python frame: the frame of the loop is then left out. */
static inline bool parse_stack_replaced(const struct session *s, uint64_t caller, uint64_t ip)
{
	const uint64_t first = MG_INTERPRETED | UINT64_C(1) << MG_INSTRUCTION_BITS;
	return MG_IS_INTERPRETED(caller) && caller >= first &&
	       mg_python_is_loop(&(s->slot ? s->pool->head : s->mem)->python, ip);
}

/* Looks up the current stack for the item that waits for it. */
static inline void parse_stack_settle(struct session *s, struct reader *r)
{
	if (r->waiting)
		parse_stack_look_up(s, r);
}

/* Sets the stack of an item to the current one. If it has not been looked up yet, prefetches what
 * the look-up reads and has the item wait for it. */
static inline void parse_stack_give(struct session *s, struct reader *r, struct item *it)
{
	s->stats.stacks_truncated += r->base != 0;
	s->stats.stacks_cut += r->depth > s->opt->depth;
	parse_stack_settle(s, r);
	it->stack = r->depth ? r->node : r->base;
	if (it->stack)
		return;
	r->waiting = r->depth ? (size_t)(it - r->items) + 1 : 0;
	if (r->depth)
		stacks_prefetch(&s->stacks, r->paths[r->depth - 1]);
}

/* Sets the current stack: keeps the `keep` outermost frames of the previous one, and adds the
 * `count` frames at `frames`. */
static inline int parse_stack_new(struct session *s, struct reader *r, uint32_t keep,
				  uint32_t count, const uint64_t *frames, bool truncated)
{
	if (keep > r->depth || keep + count > STACK_DEPTH_MAX)
		return session_damaged(s, "a call stack is out of range");
	parse_stack_settle(s, r);
	uint32_t depth = r->depth = keep;
	if (r->noded > depth)
		r->noded = depth;
	if (r->cut_valid > depth)
		r->cut_valid = depth;
	r->node = 0;
	uint32_t base = truncated ? parse_stack_marker(s, 0, MS_FRAME_TRUNCATED) : 0;
	if (base != r->base)
		parse_stack_rebase(s, r, base);
	if (depth + count > r->cap)
		parse_stack_grow(r, depth + count);
	struct stacks_path path = parse_stack_path(r, depth);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t ip = __atomic_load_n(&frames[i], __ATOMIC_RELAXED);
		if (MG_IS_INTERPRETED(ip))
			ip = parse_code_frame(r, ip);
		if (!(depth + i) || !parse_stack_replaced(s, r->ips[depth + i - 1], ip))
			path = stacks_step(path, ip);
		r->ips[depth + i] = ip;
		r->paths[depth + i] = path;
	}
	r->depth += count;
	return 0;
}

static inline int parse_stack_change(struct session *s, struct reader *r, const struct record *c,
				     const uint64_t *frames)
{
	bool truncated = c->flags & MG_F_TRUNCATED;
	if (!c->count && c->keep == r->depth && !r->base && !truncated)
		return 0;
	return parse_stack_new(s, r, c->keep, c->count, frames, truncated);
}

static inline uint32_t parse_stack_node(struct session *s, struct reader *r)
{
	s->stats.stacks_truncated += r->base != 0;
	if (!r->depth)
		return r->base;
	s->stats.stacks_cut += r->depth > s->opt->depth;
	return r->node ? r->node : parse_stack_look_up(s, r);
}

/* Finds the node of an event's stack. Returns 0 or -1. */
static inline int parse_stack_of(struct session *s, struct reader *r, const struct record *c,
				 uint32_t *node)
{
	if (c->flags & MG_F_STACK && parse_stack_change(s, r, c, frames_of(c)))
		return -1;
	if (c->flags & MG_F_NOT_TAKEN) {
		s->stats.stacks_not_taken++;
		*node = parse_stack_marker(s, 0, MS_FRAME_NOT_TAKEN);
	} else if (c->flags & MG_F_COPIED) {
		*node = parse_stack_copied(s, r, c->flags & MG_F_CUT_COPY);
	} else {
		*node = c->flags & MG_F_STACK ? parse_stack_node(s, r) : 0;
	}
	return 0;
}

/* SPDX-License-Identifier: MIT
 * Finds the nodes of a ring's call stacks: the code that only some records need.
 */
#include "parse_stack.h"

#include "libcommon/base/arena.h"
#include "ms-record/code/interpreter.h"
#include "ms-record/code/modules.h"
#include "remote.h"

#define ADDRESS_MASK UINT64_C(0x7fffffffffffffff)

void parse_stack_grow(struct reader *r, uint32_t depth)
{
	r->cap = depth * 2 < 32 ? 32 : depth * 2;
	r->ips = ms_xrealloc(r->ips, r->cap, sizeof *r->ips);
	r->paths = ms_xrealloc(r->paths, r->cap, sizeof *r->paths);
	r->nodes = ms_xrealloc(r->nodes, r->cap, sizeof *r->nodes);
	r->cut_nodes = ms_xrealloc(r->cut_nodes, r->cap, sizeof *r->cut_nodes);
}

/* Returns the node of the frame at `ip` below `parent`. */
static uint32_t node_of(struct session *s, struct reader *r, uint32_t parent, uint64_t ip)
{
	uint32_t frame = stacks_cached(&s->stacks, ip, r->epoch, !parent);
	if (frame)
		return stacks_below(&s->stacks, parent, frame);
	struct ms_frame f = {.address = ip & ADDRESS_MASK,
			     .flags = ip & MG_EXACT_IP ? MS_FRAME_EXACT : 0};
	if (MG_IS_INTERPRETED(ip))
		f = interpreter_frame(&s->modules,
				      (uint32_t)((ip ^ MG_INTERPRETED) >> MG_INSTRUCTION_BITS),
				      ip & ((1u << MG_INSTRUCTION_BITS) - 1));
	else
		f.module = modules_find(&s->modules, &f.address, r->epoch);
	/* The address of the outermost frame may not be a return address: the code that set up the
	 * stack may have written the exact address of an instruction. */
	if (!parent && !remote_called(s, ip))
		f.flags = MS_FRAME_EXACT;
	frame = stacks_frame(&s->stacks, &f);
	stacks_remember(&s->stacks, ip, r->epoch, !parent, frame);
	return stacks_below(&s->stacks, parent, frame);
}

uint32_t parse_stack_marker(struct session *s, uint32_t parent, uint32_t flag)
{
	return stacks_node(&s->stacks, parent, &(struct ms_frame){.flags = flag});
}

void parse_stack_rebase(const struct session *s, struct reader *r, uint32_t base)
{
	r->base = base;
	r->noded = 0;
	r->cut_valid = r->cut_from;
	for (uint32_t i = 0; i < r->depth; i++) {
		struct stacks_path path = parse_stack_path(r, i);
		bool replaced = i && parse_stack_replaced(s, r->ips[i - 1], r->ips[i]);
		r->paths[i] = replaced ? path : stacks_step(path, r->ips[i]);
	}
}

/* Returns the node of frame `i`, whose caller has the node `parent`. */
static uint32_t node_at(struct session *s, struct reader *r, uint32_t parent, uint32_t i)
{
	return i && parse_stack_replaced(s, r->ips[i - 1], r->ips[i])
		       ? parent
		       : node_of(s, r, parent, r->ips[i]);
}

/* Finds the nodes of all frames. */
static void fill_nodes(struct session *s, struct reader *r)
{
	for (uint32_t i = r->noded; i < r->depth; i++)
		r->nodes[i] = node_at(s, r, i ? r->nodes[i - 1] : r->base, i);
	r->noded = r->depth;
}

/* Returns the node of a stack deeper than --depth: outermost frames, a marker for the cut,
 * innermost frames. The cut moves only in steps of several frames, so that nodes are not
 * rebuilt whenever a deep stack grows or shrinks. */
static uint32_t cut_stack(struct session *s, struct reader *r)
{
	uint32_t depth = s->opt->depth, root = depth / 2, leaf = depth - root;
	fill_nodes(s, r);
	uint32_t step = leaf / 4 ? leaf / 4 : 1;
	uint32_t from = r->depth - leaf;
	from = root + (from - root + step - 1) / step * step;
	if (from != r->cut_from || r->cut_valid < from) {
		r->cut_from = from;
		r->cut_valid = from;
	}
	uint32_t parent = r->cut_valid > from
				  ? r->cut_nodes[r->cut_valid - 1]
				  : parse_stack_marker(s, r->nodes[root - 1], MS_FRAME_CUT);
	for (uint32_t i = r->cut_valid; i < r->depth; i++)
		parent = r->cut_nodes[i] = node_at(s, r, parent, i);
	r->cut_valid = r->depth;
	return parent;
}

/* Returns the node of the current stack, which has at least one frame. */
static uint32_t look_up(struct session *s, struct reader *r)
{
	if (r->depth > s->opt->depth)
		return cut_stack(s, r);
	uint32_t node = stacks_find(&s->stacks, r->paths[r->depth - 1]);
	if (node)
		return node;
	fill_nodes(s, r);
	stacks_know(&s->stacks, r->paths[r->depth - 1], r->nodes[r->depth - 1]);
	return r->nodes[r->depth - 1];
}

uint32_t parse_stack_look_up(struct session *s, struct reader *r)
{
	r->node = look_up(s, r);
	if (r->waiting)
		r->items[r->waiting - 1].stack = r->node;
	r->waiting = 0;
	return r->node;
}

int parse_stack_whole(struct session *s, struct reader *r, const struct record *c, uint32_t *node)
{
	if (c->keep >= MG_WHOLES)
		return session_damaged(s, "a call stack is out of range");
	struct reader_whole *m = &r->wholes[c->keep];
	if (c->count) {
		if (parse_stack_new(s, r, 0, c->count, frames_of(c), c->flags & MG_F_TRUNCATED))
			return -1;
		*m = (struct reader_whole){parse_stack_node(s, r), r->depth > s->opt->depth,
					   r->base != 0};
	} else if (m->node) {
		s->stats.stacks_cut += m->cut;
		s->stats.stacks_truncated += m->truncated;
	} else {
		return session_damaged(s, "a call stack is unknown");
	}
	*node = m->node;
	return 0;
}

uint32_t parse_stack_copied(struct session *s, struct reader *r, bool cut)
{
	uint64_t frames[REMOTE_FRAMES];
	bool whole = false;
	size_t n = remote_unwind(s, r, frames, &whole);
	s->stats.remote_unwinds++;
	r->copy_bytes = 0;
	uint32_t node = 0;
	if (!whole || cut || !n) {
		node = parse_stack_marker(s, 0, MS_FRAME_TRUNCATED);
		s->stats.stacks_truncated++;
	}
	uint32_t depth = s->opt->depth, root = depth / 2;
	if (n > depth)
		s->stats.stacks_cut++;
	for (size_t i = n; i-- > 0;) { /* begins with the outermost frame, the last of `frames` */
		size_t out = n - 1 - i;
		if (n > depth && out == root)
			node = parse_stack_marker(s, node, MS_FRAME_CUT);
		if (n <= depth || out < root || i < depth - root)
			node = node_of(s, r, node, frames[i]);
	}
	return node;
}

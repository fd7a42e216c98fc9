/* SPDX-License-Identifier: MIT
 * Encodes frames and call-stack nodes to columns, and decodes them.
 */
#include "stacks.h"

#include "trace.h"
#include "varint.h"

/* Layout of the encoder's memory in bytes, for f frames and n nodes: head 64 | module 5f | address
 * 10f | flags 5f | parent 5n | frame 5n. */
#define HEAD_BYTES 64

/* ---- encoder ---- */

static uint8_t *frame_region(const struct ms_stacks_encoder *e, size_t at)
{
	return e->memory + HEAD_BYTES + at * e->max_frames;
}
static uint8_t *node_region(const struct ms_stacks_encoder *e, size_t at)
{
	return frame_region(e, 20) + at * e->max_nodes;
}

void ms_stacks_encoder_init(struct ms_stacks_encoder *e, void *memory, uint32_t max_frames,
			    uint32_t max_nodes)
{
	e->memory = memory;
	e->max_frames = max_frames;
	e->max_nodes = max_nodes;
	ms_stacks_encoder_begin(e, 1, 1);
}

void ms_stacks_encoder_begin(struct ms_stacks_encoder *e, uint32_t first_frame, uint32_t first_node)
{
	e->first_frame = first_frame;
	e->first_node = first_node;
	e->frames = e->nodes = 0;
	e->last_address = 0;
	e->last_frame = 0;
	e->module = frame_region(e, 0);
	e->address = frame_region(e, 5);
	e->flags = frame_region(e, 15);
	e->parent = node_region(e, 0);
	e->frame = node_region(e, 5);
}

enum ms_fmt ms_stacks_put_frame(struct ms_stacks_encoder *e, const struct ms_frame *f)
{
	if (e->frames == e->max_frames)
		return MS_FMT_FULL;
	e->module = ms_varint_put(e->module, f->module);
	e->address = ms_varint_put(e->address, ms_zigzag(f->address - e->last_address));
	e->flags = ms_varint_put(e->flags, f->flags);
	e->last_address = f->address;
	e->frames++;
	return MS_FMT_OK;
}

enum ms_fmt ms_stacks_put_node(struct ms_stacks_encoder *e, const struct ms_node *n)
{
	if (e->nodes == e->max_nodes)
		return MS_FMT_FULL;
	e->parent = ms_varint_put(e->parent, e->first_node + e->nodes - n->parent);
	e->frame = ms_varint_put(e->frame, ms_zigzag((uint64_t)n->frame - e->last_frame));
	e->last_frame = n->frame;
	e->nodes++;
	return MS_FMT_OK;
}

size_t ms_stacks_encoder_finish(struct ms_stacks_encoder *e, struct ms_column *out)
{
	if (!e->frames && !e->nodes)
		return 0;
	const uint64_t head[] = {e->first_frame, e->frames, e->first_node, e->nodes};
	size_t n =
		ms_column_add(out, 0, MS_NODE_HEAD, e->memory, ms_varints_put(e->memory, head, 4));
	n = ms_column_add(out, n, MS_NODE_FRAME_MODULE, frame_region(e, 0), e->module);
	n = ms_column_add(out, n, MS_NODE_FRAME_ADDR, frame_region(e, 5), e->address);
	n = ms_column_add(out, n, MS_NODE_FRAME_FLAGS, frame_region(e, 15), e->flags);
	n = ms_column_add(out, n, MS_NODE_PARENT, node_region(e, 0), e->parent);
	return ms_column_add(out, n, MS_NODE_FRAME, node_region(e, 5), e->frame);
}

/* ---- decoder ---- */

/* Checks a range of `count` numbers from `first`: at least 1, its end within 32 bits, and no longer
 * than the bytes that describe it. */
static bool good_run(uint64_t first, uint64_t count, const struct ms_cursor *bytes)
{
	return first >= 1 && first <= UINT32_MAX && count <= UINT32_MAX - first &&
	       count <= (uint64_t)(bytes->end - bytes->at);
}

enum ms_fmt ms_stacks_decoder_init(struct ms_stacks_decoder *d, const struct ms_column *columns,
				   size_t n)
{
	struct ms_cursor head = ms_cursor_of(columns, n, MS_NODE_HEAD);
	uint64_t v[4]; /* first frame, frames, first node, nodes */
	*d = (struct ms_stacks_decoder){
		.module = ms_cursor_of(columns, n, MS_NODE_FRAME_MODULE),
		.address = ms_cursor_of(columns, n, MS_NODE_FRAME_ADDR),
		.flags = ms_cursor_of(columns, n, MS_NODE_FRAME_FLAGS),
		.parent = ms_cursor_of(columns, n, MS_NODE_PARENT),
		.frame = ms_cursor_of(columns, n, MS_NODE_FRAME),
	};
	if (!ms_cursor_get_all(&head, v, 4) || !good_run(v[0], v[1], &d->address) ||
	    !good_run(v[2], v[3], &d->parent))
		return MS_FMT_BAD;
	d->first_frame = (uint32_t)v[0];
	d->frames = d->frames_left = (uint32_t)v[1];
	d->first_node = (uint32_t)v[2];
	d->nodes = d->nodes_left = (uint32_t)v[3];
	return MS_FMT_OK;
}

enum ms_fmt ms_stacks_next_frame(struct ms_stacks_decoder *d, struct ms_frame *f)
{
	uint64_t module, address, flags;
	if (!d->frames_left)
		return MS_FMT_END;
	if (!ms_cursor_get(&d->module, &module) || !ms_cursor_get(&d->address, &address) ||
	    !ms_cursor_get(&d->flags, &flags) || module > UINT32_MAX || flags > UINT32_MAX) {
		d->frames_left = 0;
		return MS_FMT_BAD;
	}
	d->frames_left--;
	d->last_address += ms_unzigzag(address);
	*f = (struct ms_frame){d->last_address, (uint32_t)module, (uint32_t)flags};
	return MS_FMT_OK;
}

enum ms_fmt ms_stacks_next_node(struct ms_stacks_decoder *d, struct ms_node *n)
{
	uint64_t up, step;
	if (!d->nodes_left)
		return MS_FMT_END;
	uint32_t number = d->first_node + (d->nodes - d->nodes_left);
	if (!ms_cursor_get(&d->parent, &up) || !ms_cursor_get(&d->frame, &step) || up == 0 ||
	    up > number)
		goto bad;
	uint64_t frame = d->last_frame + ms_unzigzag(step);
	if (frame < 1 || frame >= (uint64_t)d->first_frame + d->frames)
		goto bad;
	d->nodes_left--;
	d->last_frame = (uint32_t)frame;
	*n = (struct ms_node){number - (uint32_t)up, (uint32_t)frame};
	return MS_FMT_OK;
bad:
	d->nodes_left = 0;
	return MS_FMT_BAD;
}

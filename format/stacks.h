/* SPDX-License-Identifier: MIT
 * Frames and call-stack nodes: encoder and decoder of MS_BLOCK_STACKS.
 *
 * A node is one frame with its caller's node as parent, so a call stack is a path to the root.
 * Frames and nodes are numbered from 1 in order of appearance in the file; a node comes after its
 * parent and its frame.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "varint.h"

struct ms_frame {
	uint64_t address;
	uint32_t module; /* module id, 0 = unknown */
	uint32_t flags;  /* MS_FRAME_* */
};
struct ms_node {
	uint32_t parent; /* node of the caller, which has a lower number; 0 = root */
	uint32_t frame;
};

#define MS_STACKS_MEMORY(max_frames, max_nodes)                                                    \
	((size_t)(max_frames)*20 + (size_t)(max_nodes)*10 + 64)
#define MS_STACKS_COLUMNS 6u

struct ms_stacks_encoder {
	uint32_t first_frame, first_node, frames, nodes, max_frames, max_nodes;
	uint64_t last_address;
	uint32_t last_frame;
	uint8_t *memory;
	uint8_t *module, *address, *flags, *parent, *frame; /* ends of the columns */
};

/* Initialises an encoder. `memory` of MS_STACKS_MEMORY(max_frames, max_nodes) bytes is borrowed for
 * the encoder's life. */
void ms_stacks_encoder_init(struct ms_stacks_encoder *e, void *memory, uint32_t max_frames,
			    uint32_t max_nodes);
/* Starts a block with the numbers of its first frame and node. */
void ms_stacks_encoder_begin(struct ms_stacks_encoder *e, uint32_t first_frame,
			     uint32_t first_node);
/* Add the next frame or node, which takes the next number. Return MS_FMT_OK, or MS_FMT_FULL: the
 * caller must write the block and begin another. */
enum ms_fmt ms_stacks_put_frame(struct ms_stacks_encoder *e, const struct ms_frame *f);
enum ms_fmt ms_stacks_put_node(struct ms_stacks_encoder *e, const struct ms_node *n);
/* Fills `out` with the columns that are not empty, and returns how many, as ms_event_encoder_finish
 * does; 0 = there are no frames or nodes. */
size_t ms_stacks_encoder_finish(struct ms_stacks_encoder *e, struct ms_column *out);

struct ms_stacks_decoder {
	uint32_t first_frame, frames, first_node, nodes; /* valid after init */
	uint32_t frames_left, nodes_left;
	uint64_t last_address;
	uint32_t last_frame;
	struct ms_cursor module, address, flags, parent, frame;
};

/* Starts decoding a block. The bytes may be hostile; counts are bounded by the column sizes.
 * Returns MS_FMT_OK or MS_FMT_BAD. */
enum ms_fmt ms_stacks_decoder_init(struct ms_stacks_decoder *d, const struct ms_column *columns,
				   size_t n);
/* Decodes the next frame (number first_frame + 0, 1, ...): MS_FMT_OK, MS_FMT_END or MS_FMT_BAD.
 * Frames and nodes may be read in any order. */
enum ms_fmt ms_stacks_next_frame(struct ms_stacks_decoder *d, struct ms_frame *f);
/* Decodes the next node. Its parent is below its own number, its frame at least 1 and below
 * first_frame + frames. After a lost block either may be missing: the caller treats it as
 * unknown. */
enum ms_fmt ms_stacks_next_node(struct ms_stacks_decoder *d, struct ms_node *n);

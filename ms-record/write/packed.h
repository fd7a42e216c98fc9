/* SPDX-License-Identifier: MIT
 * A packed list of blocks in order of allocation number (writing thread).
 *
 *   block:  | lengths, 16 bits | step | tick | address | size | stack | thread | slack |
 *
 * Number, tick and address are stored as differences to the previous block. Each column takes
 * the shortest of four lengths that can hold its value; two bits of `lengths` give the length. A
 * block takes 5 to 7 bytes. When blocks are removed, the others are copied unchanged, except for
 * a block behind a gap.
 *
 * The bytes are divided into parts, so that the list needs no larger copy of itself while it
 * grows or is walked through.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/checkpoint.h"

struct packed_part;

struct packed_list {
	struct packed_part *first, *last;
	uint64_t number, tick, address; /* values of the last block */
	size_t blocks;
	uint64_t bytes; /* sum of the blocks' sizes */
};

void packed_free(struct packed_list *l);
/* Adds a block, whose number must be higher than all in the list. */
void packed_add(struct packed_list *l, const struct ms_checkpoint_block *b);
/* Removes the blocks with these numbers, which must be sorted. Returns how many were found. */
size_t packed_remove(struct packed_list *l, const uint64_t *numbers, size_t n);

/* Holds a position in the list; `block` is the block that packed_next has reached. */
struct packed_cursor {
	struct ms_checkpoint_block block;
	const struct packed_part *part;
	const uint8_t *at;
};

struct packed_cursor packed_begin(const struct packed_list *l);
/* Moves to the next block. Returns false at the end. */
bool packed_next(struct packed_cursor *c);

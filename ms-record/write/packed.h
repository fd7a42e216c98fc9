/* SPDX-License-Identifier: MIT
 * Blocks in order of allocation number, in as few bytes as each takes (writing thread).
 *
 *   block:  | lengths, 16 bits | step | tick | address | size | stack | thread | slack |
 *
 * Number, tick and address are kept as the difference to the block before, and each column in the
 * least of four lengths that holds it, which two bits of `lengths` tell: 5 to 7 bytes a block. What
 * stays when others are taken out is copied as it is, but for the block after a gap.
 *
 * The bytes are in parts, so that no larger copy exists while the list grows or is gone through.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/checkpoint.h"

struct packed_part;

struct packed_list {
	struct packed_part *first, *last;
	uint64_t number, tick, address; /* of the last block */
	size_t blocks;
	uint64_t bytes; /* their sizes */
};

void packed_free(struct packed_list *l);
/* Adds a block, whose number is higher than any before. */
void packed_add(struct packed_list *l, const struct ms_checkpoint_block *b);
/* Takes out the blocks with these numbers, which are in order. Returns how many there were. */
size_t packed_remove(struct packed_list *l, const uint64_t *numbers, size_t n);

/* Goes through the blocks; `block` is the one that packed_next came to. */
struct packed_cursor {
	struct ms_checkpoint_block block;
	const struct packed_part *part;
	const uint8_t *at;
};

struct packed_cursor packed_begin(const struct packed_list *l);
/* False at the end. */
bool packed_next(struct packed_cursor *c);

/* SPDX-License-Identifier: MIT
 * Checkpoint blocks: the live blocks at a moment, so that a reader can start there.
 *
 * A checkpoint is written in parts of at most MS_CHECKPOINT_PART live blocks; each part is a block
 * of the trace. No malloc, no I/O: the caller provides the memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "varint.h"

#define MS_CHECKPOINT_PART 1000000u

struct ms_checkpoint_head {
	uint64_t event;  /* number of the next event */
	uint64_t number; /* next allocation number */
	uint64_t tick;   /* tick of the previous event, which no later event precedes */
	uint64_t live_bytes, live_blocks;
	uint32_t part, parts; /* number of this part of the checkpoint, from 0; number of all its
				 parts */
	uint32_t count;       /* number of blocks in this part of the checkpoint */
};

struct ms_checkpoint_block {
	uint64_t number, size, tick, address; /* address 0: not recorded */
	uint32_t stack, thread;
	uint32_t slack; /* see struct ms_event */
};

/* ---- encoding ---- */

/* Memory in bytes for the columns (EACH_COLUMN in checkpoint.c) of a part of at most `n` blocks and
 * `threads` threads. */
#define MS_CHECKPOINT_MEMORY(n, threads) ((size_t)(n)*56 + (size_t)(threads)*10 + 128)
#define MS_CHECKPOINT_COLUMNS 9u /* maximum number of columns, without the one of mapped ranges */

struct ms_checkpoint_encoder {
	struct ms_checkpoint_head head;
	struct ms_checkpoint_block before;
	uint8_t *memory;
	size_t max, threads;
	bool addresses, usable;
	uint8_t *number, *size, *stack, *thread, *tick, *address, *slack,
		*last; /* ends of the columns */
};

/* Starts a part; finish sets `head.count`. `memory` of MS_CHECKPOINT_MEMORY(max, threads) bytes is
 * borrowed until finish. `addresses` and `usable`: the part records addresses and usable sizes. */
void ms_checkpoint_begin(struct ms_checkpoint_encoder *e, void *memory, size_t max, size_t threads,
			 const struct ms_checkpoint_head *head, bool addresses, bool usable);
/* Adds the number of the latest allocation of thread 0, 1, ... in turn; UINT64_MAX = none. In part
 * 0 only. */
void ms_checkpoint_put_last(struct ms_checkpoint_encoder *e, uint64_t number);
/* Adds a live block, in order of number. Returns MS_FMT_FULL if there is no room, MS_FMT_BAD if the
 * number is not above the previous one, or not below head.number. */
enum ms_fmt ms_checkpoint_put(struct ms_checkpoint_encoder *e, const struct ms_checkpoint_block *b);
/* Fills `out` (MS_CHECKPOINT_COLUMNS entries) with the columns. Returns how many. */
size_t ms_checkpoint_finish(struct ms_checkpoint_encoder *e, struct ms_column *out);

/* Describes a range of mapped address space. Ranges are stored in a column of part 0. */
struct ms_checkpoint_range {
	uint64_t address, bytes;
	uint32_t stack;
};
#define MS_CHECKPOINT_RANGE_BYTES 25u /* most bytes of a range: varints of 10, 10 and 5 bytes */
/* Writes a range at `at`; `before` is the end address of the previous range (0: none). Returns the
 * position after it. */
uint8_t *ms_checkpoint_put_range(uint8_t *at, uint64_t before, const struct ms_checkpoint_range *r);

/* ---- decoding; the bytes may be hostile ---- */

struct ms_checkpoint_decoder {
	struct ms_checkpoint_head head; /* valid after init */
	struct ms_checkpoint_block before;
	uint32_t left;
	struct ms_cursor number, size, stack, thread, tick, address, slack, last, mapped;
	uint64_t mapped_end; /* end address of the previous range */
};

enum ms_fmt ms_checkpoint_decoder_init(struct ms_checkpoint_decoder *d,
				       const struct ms_column *columns, size_t n);
/* Decodes the next live block: MS_FMT_OK, MS_FMT_END or MS_FMT_BAD. Numbers ascend and are below
 * head.number. */
enum ms_fmt ms_checkpoint_next(struct ms_checkpoint_decoder *d, struct ms_checkpoint_block *b);
/* Decodes the latest allocation number of the next thread; UINT64_MAX = none. MS_FMT_END after the
 * last thread. */
enum ms_fmt ms_checkpoint_next_last(struct ms_checkpoint_decoder *d, uint64_t *number);
/* Decodes the next mapped range, which is not empty, after the previous one, and ends at UINT64_MAX
 * at most. MS_FMT_END after the last one. */
enum ms_fmt ms_checkpoint_next_range(struct ms_checkpoint_decoder *d,
				     struct ms_checkpoint_range *r);

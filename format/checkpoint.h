/* SPDX-License-Identifier: MIT
 * Checkpoint blocks: the live blocks at a moment, so that a reader can start there.
 *
 * A checkpoint is written in parts of at most MS_CHECKPOINT_PART blocks, each a block of the trace
 * of its own. No malloc, no I/O: the caller gives the memory.
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
	uint64_t tick;   /* of the event before; no later event is earlier */
	uint64_t live_bytes, live_blocks;
	uint32_t part, parts; /* this part, from 0; how many there are */
	uint32_t count;       /* blocks in this part */
};

struct ms_checkpoint_block {
	uint64_t number, size, tick, address; /* address 0: not recorded */
	uint32_t stack, thread;
	uint32_t slack; /* as in struct ms_event */
};

/* ---- encoding ---- */

/* Memory for the columns of a part of at most `n` blocks and `threads` threads. */
#define MS_CHECKPOINT_MEMORY(n, threads) ((size_t)(n)*56 + (size_t)(threads)*10 + 128)
#define MS_CHECKPOINT_COLUMNS 9u /* at most, without that of mapped ranges */

struct ms_checkpoint_encoder {
	struct ms_checkpoint_head head;
	struct ms_checkpoint_block before;
	uint8_t *memory;
	size_t max, threads;
	bool addresses, usable;
	uint8_t *number, *size, *stack, *thread, *tick, *address, *slack,
		*last; /* ends of the columns */
};

/* Starts a part; `head.count` is set by finish. `memory` of MS_CHECKPOINT_MEMORY(max, threads)
 * bytes is borrowed until finish. Whether there are addresses and slacks is said here. */
void ms_checkpoint_begin(struct ms_checkpoint_encoder *e, void *memory, size_t max, size_t threads,
			 const struct ms_checkpoint_head *head, bool addresses, bool usable);
/* Part 0 only: the latest allocation's number of thread 0, 1, .. in turn; UINT64_MAX = none. */
void ms_checkpoint_put_last(struct ms_checkpoint_encoder *e, uint64_t number);
/* A block, in order of number. MS_FMT_FULL; MS_FMT_BAD: the number does not grow, or is not below
 * head.number. */
enum ms_fmt ms_checkpoint_put(struct ms_checkpoint_encoder *e, const struct ms_checkpoint_block *b);
/* Fills `out` (MS_CHECKPOINT_COLUMNS entries); returns how many. */
size_t ms_checkpoint_finish(struct ms_checkpoint_encoder *e, struct ms_column *out);

/* Mapped address space, a column of its own for part 0. */
struct ms_checkpoint_range {
	uint64_t address, bytes;
	uint32_t stack;
};
#define MS_CHECKPOINT_RANGE_BYTES 25u /* of one in the column, at most */
/* Adds a range that follows one with the end `before` (0: none) at `at`; returns where it ends. */
uint8_t *ms_checkpoint_put_range(uint8_t *at, uint64_t before, const struct ms_checkpoint_range *r);

/* ---- decoding; the bytes may be hostile ---- */

struct ms_checkpoint_decoder {
	struct ms_checkpoint_head head; /* valid after init */
	struct ms_checkpoint_block before;
	uint32_t left;
	struct ms_cursor number, size, stack, thread, tick, address, slack, last, mapped;
	uint64_t mapped_end; /* of the range before */
};

enum ms_fmt ms_checkpoint_decoder_init(struct ms_checkpoint_decoder *d,
				       const struct ms_column *columns, size_t n);
/* MS_FMT_OK, MS_FMT_END, MS_FMT_BAD. Numbers grow and are below head.number. */
enum ms_fmt ms_checkpoint_next(struct ms_checkpoint_decoder *d, struct ms_checkpoint_block *b);
/* The next thread's latest allocation; UINT64_MAX = none. MS_FMT_END after the last thread. */
enum ms_fmt ms_checkpoint_next_last(struct ms_checkpoint_decoder *d, uint64_t *number);
/* The next mapped range: not empty, behind the one before, and its end is no more than UINT64_MAX.
 * MS_FMT_END after the last. */
enum ms_fmt ms_checkpoint_next_range(struct ms_checkpoint_decoder *d,
				     struct ms_checkpoint_range *r);

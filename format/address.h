/* SPDX-License-Identifier: MIT
 * Addresses of blocks (MS_COL_HEAP, MS_COL_ADDRESS), predicted as an allocator would give them out.
 *
 * A block's address is guessed as the one of that size class which this thread freed last, else as
 * the end of the last fresh block, else as where earlier runs of such stopped, else as one that was
 * freed some time ago. The guessing needs the
 * address and size of every block that is freed, which the caller keeps (ms-record's table of live
 * blocks, a reader's array by allocation number).
 *
 * There are two models of that, each with a column of its own: one for any allocator, above, and
 * one that does what glibc's does (heap.h), which is nearly always right. The encoder begins with
 * the latter, and changes over at a block when that does not foresee much.
 *
 * The state lives on from block to block until the encoder resets it, which the column says. A
 * reader that missed an event block knows no address until the next reset, and then all again:
 * frees of blocks allocated before the last reset never enter the state. So an address is right or
 * 0 (unknown), never wrong.
 */
#ifndef MS_FORMAT_ADDRESS_H
#define MS_FORMAT_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "column.h"
#include "event.h"
#include "heap.h"
#include "trace.h"

#define MS_ADDRESS_SLOTS 1024u    /* free lists, by thread and size class */
#define MS_ADDRESS_DEPTH 32u      /* addresses in each */
#define MS_ADDRESS_RUNS 4u        /* ends of earlier runs that a thread may go on from */
#define MS_ADDRESS_HISTORY 65536u /* addresses freed last, of all threads and sizes */
/* The encoder alone has more entries than the history, so that few collide. */
#define MS_ADDRESS_PLACES (MS_ADDRESS_HISTORY * 4)

struct ms_address_list {
	uint32_t top, count;
	uint32_t last; /* place in the history of the address that it last took from there */
	uint64_t address[MS_ADDRESS_DEPTH];
};

/* The state of the guessing. About 800 kB: keep it off the stack. */
struct ms_address_model {
	uint64_t first_number;                 /* of the first allocation after the reset */
	uint64_t fresh[MS_EVENT_THREAD_SLOTS]; /* end of the last fresh block, by thread */
	uint64_t earlier[MS_EVENT_THREAD_SLOTS]
			[MS_ADDRESS_RUNS];      /* what it was before, newest first */
	uint64_t anchor[MS_EVENT_THREAD_SLOTS]; /* end of the last block that needed a distance */
	struct ms_address_list lists[MS_ADDRESS_SLOTS];
	uint32_t freed; /* count of addresses put into the history; the first has place 1 */
	uint64_t history[MS_ADDRESS_HISTORY];
};

/* About 16 MB, of which is touched what the model in use needs. Memory for the column of a block of
 * at most `n` events. */
#define MS_ADDRESS_MEMORY(n) ((size_t)(n)*11 + 32)

struct ms_address_encoder {
	struct ms_address_model m;
	uint32_t place[MS_ADDRESS_PLACES]; /* in the history, by hash of the address */
	uint8_t *memory;
	uint8_t *code, *far; /* ends of the two parts */
	size_t max;
	bool reset;
	bool by_heap; /* this block is written with that model. After init: to begin with another */
	bool sure;    /* after init: the heap is glibc's, so that its model is given up late */
	uint64_t since_reset; /* events */
	uint64_t asked,
		missed; /* allocations since then, and those that the heap did not foresee */
	struct ms_heap heap;
};

/* `memory` of MS_ADDRESS_MEMORY(max_events) bytes is borrowed for the encoder's life. The encoder
 * must be all 0 the first time, so that only what is used of it is touched. */
void ms_address_encoder_init(struct ms_address_encoder *e, void *memory, size_t max_events);
/* Starts a block whose first allocation has that number; `reset` as the first one of a file, and
 * now and then where a reader may start (one that does, or goes on after damage, knows no addresses
 * before a reset). Also resets by itself every million events or so; with the heap's model, every
 * 64 million. */
void ms_address_encoder_begin(struct ms_address_encoder *e, uint64_t first_number, bool reset);
/* Is it time to reset where a reader may start? With the heap's model, which knows nothing then of
 * what is there, not at every place. */
bool ms_address_reset_due(const struct ms_address_encoder *e);
/* Adds the event, with its number set for allocations, in the same order as ms_event_put and for
 * every event. `old_address` and `old_size`: of the block that it frees, if any (0, 0 = none). At
 * most max_events a block. */
void ms_address_put(struct ms_address_encoder *e, const struct ms_event *ev, uint64_t old_address,
		    uint64_t old_size);
/* The same for `n` events, faster. */
void ms_address_put_many(struct ms_address_encoder *e, const struct ms_full_event *v, size_t n);
/* The column of the block; it stays valid until the next begin. */
struct ms_column ms_address_encoder_finish(struct ms_address_encoder *e);

struct ms_address_decoder {
	struct ms_address_model m;
	const uint8_t *code, *code_end, *far, *far_end;
	uint64_t next_event; /* number of the event that comes next, if none is missed */
	bool runs;           /* this block was written with earlier ends */
	bool by_heap;        /* this block was written with the model of the heap */
	bool lost;           /* until the next reset: addresses are unknown */
	struct ms_heap heap;
};

/* The column of a block that has its addresses, or NULL. */
static inline const struct ms_column *ms_address_column(const struct ms_column *c, size_t n)
{
	const struct ms_column *heap = ms_column_find(c, n, MS_COL_HEAP);
	return heap ? heap : ms_column_find(c, n, MS_COL_ADDRESS);
}

/* As the encoder, all 0 the first time. */
void ms_address_decoder_init(struct ms_address_decoder *d);
/* Starts a block; `b` is its event decoder after init, `column` of ms_address_column: NULL = the
 * trace has no addresses. */
void ms_address_decoder_begin(struct ms_address_decoder *d, const struct ms_event_decoder *b,
			      const struct ms_column *column);
/* Call for every event of every event block. Sets ev->address of allocations (0 = unknown);
 * `old_address` and `old_size` are what the caller knows of the block `ev->freed` (0, 0 = nothing
 * known, or the event frees nothing). */
void ms_address_next(struct ms_address_decoder *d, struct ms_event *ev, uint64_t old_address,
		     uint64_t old_size);

#endif

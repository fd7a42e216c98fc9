/* SPDX-License-Identifier: MIT
 * Addresses of blocks in an event block (MS_COL_ADDRESS, ms-record --with=addresses).
 *
 * An address is written as its distance from a guess: where the block was that a realloc releases;
 * else the address of the same thread and size that was freed last; else the end of the thread's
 * block before. Only blocks that were allocated in the same event block count, so that every event
 * block decodes by itself.
 *
 * What early recorders wrote instead (MS_COL_ADDRESS_OLD, MS_COL_HEAP_OLD) is not read: those
 * addresses are unknown.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "column.h"
#include "event.h"

#define MS_ADDRESS_FREED 1024u /* addresses freed last, by thread and size */

/* The state of the guessing, the same in encoder and decoder. */
struct ms_address_model {
	uint64_t first_number; /* of the event block */
	size_t made;           /* its allocations so far */
	struct ms_address_block {
		uint64_t address, size;
	} * blocks; /* those allocations */
	uint64_t end[MS_EVENT_THREAD_SLOTS];
	uint64_t freed[MS_ADDRESS_FREED]; /* 0 = none */
};

struct ms_address_encoder {
	struct ms_address_model m;
	uint8_t *begin, *end; /* of the column */
};

/* Bytes of memory for an event block of `n` events. */
#define MS_ADDRESS_MEMORY(n) ((size_t)(n)*27)
/* The part of that which a decoder needs. */
#define MS_ADDRESS_DECODER_MEMORY(n) ((size_t)(n)*16)

/* `memory` of MS_ADDRESS_MEMORY(max_events) bytes, at a multiple of 8, is borrowed for the
 * encoder's life. */
void ms_address_encoder_init(struct ms_address_encoder *e, void *memory, size_t max_events);
/* Starts an event block whose first allocation has that number. */
void ms_address_encoder_begin(struct ms_address_encoder *e, uint64_t first_number);
/* Adds events, all of the block in order, at most max_events. */
void ms_address_put_many(struct ms_address_encoder *e, const struct ms_event *v, size_t n);
/* The column; it stays valid until the next begin. */
struct ms_column ms_address_encoder_finish(struct ms_address_encoder *e);

struct ms_address_decoder {
	struct ms_address_model m;
	struct ms_cursor from;
};

/* Starts an event block; `b` is its event decoder after init, and `memory` of
 * MS_ADDRESS_DECODER_MEMORY(b->count) bytes is borrowed until the next begin. The column may be
 * hostile, or missing: addresses are unknown then. */
void ms_address_decoder_begin(struct ms_address_decoder *d, const struct ms_event_decoder *b,
			      const struct ms_column *columns, size_t n, void *memory);
/* Call for every event of the block in order. Sets ev->address of allocations; 0 = unknown. */
void ms_address_next(struct ms_address_decoder *d, struct ms_event *ev);

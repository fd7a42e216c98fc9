/* SPDX-License-Identifier: MIT
 * Addresses of blocks in an event block (MS_COL_ADDRESS, ms-record --with=addresses).
 *
 * An address is written as its distance from a guess: the address of the block that a realloc
 * frees; else the address of the same thread and size freed last; else the end of the thread's
 * previous block. The guess uses only blocks allocated in the same event block, so that every event
 * block can be decoded by itself.
 *
 * The columns of early recorders (MS_COL_ADDRESS_OLD, MS_COL_HEAP_OLD) are not read, so the
 * addresses in these traces are unknown.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "column.h"
#include "event.h"

/* number of slots in the table of the addresses freed last, by thread and size */
#define MS_ADDRESS_FREED 1024u

/* Holds the state of address prediction, the same in encoder and decoder. */
struct ms_address_model {
	uint64_t first_number; /* first allocation number of the event block */
	size_t made;           /* number of allocations so far in the event block */
	struct ms_address_block {
		uint64_t address, size;
	} * blocks; /* allocations so far in the event block */
	uint64_t end[MS_EVENT_THREAD_SLOTS];
	uint64_t freed[MS_ADDRESS_FREED]; /* 0 = none */
};

struct ms_address_encoder {
	struct ms_address_model m;
	uint8_t *begin, *end; /* beginning and end of the column */
};

/* Memory in bytes for an event block of `n` events: 16 for an allocation, and 11 for its two
 * varints. */
#define MS_ADDRESS_MEMORY(n) ((size_t)(n)*27)
/* Memory in bytes for a decoder of an event block of `n` events. */
#define MS_ADDRESS_DECODER_MEMORY(n) ((size_t)(n)*16)

/* Initialises an encoder. `memory` of MS_ADDRESS_MEMORY(max_events) bytes, aligned to 8, is
 * borrowed for the encoder's life. */
void ms_address_encoder_init(struct ms_address_encoder *e, void *memory, size_t max_events);
/* Starts an event block; `first_number` is its first allocation number. */
void ms_address_encoder_begin(struct ms_address_encoder *e, uint64_t first_number);
/* Adds events: all events of the block in order, at most max_events. */
void ms_address_put_many(struct ms_address_encoder *e, const struct ms_event *v, size_t n);
/* Returns the column, which is valid until the next begin. */
struct ms_column ms_address_encoder_finish(struct ms_address_encoder *e);

struct ms_address_decoder {
	struct ms_address_model m;
	struct ms_cursor from;
};

/* Starts an event block; `b` is its event decoder after init, and `memory` of
 * MS_ADDRESS_DECODER_MEMORY(b->count) bytes is borrowed until the next begin. The column may be
 * hostile, or missing: then addresses are unknown. */
void ms_address_decoder_begin(struct ms_address_decoder *d, const struct ms_event_decoder *b,
			      const struct ms_column *columns, size_t n, void *memory);
/* Sets ev->address of allocations; 0 = unknown. Call for every event of the block in order. */
void ms_address_next(struct ms_address_decoder *d, struct ms_event *ev);

/* SPDX-License-Identifier: MIT
 * What the draining thread hands to the writing thread: a span of one trace, not yet encoded.
 *
 * Events of one or more batches make a block. Stacks come with the batch that ends a block: they
 * are written ahead of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"
#include "format/event.h"
#include "format/record.h"
#include "format/stacks.h"
#include "ms-record/base/stats.h"

/* Kinds of records; of the first ones each is written as a block of the type that batch_types says. */
#define BATCH_RECORDS 10u
#define BATCH_TYPES 7u
extern const uint16_t batch_types[BATCH_TYPES];

/* Most events in an event block. */
#define BLOCK_EVENTS 131072u
/* A block's events are handed over in batches of so many: few enough that the writing thread finds
 * them in the cache, and that the same memory serves again and again. */
#define BATCH_EVENTS 4096u

struct output;
struct live_list;

struct batch {
	struct batch *next;
	struct output *out;
	/* Written in this order, each kind a block of its own when it is not empty; stacks and events
	 * go ahead of marks. */
	union {
		struct {
			struct ms_record_writer info, modules, threads, samples, losses,
				preexisting, marks, verdicts, resident, end;
		};
		struct ms_record_writer records[BATCH_RECORDS];
	};
	MS_ARRAY(struct ms_frame) frames;
	MS_ARRAY(struct ms_node) nodes;
	uint32_t first_frame, first_node;
	MS_ARRAY(struct ms_event) events;
	uint64_t first_number, first_event;
	/* Somebody wants to know what is live after these events (NULL: nothing ever was); or NULL. */
	void (*on_live)(void *arg, struct live_list *l);
	void *on_live_arg;
	uint64_t first_ns, last_ns;
	struct stats stats; /* of the image, up to and with these events */
	bool ends;          /* the block that its events belong to is whole with them */
	bool close;         /* the last one of its trace */
};

struct batch *batch_new(void);
void batch_free(struct batch *b);
/* Empties a batch and keeps its memory. */
void batch_reset(struct batch *b);
/* True when nothing would be written. */
bool batch_empty(const struct batch *b);

/* Begins a record in `w`, whose memory grows so that fields of `bytes` bytes in all fit (numbers
 * count 16). */
struct ms_record_writer *batch_record(struct ms_record_writer *w, size_t bytes);

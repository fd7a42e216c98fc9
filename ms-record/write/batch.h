/* SPDX-License-Identifier: MIT
 * A batch: a span of one trace, passed unencoded from the draining thread to the writing thread.
 *
 * The events of one or more batches form a block. The batch that ends a block contains the
 * stacks of all its events; they are written ahead of it.
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

/* Kinds of records in a batch. Each of the first BATCH_TYPES kinds is written as a block of the
 * type in batch_types. */
#define BATCH_RECORDS 11u
#define BATCH_TYPES 7u
extern const uint16_t batch_types[BATCH_TYPES];

/* Most events in an event block. */
#define BLOCK_EVENTS 131072u
/* Most events in a batch. The number is small, so that the writing thread finds the events in
 * the cache and the same memory is used again and again. */
#define BATCH_EVENTS 4096u

struct output;
struct live_list;

struct batch {
	struct batch *next;
	struct output *out;
	/* Record kinds in the order in which they are written. Each nonempty kind gets a block of
	 * its own; stacks and events are written before marks. */
	union {
		struct {
			struct ms_record_writer info, modules, threads, samples, losses,
				preexisting, marks, verdicts, resident, retention, end;
		};
		struct ms_record_writer records[BATCH_RECORDS];
	};
	MS_ARRAY(struct ms_frame) frames;
	MS_ARRAY(struct ms_node) nodes;
	uint32_t first_frame, first_node;
	MS_ARRAY(struct ms_event) events;
	uint64_t first_number, first_event;
	/* Optional callback for the live blocks after these events; `l` is NULL if there never were
	 * any blocks. */
	void (*on_live)(void *arg, struct live_list *l);
	void *on_live_arg;
	uint64_t first_ns, last_ns;
	struct stats stats; /* totals of the process up to the last of these events */
	bool checkpoint;    /* a checkpoint is to follow, before the next events */
	bool ends;          /* the open event block ends with these events */
	bool close;         /* the last batch of its trace */
};

struct batch *batch_new(void);
void batch_free(struct batch *b);
/* Empties a batch and keeps its memory. */
void batch_reset(struct batch *b);
/* Tells whether a batch contains nothing to write. */
bool batch_empty(const struct batch *b);

/* Begins a record in `w` and makes room for `bytes` bytes of fields; count 16 bytes per numeric
 * field. */
struct ms_record_writer *batch_record(struct ms_record_writer *w, size_t bytes);

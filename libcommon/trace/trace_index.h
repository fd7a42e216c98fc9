/* SPDX-License-Identifier: MIT
 * The index of a trace: the position of each block, written by the writer, used by readers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/column.h"
#include "format/record.h"

struct ms_err;
struct ms_trace;

#define MS_INDEX_UNKNOWN UINT64_MAX

struct ms_index_entry {
	uint16_t type;   /* MS_BLOCK_* */
	uint32_t number; /* number of the block */
	uint64_t offset, bytes;
	/* Event blocks: tick and number of the first event, number of events. Checkpoints: tick and
	 * number of the next event. Without an index `tick` is the block's time, and `event` and
	 * `events` are MS_INDEX_UNKNOWN. */
	uint64_t tick, event, events;
};

/* ---- writing ---- */

/* Builds the index records of the blocks written so far. Zero it first; free `w.data` at the
 * end. */
struct ms_index_builder {
	struct ms_record_writer w;
	bool too_long; /* would not fit into one block, so no index is written */
};

/* Adds a block that was written. The fields of event blocks and checkpoints are read from their
 * columns. */
void ms_index_add(struct ms_index_builder *b, struct ms_index_entry e,
		  const struct ms_column *columns, size_t n);

/* ---- reading ---- */

struct ms_trace_index {
	struct ms_index_entry *v;
	size_t n, cap;
};

/* Parses the records of an index block that is at `offset` of a file whose first block is at
 * `first`. Returns false if the records do not describe all blocks up to `offset` without gaps. */
bool ms_index_take(struct ms_trace_index *x, const struct ms_column *records, uint64_t first,
		   uint64_t offset);

/* Lists the blocks of a trace opened with ms_trace_sparse. `end`: offset of the end block of a
 * finished trace, whose index is used if there is one; 0 = list the blocks that are complete now.
 * Returns 1; 0 if the file is not as expected, and must be read from its start; -1 with `err` set
 * if I/O failed. */
int ms_trace_find_blocks(struct ms_trace *t, uint64_t end, struct ms_trace_index *x,
			 struct ms_err *err);

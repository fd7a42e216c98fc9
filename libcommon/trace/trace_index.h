/* SPDX-License-Identifier: MIT
 * The index of a trace: where each block is, as the writer notes it and a reader takes it.
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
	uint32_t number; /* of the block */
	uint64_t offset, bytes;
	/* Tick and number of the first event of event blocks, of the next event of checkpoints; and
	 * events in the block. Without an index `tick` comes from the block's time and the others
	 * are MS_INDEX_UNKNOWN. */
	uint64_t tick, event, events;
};

/* ---- writing ---- */

/* The records of the blocks so far. Zero it to begin; free `w.data` at the end. */
struct ms_index_builder {
	struct ms_record_writer w;
	bool too_long; /* it would not fit a block: there will be none */
};

/* Notes a block that was written; what event blocks and checkpoints say besides is read from their
 * columns. */
void ms_index_add(struct ms_index_builder *b, struct ms_index_entry e,
		  const struct ms_column *columns, size_t n);

/* ---- reading ---- */

struct ms_trace_index {
	struct ms_index_entry *v;
	size_t n, cap;
};

/* Takes over the records of an index block at `offset` in its file, whose first block starts at
 * `first`. False when they do not describe a file without gaps up to there. */
bool ms_index_take(struct ms_trace_index *x, const struct ms_column *records, uint64_t first,
		   uint64_t offset);

/* Finds all blocks of a trace that steps over blocks (ms_trace_sparse): one that ended and whose end
 * block is at `end` by its index, else from header to header; where `end` is 0, those that are whole
 * now. 1; 0: something is not as it should be, so that the file is to be read from its start; -1
 * with `err` set: I/O failed. */
int ms_trace_find_blocks(struct ms_trace *t, uint64_t end, struct ms_trace_index *x,
			 struct ms_err *err);

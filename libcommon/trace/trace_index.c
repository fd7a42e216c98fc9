/* SPDX-License-Identifier: MIT
 * Writes the index of a trace as records, and reads it back.
 */
#include "trace_index.h"

#include "libcommon/base/arena.h"
#include "tracefile.h"
#include "format/trace.h"
#include "format/varint.h"

#include <stdlib.h>

#define RECORD_ROOM 96u
/* Largest index in bytes, for about 1.5 million blocks. A longer recording has no index, and
 * readers step from block to block. */
#define LONGEST ((size_t)48 << 20)

/* ---- writing ---- */

void ms_index_add(struct ms_index_builder *b, struct ms_index_entry e,
		  const struct ms_column *columns, size_t n)
{
	/* The head column has the same number in event blocks and checkpoints. */
	struct ms_cursor c = ms_cursor_of(columns, n, MS_COL_HEAD);
	uint64_t head[4];
	bool events = e.type == MS_BLOCK_EVENTS;
	bool known = (events || e.type == MS_BLOCK_CHECKPOINT) && ms_cursor_get_all(&c, head, 4);
	struct ms_record_writer *w = &b->w;
	if (b->too_long)
		return;
	if (w->room - w->size < RECORD_ROOM) {
		w->room = w->room ? w->room * 2 : 4096;
		w->data = ms_xrealloc(w->data, w->room, 1);
	}
	ms_record_begin(w);
	ms_record_number(w, MS_INDEX_TYPE, e.type);
	ms_record_number(w, MS_INDEX_OFFSET, e.offset);
	ms_record_number(w, MS_INDEX_BYTES, e.bytes);
	ms_record_number(w, MS_INDEX_NUMBER, e.number);
	if (known) {
		ms_record_number(w, MS_INDEX_TICK, head[2]);
		ms_record_number(w, MS_INDEX_EVENT, head[events ? 1 : 0]);
	}
	if (known && events)
		ms_record_number(w, MS_INDEX_EVENTS, head[3]);
	ms_record_end(w);
	if (w->size <= LONGEST)
		return;
	b->too_long = true;
	free(w->data);
	*w = (struct ms_record_writer){0};
}

/* ---- reading ---- */

bool ms_index_take(struct ms_trace_index *x, const struct ms_column *records, uint64_t first,
		   uint64_t offset)
{
	struct ms_record_reader r;
	struct ms_record rec;
	struct ms_field f;
	enum ms_fmt rc;
	uint64_t at = first;
	x->n = 0;
	ms_record_reader_init(&r, records->data, records->size);
	while ((rc = ms_record_next(&r, &rec)) == MS_FMT_OK) {
		uint64_t v[] = {
			[MS_INDEX_EVENT] = MS_INDEX_UNKNOWN, [MS_INDEX_EVENTS] = MS_INDEX_UNKNOWN};
		while (ms_record_field(&rec, &f) == MS_FMT_OK)
			if (f.id <= MS_INDEX_EVENTS)
				v[f.id] = f.value;
		if (v[MS_INDEX_TYPE] > UINT16_MAX || v[MS_INDEX_NUMBER] != x->n ||
		    v[MS_INDEX_OFFSET] != at || v[MS_INDEX_BYTES] > offset - at)
			return false;
		*MS_PUSH(x) = (struct ms_index_entry){.type = (uint16_t)v[MS_INDEX_TYPE],
						      .number = (uint32_t)v[MS_INDEX_NUMBER],
						      .offset = at,
						      .bytes = v[MS_INDEX_BYTES],
						      .tick = v[MS_INDEX_TICK],
						      .event = v[MS_INDEX_EVENT],
						      .events = v[MS_INDEX_EVENTS]};
		at += v[MS_INDEX_BYTES];
	}
	return rc == MS_FMT_END && at == offset;
}

/* ---- finding blocks ---- */

/* Returns the record column of the block of type `type` at `offset`, or NULL. */
static const struct ms_column *records_at(struct ms_trace *t, uint64_t offset, unsigned type,
					  struct ms_block *b, struct ms_err *err)
{
	if (!ms_trace_seek(t, offset) ||
	    ms_trace_next(t, UINT64_C(1) << type, 0, b, err) != MS_NEXT_BLOCK ||
	    b->offset != offset)
		return NULL;
	return ms_block_column(b, MS_RECORDS_COLUMN);
}

/* Returns the offset of the index, which the end block records; 0 = none. */
static uint64_t index_offset(const struct ms_column *end)
{
	struct ms_record_reader r;
	struct ms_record rec;
	struct ms_field f;
	uint64_t offset = 0;
	ms_record_reader_init(&r, end->data, end->size);
	while (ms_record_next(&r, &rec) == MS_FMT_OK)
		while (ms_record_field(&rec, &f) == MS_FMT_OK)
			if (f.id == MS_END_INDEX && !f.is_bytes)
				offset = f.value;
	return offset;
}

/* Lists blocks by reading header after header from the present position. `partial`: the last block
 * may be incomplete. */
static int walk(struct ms_trace *t, struct ms_trace_index *x, bool partial, struct ms_err *err)
{
	uint32_t tick_ns = ms_trace_header(t)->tick_ns;
	struct ms_block b;
	enum ms_trace_next rc;
	while ((rc = ms_trace_pass(t, &b, err)) == MS_NEXT_BLOCK) {
		if (b.number != x->n)
			return 0;
		*MS_PUSH(x) = (struct ms_index_entry){.type = b.type,
						      .number = b.number,
						      .offset = b.offset,
						      .bytes = b.bytes,
						      .tick = b.first_ns / tick_ns,
						      .event = MS_INDEX_UNKNOWN,
						      .events = MS_INDEX_UNKNOWN};
	}
	return rc == MS_NEXT_EOF || (partial && rc == MS_NEXT_DAMAGED) ? 1
	       : rc == MS_NEXT_ERROR                                   ? -1
								       : 0;
}

int ms_trace_find_blocks(struct ms_trace *t, uint64_t end, struct ms_trace_index *x,
			 struct ms_err *err)
{
	struct ms_block b;
	const struct ms_column *records = end ? records_at(t, end, MS_BLOCK_END, &b, err) : NULL;
	uint64_t from = records ? index_offset(records) : 0, first = ms_trace_first(t);
	x->n = 0;
	if (end && !records)
		return 0;
	if (from > first && from < end) {
		records = records_at(t, from, MS_BLOCK_INDEX, &b, err);
		if (!records || !ms_index_take(x, records, first, from) || b.number != x->n)
			return 0;
	} else {
		from = first;
	}
	return ms_trace_seek(t, from) ? walk(t, x, !end, err) : 0;
}

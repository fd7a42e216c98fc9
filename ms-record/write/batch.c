/* SPDX-License-Identifier: MIT
 * Makes, empties and frees batches: spans of one trace on their way to the writing thread.
 */
#include "batch.h"

#include <stdlib.h>

#include "format/trace.h"
#include "libcommon/base/arena.h"

const uint16_t batch_types[BATCH_TYPES] = {MS_BLOCK_INFO,    MS_BLOCK_MODULES, MS_BLOCK_THREADS,
					   MS_BLOCK_SAMPLES, MS_BLOCK_LOSSES,  MS_BLOCK_BEFORE,
					   MS_BLOCK_MARKS};

struct batch *batch_new(void)
{
	return ms_xcalloc(1, sizeof(struct batch));
}

void batch_free(struct batch *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < BATCH_RECORDS; i++)
		free(b->records[i].data);
	MS_FREE(b->frames.v, b->nodes.v, b->events.v, b);
}

void batch_reset(struct batch *b)
{
	for (size_t i = 0; i < BATCH_RECORDS; i++)
		ms_record_writer_init(&b->records[i], b->records[i].data, b->records[i].room);
	b->frames.n = b->nodes.n = b->events.n = 0;
	b->ends = b->close = b->checkpoint = false;
	b->on_live = NULL;
	b->next = NULL;
}

bool batch_empty(const struct batch *b)
{
	for (size_t i = 0; i < BATCH_RECORDS; i++)
		if (b->records[i].size)
			return false;
	return !b->on_live && !b->frames.n && !b->nodes.n && !b->events.n && !b->close;
}

struct ms_record_writer *batch_record(struct ms_record_writer *w, size_t bytes)
{
	size_t need = w->size + bytes + 64;
	if (need > w->room) {
		size_t room = need * 2 < 1024 ? 1024 : need * 2;
		w->data = ms_xrealloc(w->data, room, 1);
		w->room = room;
	}
	ms_record_begin(w);
	return w;
}

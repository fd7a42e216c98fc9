/* SPDX-License-Identifier: MIT
 * A span of one trace on its way to the writing thread.
 */
#include "batch.h"

#include <stdlib.h>

#include "libcommon/base/arena.h"

struct batch *batch_new(void)
{
	struct batch *b = ms_xcalloc(1, sizeof *b);
	return b;
}

void batch_free(struct batch *b)
{
	if (!b)
		return;
	struct ms_record_writer *w[] = {&b->info,    &b->modules,  &b->threads,
					&b->samples, &b->losses,   &b->preexisting,
					&b->marks,   &b->verdicts, &b->end};
	for (size_t i = 0; i < sizeof w / sizeof *w; i++)
		free(w[i]->data);
	MS_FREE(b->frames.v, b->nodes.v, b->events.v, b);
}

void batch_reset(struct batch *b)
{
	struct ms_record_writer *w[] = {&b->info,    &b->modules,  &b->threads,
					&b->samples, &b->losses,   &b->preexisting,
					&b->marks,   &b->verdicts, &b->end};
	for (size_t i = 0; i < sizeof w / sizeof *w; i++)
		ms_record_writer_init(w[i], w[i]->data, w[i]->room);
	b->frames.n = b->nodes.n = b->events.n = 0;
	b->ends = b->close = false;
	b->on_live = NULL;
	b->next = NULL;
}

bool batch_empty(const struct batch *b)
{
	return !b->info.size && !b->modules.size && !b->threads.size && !b->samples.size &&
	       !b->losses.size && !b->preexisting.size && !b->marks.size && !b->verdicts.size &&
	       !b->on_live && !b->end.size && !b->frames.n && !b->nodes.n && !b->events.n &&
	       !b->close;
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

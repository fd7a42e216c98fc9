/* SPDX-License-Identifier: MIT
 * The memory that heaps of the program's own cut their blocks from.
 */
#include "replay_backing.h"

#include <stdlib.h>

#include "libcommon/base/arena.h"
#include "replay.h"

#define HEAPS_MOST 4096u /* of a trace that is not good there may be any number */

static struct ms_backing_heap *heap_of(struct ms_backing *b, uint32_t node)
{
	for (size_t i = 0; i < b->heaps.n; i++)
		if (b->heaps.v[i].node == node)
			return &b->heaps.v[i];
	if (b->heaps.n == HEAPS_MOST)
		return &b->heaps.v[0];
	struct ms_backing_heap *h = MS_PUSH(&b->heaps);
	*h = (struct ms_backing_heap){.node = node};
	return h;
}

void ms_backing_event(struct ms_replay *r, const struct ms_event *ev)
{
	if (!r->backing)
		r->backing = ms_xcalloc(1, sizeof *r->backing);
	struct ms_backing_heap *h = heap_of(r->backing, ev->stack < r->node_count ? ev->stack : 0);
	if (ev->ext == MS_EXT_UNBACKING) {
		h->bytes -= ev->size < h->bytes ? ev->size : h->bytes;
		h->blocks -= h->blocks != 0;
		return;
	}
	h->bytes += ev->size;
	h->blocks++;
	h->taken++;
	h->most_bytes = h->bytes > h->most_bytes ? h->bytes : h->most_bytes;
}

void ms_backing_free(struct ms_backing *b)
{
	if (b)
		free(b->heaps.v);
	free(b);
}

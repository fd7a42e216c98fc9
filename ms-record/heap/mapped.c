/* SPDX-License-Identifier: MIT
 * Merges address space: decides which mappings and unmappings go into the trace.
 *
 * The guest sends every successful call and cannot know what lies at an address. Only anonymous
 * memory whose mapping was seen counts: an unmapping must cover some of it, and an mremap must move
 * it.
 */
#include "merge.h"

#include "format/trace.h"
#include "heap.h"
#include "ms-record/session/session.h"

_Static_assert(MG_MAP_BRK == MS_MAP_BRK && MG_MAP_REMAP == MS_MAP_REMAP, "one meaning");

static void emit(struct session *s, const struct reader *r, const struct item *it, uint8_t ext)
{
	struct ms_event *e = merge_emit(s, MS_EV_EXT, r->thread, it->key);
	e->ext = ext;
	e->address = it->address;
	e->size = it->size;
	e->stack = it->stack;
	e->freed = it->extra & (MS_MAP_BRK | MS_MAP_REMAP);
}

/* Removes the range from the known mappings; true = some of it was mapped. */
static bool cut(struct session *s, const struct item *it)
{
	bool some =
		ms_ranges_cut(&s->heap->mapped, it->address, it->address + it->size, NULL, NULL);
	s->stats.mapped_bytes = s->heap->mapped.bytes;
	return some;
}

void mapped_give(struct session *s, struct reader *r, const struct item *it)
{
	bool known = cut(s, it);
	if (it->extra & MG_MAP_REMAP)
		r->remapped = known;
	if (known)
		emit(s, r, it, MS_EXT_UNMAP);
}

void mapped_look(struct session *s, struct reader *r, const struct item *it)
{
	const struct ms_range *found = ms_ranges_find(&s->heap->mapped, it->address);
	r->remapped = found && found->start <= it->address;
}

void mapped_take(struct session *s, struct reader *r, const struct item *it)
{
	bool moved = it->extra & (MG_MAP_REMAP | MAP_SECOND), covers = cut(s, it);
	if (moved && !r->remapped) { /* mremap moved the mapping of a file */
		if (covers)
			emit(s, r, it, MS_EXT_UNMAP);
		return;
	}
	r->remapped = false;
	ms_ranges_add(&s->heap->mapped, it->address, it->address + it->size, it->stack);
	s->stats.maps++;
	s->stats.mapped_bytes = s->heap->mapped.bytes;
	emit(s, r, it, MS_EXT_MAP);
	if (s->heap->mapped.bytes <= s->stats.mapped_peak_bytes)
		return;
	s->stats.mapped_peak_bytes = s->heap->mapped.bytes;
	s->stats.mapped_peak_ns = clock_tick(&s->clock, it->key >> 1) * MS_TRACE_TICK_NS;
}

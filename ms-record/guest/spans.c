/* SPDX-License-Identifier: MIT
 * Implements the hooks for address space that is mapped or unmapped.
 */
#include "record.h"

/* Writes an MG_UNMAP, stamped `before` if the writer holds that stamp; without a stack while
 * paused. */
static void put_unmap(struct mg_writer *t, const uint64_t *frame, uint64_t before,
		      struct mg_span span, uint64_t flags)
{
	struct mg_record r = {.kind = MG_UNMAP,
			      .words = UNMAP_WORDS,
			      .a = span.address,
			      .b = span.bytes,
			      .c = flags,
			      .before = before};
	struct mg_stack s = {0};
	uint64_t stamp = mg_now(t);
	if (mg.free_stacks && !mg_passing()) {
		mg_python_skip(t);
		s = mg_stack_of(t, frame, r.words, &stamp);
	}
	mg_put(t, r, s, stamp);
}

/* Writes an MG_MAP. While paused, writes only an MG_UNMAP of the range that the new mapping
 * replaces. */
static void put_map(struct mg_writer *t, const uint64_t *frame, struct mg_span span, uint64_t flags,
		    uint64_t from)
{
	struct mg_record r = {.kind = MG_MAP,
			      .words = MAP_WORDS,
			      .a = span.address,
			      .b = span.bytes,
			      .c = flags,
			      .d = from};
	if (mg_passing()) {
		if (!mg_waiting())
			put_unmap(t, frame, 0, span, 0);
		return;
	}
	mg_put_with_stack(t, frame, r);
}

void mg_on_map(const uint64_t *frame, struct mg_span span, uint64_t flags, uint64_t from)
{
	struct mg_writer *t = mg_enter(frame);
	if (!t)
		return;
	put_map(t, frame, span, flags, from);
	mg_leave(t);
}

struct mg_writer *mg_unmap_begin(const uint64_t *frame, uint64_t *before)
{
	struct mg_writer *t = mg_enter(frame);
	if (t)
		*before = mg_hold(t);
	return t;
}

void mg_on_cover(const uint64_t *frame, struct mg_span span)
{
	struct mg_writer *t = mg_enter(frame);
	if (!t)
		return;
	if (!mg_waiting())
		put_unmap(t, frame, 0, span, 0);
	mg_leave(t);
}

/* Writes the record that was stamped before the real call, or releases that stamp. */
static void end_unmap(struct mg_writer *t, const uint64_t *frame, uint64_t before,
		      struct mg_span span, uint64_t flags, bool done)
{
	if (done && !mg_waiting()) {
		put_unmap(t, frame, before, span, flags);
		return;
	}
	t->holding = false;
	mg_stamped(t);
}

void mg_unmap_end(struct mg_writer *t, const uint64_t *frame, uint64_t before, struct mg_span span,
		  uint64_t flags, bool done)
{
	if (!t)
		return;
	end_unmap(t, frame, before, span, flags, done);
	mg_leave(t);
}

void mg_remap_end(struct mg_writer *t, const uint64_t *frame, uint64_t before, struct mg_span old,
		  struct mg_span now, bool done)
{
	if (!t)
		return;
	uint64_t flags = mg_passing() ? 0 : MG_MAP_REMAP;
	end_unmap(t, frame, before, old, flags, done);
	if (done)
		put_map(t, frame, now, flags, 0);
	mg_leave(t);
}

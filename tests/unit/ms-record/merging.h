/* SPDX-License-Identifier: MIT
 * For tests of the merge: a session of a few rings, into which items are put, and what is compared with
 * the events that they become. A stamp is a nanosecond.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "ms-record/heap/forks.h"
#include "ms-record/heap/heaps.h"
#include "ms-record/heap/merge.h"
#include "ms-record/heap/sampled.h"
#include "ms-record/code/modules.h"
#include "ms-record/session/hook_spec.h"
#include "ms-record/session/info.h"
#include "ms-record/session/session.h"
#include "ms-record/session/session_options.h"
#include "tests/unit/is.h"

#ifndef RINGS
#define RINGS 3u
#define ITEMS 64u
#endif
#define TICK MS_TRACE_TICK_NS
#define A 0x1000u /* addresses of blocks */
#define B 0x2000u
#define C 0x3000u
#define P 0x9000u /* of a pool */

static struct session_options opt;
static struct hooks hooks;
static struct session *s;
static struct writer writer; /* it has no thread: what is handed over stays in its queue */

static void begin(void)
{
	opt = (struct session_options){.depth = 512};
	s = ms_xcalloc(1, sizeof *s);
	s->opt = &opt;
	s->hooks = &hooks;
	s->tsc_hz = 1000000000;
	clock_start(&s->clock, NULL);
	s->clock.pairs[0] = (struct clock_pair){0, 0};
	s->clock.pairs[1] = (struct clock_pair){UINT32_MAX, UINT32_MAX};
	s->clock.count = 2;
	s->clock.newest = 1;
	writer = (struct writer){.last = &writer.first};
	s->writer = &writer;
	session_batch(s);
	stacks_init(&s->stacks);
	s->who = identity_new();
	merge_begin(s, 1);
	s->rings.readers = ms_xcalloc(RINGS, sizeof *s->rings.readers);
	for (uint32_t i = 0; i < RINGS; i++) {
		struct reader *r = *MS_PUSH(&s->rings.taken) = &s->rings.readers[i];
		r->items = ms_xcalloc(ITEMS + ITEMS_AHEAD, sizeof *r->items);
		r->thread = i;
		*MS_PUSH(&s->threads.all) = (struct thread){.last_number = UINT64_MAX};
	}
}

static void end(void)
{
	for (uint32_t i = 0; i < RINGS; i++)
		free(s->rings.readers[i].items);
	merge_end(s);
	identity_unref(s->who);
	modules_free(&s->modules);
	stacks_free(&s->stacks);
	batch_free(s->open.batch);
	while (writer.first) {
		struct batch *b = writer.first;
		writer.first = b->next;
		batch_free(b);
	}
	MS_FREE(s->rings.readers, s->rings.taken.v, s->threads.all.v, s);
}

static struct item *put(unsigned ring, enum item_kind kind, uint64_t stamp, uint64_t address,
			uint64_t size)
{
	struct reader *r = &s->rings.readers[ring];
	bool takes = kind != ITEM_FREE && kind != ITEM_RELEASE && kind != ITEM_FREE_UNSURE &&
		     kind != ITEM_UNMAP;
	struct item *it = &r->items[r->count++];
	*it = (struct item){
		.key = stamp << 1 | takes, .address = address, .size = size, .kind = (uint8_t)kind};
	return it;
}

/* Puts the two halves of a reallocation: the old block, and the new one. */
static inline void put_realloc(unsigned ring, uint64_t stamp, uint64_t old, uint64_t new,
			       uint64_t size)
{
	uint8_t link = (uint8_t)(s->rings.readers[ring].releases++ % RELEASED);
	put(ring, ITEM_RELEASE, stamp, old, 0)->link = link;
	put(ring, ITEM_REALLOC, stamp + 1, new, size)->link = link;
}

/* A block of the heap with that number, and of the pool at that address. */
static inline struct item *put_heap(unsigned ring, enum item_kind kind, uint64_t stamp,
				    uint64_t address, uint64_t size, uint64_t heap, uint64_t pool)
{
	struct item *it = put(ring, kind, stamp, address | LIVE_USER, size);
	it->extra = heaps_add_detail(s, heap, pool, NULL);
	return it;
}

static inline void put_pool(unsigned ring, uint64_t stamp, uint64_t address, uint64_t step,
			    const char *name)
{
	put(ring, ITEM_POOL, stamp, address, 0)->extra =
		heaps_add_detail(s, step, 0, name ? ms_xstrdup(name) : NULL);
}

static inline uint32_t frame(uint32_t parent, uint64_t address)
{
	return stacks_node(&s->stacks, parent, &(struct ms_frame){.address = address});
}

/* Appends the frames of a stack, innermost first; of a heap's its name. */
static void add_stack(char *to, uint32_t node)
{
	for (; node; node = s->stacks.nodes.v[node - 1].parent) {
		const struct ms_frame *f =
			&s->stacks.frames.v[s->stacks.nodes.v[node - 1].frame - 1];
		if (f->flags & MS_FRAME_HEAP)
			sprintf(to + strlen(to), "/%s", s->modules.all.v[f->module - 1].path);
		else
			sprintf(to + strlen(to), "/%lx", (long)f->address);
	}
}

/* Merges below a stamp, and compares the events since: thread, what, the block that goes, the one
 * that comes = its size. */
static inline void merged(uint64_t limit, const char *what, const char *want)
{
	static const char *const kinds[] = {[MS_EV_ALLOC] = "alloc",
					    [MS_EV_FREE] = "free",
					    [MS_EV_REALLOC] = "realloc",
					    [MS_EV_FREE_UNKNOWN] = "free?",
					    [MS_EV_REALLOC_UNKNOWN] = "realloc?",
					    [MS_EV_FAILED] = "failed",
					    [MS_EV_FREE_INFERRED] = "inferred",
					    [MS_EV_EXT] = "ext"};
	char got[1024] = "";
	s->open.batch->events.n = s->open.left = 0;
	merge_until(s, limit);
	for (size_t i = 0; i < s->open.batch->events.n; i++) {
		const struct ms_event *e = &s->open.batch->events.v[i];
		char *to = got + strlen(got);
		to += sprintf(to, "%s%u %s", i ? ", " : "", e->thread, kinds[e->kind]);
		if (e->kind == MS_EV_EXT)
			to += sprintf(to, "%u", e->ext);
		if (ms_event_releases(e->kind) || (e->kind == MS_EV_EXT && e->freed))
			to += sprintf(to, " %lu", (long)e->freed);
		if (ms_event_allocates(e->kind))
			to += sprintf(to, " %lu=%lu", (long)e->number, (long)e->size);
		else if (e->size)
			to += sprintf(to, " =%lu", (long)e->size);
		if (e->address)
			to += sprintf(to, " @%lx", (long)e->address);
		add_stack(to, e->stack);
	}
	CHECK(!strcmp(got, want), "%s: '%s', not '%s'", what, got, want);
}

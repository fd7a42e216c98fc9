/* SPDX-License-Identifier: MIT
 * Merges the items of all rings, in the order of their stamps, into events of the trace.
 *
 * Per address, allocation and free must alternate. A processor may read the clock before earlier
 * instructions are done: if a thread receives a block from another thread and frees it at once, the
 * free can get an earlier stamp than the allocation. The difference is the time for which the
 * oldest of these instructions waits for memory: nearly always under 0.1 us, but 1.6 us were seen
 * among 200 such frees. The hooks do not wait for such instructions, which would cost a fifth of
 * their time. So before an allocation at a live address counts as a lost free, the merge looks
 * ahead for the free and handles it first; before a free of a dead address counts as unknown, it
 * looks ahead for the allocation and handles the free right after it. That is a repair: the order
 * is right then, however large the difference was.
 */
#include "merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preexisting.h"
#include "format/trace.h"
#include "forks.h"
#include "heap.h"
#include "heaps.h"
#include "libcommon/base/arena.h"
#include "ms-record/session/session_options.h"
#include "sampled.h"
#include "ms-record/session/session.h"
#include "ms-record/session/threads.h"

#define EARLY_NS 10000u /* more than the error of any stamp */
#define LOOK_NS 50000u
#define MARKS_NS UINT64_C(1000000)
#define MARKS_BYTES ((size_t)64 << 10)
#define LOOK_ITEMS 8192u /* items of one ring; no thread writes more within LOOK_NS */

void merge_begin(struct session *s, uint32_t serial)
{
	s->heap = ms_xcalloc(1, sizeof *s->heap);
	live_init(&s->heap->live);
	s->heap->inherited_heap = inherited_heap_new(s, serial);
}

void merge_end(struct session *s)
{
	struct heap *h = s->heap;
	if (!h)
		return;
	heaps_free(h->heaps);
	inherited_heap_unref(h->inherited_heap);
	preexisting_free(h->preexisting);
	live_free(&h->live);
	ms_ranges_free(&h->mapped);
	ignored_free(&h->ignored);
	free(h);
}

/* Converts `ns` to a distance of stamps near the stamp `at`. */
static uint64_t stamps_of(const struct session *s, uint64_t ns, uint64_t at)
{
	/* A shared counter gives the exact order: no stamp is early. */
	return at < s->clock.counted ? (uint64_t)((double)ns * (double)s->tsc_hz / 1e9) : 0;
}

uint64_t merge_lookahead(const struct session *s)
{
	return s->clock.tsc ? stamps_of(s, LOOK_NS, 0) : 0;
}

/* ---- events ---- */

/* Keeps the merge's hot path inline. */
inline struct ms_event *merge_emit(struct session *s, uint8_t kind, uint32_t thread, uint64_t key)
{
	if (s->open.left == 0)
		session_room(s, 1);
	s->open.left--;
	struct batch *b = s->open.batch;
	struct ms_event *e = &b->events.v[b->events.n++];
	uint32_t labelled = s->threads.all.v[thread].labelled;
	*e = (struct ms_event){.kind = kind,
			       .thread = labelled ? labelled - 1 : thread,
			       .time_ticks = clock_tick(&s->clock, key >> 1)};
	s->stats.events++;
	return e;
}

/* Returns the address of a block for an event, or 0 if addresses are not wanted. */
static inline uint64_t shown_address(const struct session *s, uint64_t address)
{
	return s->opt->addresses ? address & ~LIVE_USER : 0;
}

static inline void count_freed(struct session *s, uint64_t number, uint64_t size)
{
	if (s->opt->sample_bytes) {
		sampled_freed(&s->stats, s->opt->sample_bytes, number, size);
		return;
	}
	s->stats.live_bytes -= size;
	s->stats.live_blocks--;
}

/* Counts the event's thread as the one that frees the block. */
static inline void bind_freed(struct session *s, struct ms_event *e, uint64_t number, uint64_t size)
{
	e->freed = number;
	count_freed(s, number, size);
	s->stats.frees++;
	s->stats.temporary += s->threads.all.v[e->thread].last_number == number;
}

/* Writes an event about the block that the next event frees, if that was allocated before the
 * recording: MS_EXT_INHERITED or _BEFORE. Returns the event, to be completed. */
static struct ms_event *explain(struct session *s, uint32_t thread, uint64_t key, uint8_t ext,
				uint64_t size)
{
	session_room(s, 2);
	struct ms_event *e = merge_emit(s, MS_EV_EXT, thread, key);
	e->ext = ext;
	e->size = size;
	return e;
}

static void explain_inherited(struct session *s, uint32_t thread, uint64_t key,
			      const struct live_block *was)
{
	struct ms_event *e = explain(s, thread, key, MS_EXT_INHERITED, was->size);
	e->freed = was->number;
	e->address = shown_address(s, was->address);
	s->stats.inherited_frees++;
}

static void explain_preexisting(struct session *s, uint32_t thread, uint64_t key, uint64_t size)
{
	explain(s, thread, key, MS_EXT_BEFORE, size);
	s->stats.preexisting_frees++;
}

/* Removes a live block from the table and stores it in *b. Returns false if there is none. */
static inline bool take_block(struct session *s, uint64_t address, struct live_block *b)
{
	struct heap *h = s->heap;
	if (!live_take(&h->live, address, b))
		return false;
	if (h->logging)
		forks_log(h, FORK_TAKEN, b);
	return true;
}

static void unknown_free(struct session *s, uint32_t thread, const struct item *it)
{
	struct ms_event *e = merge_emit(s, MS_EV_FREE_UNKNOWN, thread, it->key);
	e->address = shown_address(s, it->address);
	e->stack = it->stack;
}

/* Records the free of a block that is not live. If the block was allocated before the
 * attachment, first writes an event that says that. */
static __attribute__((noinline)) void free_unknown(struct session *s, uint32_t thread,
						   const struct item *it)
{
	struct preexisting *b = s->heap->preexisting;
	struct live_block was;
	bool known = b && preexisting_freed(b, it->address, &was);
	if (known)
		explain_preexisting(s, thread, it->key, was.size);
	unknown_free(s, thread, it);
	s->stats.unknown_frees += !known;
}

static bool free_inherited(struct session *s, uint32_t thread, const struct item *it)
{
	struct live_block b;
	if (!s->forked || !forks_take(s, it->address, &b))
		return false;
	explain_inherited(s, thread, it->key, &b);
	unknown_free(s, thread, it);
	return true;
}

static inline bool free_live(struct session *s, uint32_t thread, const struct item *it)
{
	struct live_block b;
	if (!take_block(s, it->address, &b))
		return false;
	struct ms_event *e = merge_emit(s, MS_EV_FREE, thread, it->key);
	e->stack = it->stack;
	bind_freed(s, e, b.number, b.size);
	return true;
}

/* ---- repair ---- */

/* Returns how far ahead, in stamps, to look for an event that was stamped too late. In an
 * attached process, events are lost whenever a ring is full, so an event further away than the
 * error of a stamp belongs to another block. */
static uint64_t reach(const struct session *s, uint64_t stamp)
{
	return stamps_of(s, s->heap->preexisting ? EARLY_NS : LOOK_NS, stamp);
}

/* Returns the first free (`frees`) or allocation at `address` within reach after `key` in a ring
 * other than `own`; NULL = none. Items of `own` itself are in the right order. */
static struct item *look_ahead(struct session *s, const struct reader *own, uint64_t address,
			       bool frees, uint64_t key, struct reader **whose)
{
	uint64_t last = key + (reach(s, key >> 1) << 1);
	struct item *found = NULL;
	for (size_t i = 0; i < s->rings.taken.n; i++) {
		struct reader *r = s->rings.taken.v[i];
		if (r == own)
			continue;
		size_t end = r->count - r->first < LOOK_ITEMS ? r->count : r->first + LOOK_ITEMS;
		for (size_t k = r->first; k < end && r->items[k].key <= last; k++) {
			struct item *it = &r->items[k];
			bool is_free = it->kind == ITEM_FREE || it->kind == ITEM_RELEASE;
			bool is_alloc = it->kind == ITEM_ALLOC || it->kind == ITEM_REALLOC ||
					it->kind == ITEM_HEAP_ALLOC ||
					it->kind == ITEM_HEAP_REALLOC;
			if (it->address != address || !(is_free || is_alloc))
				continue;
			if (is_free == frees && (!found || it->key < found->key)) {
				found = it;
				*whose = r;
			}
			break;
		}
	}
	return found;
}

static void take_release(struct session *s, struct reader *r, const struct item *it)
{
	struct released *rel = &r->released[it->link];
	struct live_block b = {0};
	bool found = take_block(s, it->address, &b);
	bool inherited = !found && s->forked && forks_take(s, it->address, &b);
	bool backing = !found && !inherited && heaps_give(s, r, it, true);
	*rel = (struct released){b.number, b.address, b.size, found, inherited, backing, false};
}

/* Handles a free that may have been stamped too early, of a block that is not live: looks for a
 * later allocation in another ring, and if there is one, has the free (`after`: AFTER_* and its
 * thread) handled right after it. Returns false if there is none. */
static bool wait_for_block(struct session *s, const struct reader *own, const struct item *it,
			   uint32_t after)
{
	struct reader *other;
	/* If no allocation was ever recorded at the address, the freed block was allocated
	 * before the attachment, and an allocation there soon after is another block. */
	if (s->heap->preexisting && !preexisting_seen(s->heap->preexisting, it->address))
		return false;
	struct item *a = look_ahead(s, own, it->address, false, it->key, &other);
	if (!a || a->after)
		return false;
	s->stats.repairs++;
	a->after = after;
	return true;
}

static void do_release(struct session *s, struct reader *r, const struct item *it)
{
	take_release(s, r, it);
	struct released *rel = &r->released[it->link];
	struct live_block was = {0};
	if (rel->found || rel->inherited || rel->backing ||
	    wait_for_block(s, r, it,
			   AFTER_RELEASE | (uint32_t)(r - s->rings.readers) * RELEASED | it->link))
		return;
	rel->preexisting =
		s->heap->preexisting && preexisting_freed(s->heap->preexisting, it->address, &was);
	rel->size = was.size;
}

/* Frees the live block at the address of a new one: by the block's own free, which was stamped
 * too late, or else by an inferred free, because its own was lost. */
static void make_way(struct session *s, const struct reader *own, const struct item *it)
{
	struct reader *r;
	struct item *f = look_ahead(s, own, it->address, true, it->key, &r);
	if (f) {
		s->stats.repairs++;
		f->key = it->key;
		if (f->kind == ITEM_FREE)
			free_live(s, r->thread, f);
		else
			take_release(s, r, f);
		f->kind = ITEM_DONE;
		return;
	}
	struct live_block b;
	if (!take_block(s, it->address, &b))
		return;
	struct ms_event *e = merge_emit(s, MS_EV_FREE_INFERRED, own->thread, it->key);
	e->freed = b.number;
	count_freed(s, b.number, b.size);
	s->stats.inferred_frees++;
}

/* ---- one item ---- */

/* Adds the new block to the table, after ending any live block at its address. */
static inline void place(struct session *s, const struct reader *r, const struct item *it)
{
	struct live_block b = {.address = it->address, .number = s->number, .size = it->size};
	struct heap *h = s->heap;
	if (!live_add(&h->live, &b)) {
		make_way(s, r, it);
		live_add(&h->live, &b);
	}
	if (h->logging)
		forks_log(h, FORK_MADE, &b);
	if (__builtin_expect(h->preexisting != NULL, 0))
		preexisting_made(h->preexisting, it->address);
}

static inline void bind_block(struct session *s, struct ms_event *e, const struct item *it)
{
	struct stats *st = &s->stats;
	e->number = s->number;
	e->size = it->size;
	e->stack = it->stack;
	e->slack = it->extra;
	e->address = shown_address(s, it->address);
	s->threads.all.v[e->thread].last_number = s->number++;
	st->allocations++;
	if (s->opt->sample_bytes) {
		sampled_made(st, s->opt->sample_bytes, e->number, it->size);
	} else {
		st->allocated_bytes += it->size;
		st->live_blocks++;
		st->live_bytes += it->size;
	}
	if (st->live_bytes > st->peak_bytes) {
		sampled_peak(st);
		st->peak_bytes = st->live_bytes;
		st->peak_blocks = st->live_blocks;
		st->peak_ns = e->time_ticks * MS_TRACE_TICK_NS;
	}
}

static inline void do_alloc(struct session *s, struct reader *r, const struct item *it)
{
	place(s, r, it);
	bind_block(s, merge_emit(s, MS_EV_ALLOC, r->thread, it->key), it);
}

static void do_realloc(struct session *s, struct reader *r, const struct item *it)
{
	place(s, r, it);
	const struct released *old = &r->released[it->link];
	if (old->inherited) {
		struct live_block was = {
			.address = old->address, .number = old->number, .size = old->size};
		explain_inherited(s, r->thread, it->key, &was);
	}
	if (old->preexisting)
		explain_preexisting(s, r->thread, it->key, old->size);
	struct ms_event *e = merge_emit(s,
					old->found     ? MS_EV_REALLOC
					: old->backing ? MS_EV_ALLOC
						       : MS_EV_REALLOC_UNKNOWN,
					r->thread, it->key);
	if (old->found) {
		bind_freed(s, e, old->number, old->size);
	} else if (!old->inherited && !old->backing && !old->preexisting) {
		s->stats.unknown_frees++;
	}
	s->stats.reallocs += !old->backing;
	bind_block(s, e, it);
}

static inline void do_free(struct session *s, struct reader *r, const struct item *it)
{
	if (!free_live(s, r->thread, it) && !free_inherited(s, r->thread, it) &&
	    !heaps_give(s, r, it, true) && !wait_for_block(s, r, it, AFTER_FREE | r->thread))
		free_unknown(s, r->thread, it);
}

/* Handles a free while sampling: most likely the block was not recorded. */
static void do_free_unsure(struct session *s, struct reader *r, const struct item *it)
{
	if (!free_live(s, r->thread, it) && !free_inherited(s, r->thread, it))
		heaps_give(s, r, it, false);
}

/* Tells whether the event block ends at a mark, so that readers find a block's start there, and a
 * trace that is followed shows the mark at once. Marks in quick succession share a block. */
static bool ends_block(const struct session *s, uint64_t ns, bool outside, size_t bytes)
{
	return outside || !s->marked_ns || ns >= s->marked_ns + MARKS_NS || bytes > MARKS_BYTES;
}

void merge_mark(struct session *s, const char *name, uint64_t ns, uint32_t thread)
{
	struct ms_record_writer *w = batch_record(&session_batch(s)->marks, strlen(name) + 80);
	/* A reading of the clock between two marks may move back what stamps stand for. */
	ns = s->mark_ns = ns < s->mark_ns ? s->mark_ns : ns;
	ms_record_number(w, MS_MARK_TIME, ns);
	ms_record_string(w, MS_MARK_NAME, name);
	ms_record_number(w, MS_MARK_EVENT, s->stats.events);
	ms_record_number(w, MS_MARK_THREAD, thread);
	ms_record_end(w);
	if (ends_block(s, ns, !thread, w->size)) {
		s->marked_ns = ns;
		session_flush(s);
	}
	pause_mark(s, name, ns);
	s->leak_mark_due |= s->opt->leak_mark && !strcmp(s->opt->leak_mark, name);
}

/* Notes a moment for the scan. Of several, the one for which the guest holds a thread counts. */
static void note_moment(struct session *s, uint32_t number, const char *name)
{
	uint32_t held = __atomic_load_n(&s->mem->moment, __ATOMIC_ACQUIRE) & ~MG_MOMENT_NAP;
	if (s->moment_due && held != (number & ~MG_MOMENT_EXIT))
		return;
	s->moment_due = number;
	snprintf(s->moment_name, sizeof s->moment_name, "%s", name);
}

static void do_mark(struct session *s, struct reader *r, const struct item *it)
{
	char *name = (char *)(uintptr_t)it->size;
	if (!(it->extra & MG_MOMENT_EXIT))
		merge_mark(s, name, clock_ns(&s->clock, it->key >> 1), r->thread + 1);
	if (it->extra)
		note_moment(s, it->extra, name);
	free(name);
}

static void do_label(struct session *s, struct reader *r, const struct item *it)
{
	threads_label(s, r->thread, (char *)(uintptr_t)it->size, it->extra);
}

static void do_failed(struct session *s, struct reader *r, const struct item *it)
{
	struct ms_event *e = merge_emit(s, MS_EV_FAILED, r->thread, it->key);
	e->size = it->size;
	e->stack = it->stack;
	s->stats.failed++;
}

/* Handles the free, or a realloc's release, that was stamped too early and waited for this
 * allocation. */
static void do_after(struct session *s, const struct item *it)
{
	uint32_t who = it->after & ~(AFTER_FREE | AFTER_RELEASE);
	struct item f = {.key = it->key, .address = it->address, .link = who % RELEASED};
	if (it->after & AFTER_FREE)
		free_live(s, who, &f);
	else
		take_release(s, &s->rings.readers[who / RELEASED], &f);
}

void merge_free(struct session *s, struct reader *r, const struct item *it, uint64_t address)
{
	free_live(s, r->thread, &(struct item){.key = it->key, .address = address});
}

void merge_make_way(struct session *s, const struct reader *r, const struct item *it)
{
	struct live_block b;
	if (live_find(&s->heap->live, it->address, &b))
		make_way(s, r, it);
}

/* Handles a block of a custom heap. */
static void do_heap_block(struct session *s, struct reader *r, const struct item *it)
{
	struct item plain = *it;
	uint64_t pool = heaps_place(s, &plain);
	if (it->kind == ITEM_HEAP_FAILED) {
		do_failed(s, r, &plain);
		return;
	}
	if (plain.kind == ITEM_REALLOC)
		do_realloc(s, r, &plain);
	else
		do_alloc(s, r, &plain);
	heaps_join(s, pool, it->address, s->number - 1);
}

static void do_fork(struct session *s, struct reader *r, const struct item *it)
{
	(void)r;
	forks_point(s, it->key >> 1);
}

static void do_pause(struct session *s, struct reader *r, const struct item *it)
{
	(void)r;
	session_flush(s); /* lost events get a time span of their own */
	pause_user(s, it->size, clock_ns(&s->clock, it->key >> 1));
}

/* Ignores the block at the address, but no block allocated later. */
static void do_ignore(struct session *s, struct reader *r, const struct item *it)
{
	(void)r;
	ignored_add(&s->heap->ignored, it->address, s->number);
}

static void process(struct session *s, struct reader *r, const struct item *it)
{
	static void (*const by_kind[])(struct session *, struct reader *, const struct item *) = {
		[ITEM_ALLOC] = do_alloc,
		[ITEM_REALLOC] = do_realloc,
		[ITEM_FREE] = do_free,
		[ITEM_FREE_UNSURE] = do_free_unsure,
		[ITEM_RELEASE] = do_release,
		[ITEM_FAILED] = do_failed,
		[ITEM_MARK] = do_mark,
		[ITEM_LABEL] = do_label,
		[ITEM_MAP] = mapped_take,
		[ITEM_UNMAP] = mapped_give,
		[ITEM_LOOK] = mapped_look,
		[ITEM_FORK] = do_fork,
		[ITEM_PAUSE] = do_pause,
		[ITEM_IGNORE] = do_ignore,
		[ITEM_HEAP_ALLOC] = do_heap_block,
		[ITEM_HEAP_REALLOC] = do_heap_block,
		[ITEM_HEAP_FAILED] = do_heap_block,
		[ITEM_BACKING] = heaps_backing,
		[ITEM_POOL] = heaps_pool,
	};
	if (it->kind == ITEM_DONE)
		return;
	by_kind[it->kind](s, r, it);
	if (it->after)
		do_after(s, it);
}

/* ---- the merge ---- */

struct heap_run {
	uint64_t key;
	struct reader *r;
};

static void sift_down(struct heap_run *h, size_t n, size_t i)
{
	for (size_t c; (c = 2 * i + 1) < n; i = c) {
		if (c + 1 < n && h[c + 1].key < h[c].key)
			c++;
		if (h[i].key <= h[c].key)
			return;
		struct heap_run t = h[i];
		h[i] = h[c];
		h[c] = t;
	}
}

/* Handles the items of one ring up to the key `until`. */
static void take_run(struct session *s, struct reader *r, uint64_t until)
{
	const struct live_table *live = &s->heap->live;
	for (; r->first < r->count; r->first++) {
		const struct item *it = &r->items[r->first];
		if (it->key > until)
			break;
		/* prefetches for the item ITEMS_AHEAD positions later */
		live_prefetch(live, it[ITEMS_AHEAD].address);
		if (it->kind == ITEM_ALLOC && !it->after)
			do_alloc(s, r, it);
		else if (it->kind == ITEM_FREE)
			do_free(s, r, it);
		else
			process(s, r, it);
		s->merged_key = it->key;
	}
}

void merge_forks(struct session *s, uint64_t limit)
{
	uint64_t stamp;
	while (forks_asked(s, limit, &stamp)) {
		merge_until(s, stamp);
		forks_point(s, stamp);
	}
}

void merge_until(struct session *s, uint64_t limit)
{
	uint64_t end = limit == UINT64_MAX ? UINT64_MAX : (limit << 1) - 1;
	struct heap_run *heap = ms_xrealloc(NULL, s->rings.taken.n + 1, sizeof *heap);
	size_t n = 0;
	for (size_t i = 0; i < s->rings.taken.n; i++) {
		struct reader *r = s->rings.taken.v[i];
		if (r->first < r->count && r->items[r->first].key <= end)
			heap[n++] = (struct heap_run){r->items[r->first].key, r};
	}
	for (size_t i = n / 2; i-- > 0;)
		sift_down(heap, n, i);
	while (n) {
		struct reader *r = heap[0].r;
		uint64_t until = end;
		for (size_t c = 1; c < n && c < 3; c++)
			until = heap[c].key < until ? heap[c].key : until;
		take_run(s, r, until);
		if (r->first < r->count && r->items[r->first].key <= end)
			heap[0].key = r->items[r->first].key;
		else
			heap[0] = heap[--n];
		sift_down(heap, n, 0);
	}
	free(heap);
}

/* SPDX-License-Identifier: MIT
 * Tracks blocks from before the attachment.
 *
 *   time  ----+-------------------+------------------+------------>
 *           hooks      walk        its end            merged so far
 *
 * The hooks are in place before the walk begins, so for every block that it finds it is known
 * whether the block was allocated since: `touched` has the addresses of all allocations, until
 * everything up to the end of the walk is merged. A block that the walk found at an address not in
 * `touched` is from before. So is a block that was freed meanwhile without a recorded allocation:
 * `early`.
 *
 * If the heap is not glibc's, nothing is walked; a freed block without a recorded allocation is
 * still one from before.
 */
#include "preexisting.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/event.h"
#include "format/trace.h"
#include "heapwalk.h"
#include "ms-record/base/timed.h"
#include "ms-record/ptrace/hijack.h"
#include "libcommon/base/arena.h"
#include "heap.h"
#include "merge.h"
#include "ms-record/session/session_options.h"
#include "ms-record/session/session.h"

#define FILTER_BITS 23u
#define WALK_NS UINT64_C(30000000000)
#define TOUCHED_MOST ((size_t)16 << 20)
#define CLASSES 65u
#define TPS_MOST 1024u

struct preexisting {
	struct preexisting_counts counts;
	uint64_t *filter; /* hashed addresses of all allocations */
	struct live_table touched, blocks;
	MS_ARRAY(uint64_t) early;
	uint64_t unsized; /* number of early blocks of unknown size */
	uint64_t class_blocks[CLASSES], class_bytes[CLASSES];

	/* used by the walk's thread only, until `done` */
	pthread_t thread;
	bool started;
	int stop, done; /* atomic */
	uint64_t end_stamp;
	uint64_t tps[TPS_MOST];
	uint32_t tp_count;
	pid_t pid;
	int proc;
	const struct clock *clock;
	struct heapwalk walk;

	bool written; /* atomic: the result is in the trace */
};

/* ---- the walk ---- */

static bool read_memory(void *arg, uint64_t address, void *to, size_t bytes)
{
	const struct preexisting *b = arg;
	return timed_read(b->pid, -1, address, to, bytes);
}

static void *run(void *arg)
{
	struct preexisting *b = arg;
	uint64_t begin = clock_mono();
	struct heapwalk_from from = {.memory = {read_memory, b},
				     .proc = b->proc,
				     .tps = b->tps,
				     .tp_count = b->tp_count,
				     .deadline_ns = begin + WALK_NS,
				     .stop = &b->stop};
	heapwalk(&b->walk, &from);
	if (timed_waits(b->pid) && b->walk.state != MS_BEFORE_WHOLE)
		snprintf(b->walk.why, sizeof b->walk.why,
			 "pages of the heap were not delivered in time (by userfaultfd or a file "
			 "system)");
	b->counts.took_ns = clock_mono() - begin;
	b->end_stamp = clock_stamp(b->clock);
	__atomic_store_n(&b->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void set_state(struct preexisting *b, enum ms_before_state state, const char *why)
{
	b->counts.state = state;
	snprintf(b->counts.why, sizeof b->counts.why, "%s", why);
}

void preexisting_begin(struct session *s, const struct hijack *h, bool walk, const uint64_t *tps,
		       uint32_t tp_count)
{
	struct preexisting *b = ms_xcalloc(1, sizeof *b);
	b->filter = ms_xcalloc((size_t)1 << (FILTER_BITS - 6), sizeof *b->filter);
	b->pid = h->pid;
	b->proc = dup(h->proc);
	b->clock = &s->clock;
	live_init(&b->touched);
	live_init(&b->blocks);
	b->tp_count = tp_count < TPS_MOST ? tp_count : TPS_MOST;
	memcpy(b->tps, tps, b->tp_count * sizeof *tps);
	s->heap->preexisting = b;
	const char *why = !walk                  ? "the process's allocator is not glibc's"
			  : s->opt->sample_bytes ? "the heap is not walked while sampling"
			  : s->opt->begins_later ? "recording begins later"
						 : NULL;
	b->started = !why && b->proc >= 0 && !pthread_create(&b->thread, NULL, run, b);
	if (b->started)
		return;
	set_state(b, MS_BEFORE_UNKNOWN, why ? why : "no thread could be started to walk the heap");
}

void preexisting_free(struct preexisting *b)
{
	if (!b)
		return;
	__atomic_store_n(&b->stop, 1, __ATOMIC_RELAXED);
	if (b->started)
		pthread_join(b->thread, NULL);
	if (b->proc >= 0)
		close(b->proc);
	heapwalk_free(&b->walk);
	live_free(&b->touched);
	live_free(&b->blocks);
	MS_FREE(b->early.v, b->filter, b);
}

struct preexisting_counts preexisting_counts(const struct preexisting *b)
{
	return b->counts;
}

bool preexisting_ready(const struct preexisting *b)
{
	return !b || __atomic_load_n(&b->written, __ATOMIC_ACQUIRE);
}

void preexisting_each(const struct preexisting *b,
		      void (*f)(void *arg, const struct live_block *block), void *arg)
{
	if (b && b->written)
		live_each(&b->blocks, f, arg);
}

/* ---- allocations and frees ---- */

static uint64_t bit_of(uint64_t address)
{
	return (address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - FILTER_BITS);
}

bool preexisting_seen(const struct preexisting *b, uint64_t address)
{
	uint64_t bit = bit_of(address);
	return b->filter[bit / 64] >> (bit % 64) & 1;
}

/* Removes a freed block that was allocated before the attachment, and counts its free. Returns
 * false if there is no such block. */
static bool take_one(struct preexisting *b, uint64_t address, struct live_block *was)
{
	if (!live_take(&b->blocks, address, was))
		return false;
	b->counts.frees++;
	b->counts.freed_bytes += was->size;
	return true;
}

void preexisting_made(struct preexisting *b, uint64_t address)
{
	uint64_t bit = bit_of(address);
	struct live_block was;
	b->filter[bit / 64] |= UINT64_C(1) << (bit % 64);
	if (b->counts.state == PREEXISTING_LOOKING && b->touched.count < TOUCHED_MOST)
		live_add(&b->touched, &(struct live_block){.address = address});
	else if (b->blocks.count)
		take_one(b, address, &was); /* the block was freed, but the event of its free was
					       lost */
}

bool preexisting_freed(struct preexisting *b, uint64_t address, struct live_block *was)
{
	if (b->counts.state != PREEXISTING_LOOKING)
		return take_one(b, address, was);
	*MS_PUSH(&b->early) = address;
	return false;
}

/* ---- the result ---- */

static unsigned class_of(uint64_t bytes)
{
	return bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;
}

static void count(struct preexisting *b, uint64_t bytes)
{
	b->counts.blocks++;
	b->counts.bytes += bytes;
	b->counts.largest = bytes > b->counts.largest ? bytes : b->counts.largest;
	b->class_blocks[class_of(bytes)]++;
	b->class_bytes[class_of(bytes)] += bytes;
}

static void take_walk(struct preexisting *b)
{
	struct live_block there;
	for (size_t i = 0; i < b->walk.used.n; i++) {
		const struct heapwalk_block *w = &b->walk.used.v[i];
		struct live_block n = {.address = w->address, .size = w->bytes};
		if (live_find(&b->touched, w->address, &there) || !live_add(&b->blocks, &n))
			continue;
		count(b, w->bytes);
	}
}

/* Corrects a free that was written as that of an unknown block: the block was allocated before
 * the attachment. */
static void explain(struct session *s, uint64_t size)
{
	struct ms_event *e = merge_emit(s, MS_EV_EXT, 0, s->merged_key);
	e->ext = MS_EXT_BEFORE;
	e->size = size;
	e->freed = MS_BEFORE_EARLIER;
	s->stats.preexisting_frees++;
	s->stats.unknown_frees -= s->stats.unknown_frees != 0;
}

static void take_early(struct session *s, struct preexisting *b)
{
	struct live_table cached;
	live_init(&cached);
	/* Blocks freed meanwhile may now be in a cache, which shows their sizes. */
	for (size_t i = 0; i < b->walk.cached.n; i++) {
		const struct heapwalk_block *w = &b->walk.cached.v[i];
		live_add(&cached, &(struct live_block){.address = w->address, .size = w->bytes});
	}
	for (size_t i = 0; i < b->early.n; i++) {
		struct live_block was = {0}, ignored;
		uint64_t at = b->early.v[i];
		bool known = live_take(&b->blocks, at, &was);
		if (!known) {
			/* The block was freed before the walk reached it; the address may hold
			 * another block now. */
			if (!live_find(&b->touched, at, &ignored))
				live_take(&cached, at, &was);
			b->unsized += !was.size;
			count(b, was.size);
		}
		b->counts.frees++;
		b->counts.freed_bytes += was.size;
		explain(s, was.size);
	}
	b->early.n = 0;
	live_free(&cached);
}

static void write_head(const struct preexisting_counts *c, struct ms_record_writer *to, uint64_t ns)
{
	struct ms_record_writer *w = batch_record(to, 6 * 16 + sizeof c->why);
	ms_record_number(w, MS_BEFORE_TIME, ns);
	ms_record_number(w, MS_BEFORE_STATE, c->state);
	if (c->why[0])
		ms_record_string(w, MS_BEFORE_WHY, c->why);
	if (c->state != MS_BEFORE_UNKNOWN) {
		ms_record_number(w, MS_BEFORE_BLOCKS, c->blocks);
		ms_record_number(w, MS_BEFORE_BYTES, c->bytes);
		ms_record_number(w, MS_BEFORE_LARGEST, c->largest);
	}
	ms_record_end(w);
}

static void write_counts(struct session *s, const struct preexisting *b)
{
	struct ms_record_writer *to = &session_batch(s)->preexisting;
	write_head(&b->counts, to, session_now(s));
	for (unsigned i = 0; i < CLASSES; i++) {
		if (!b->class_blocks[i])
			continue;
		struct ms_record_writer *w = batch_record(to, 64);
		ms_record_number(w, MS_BEFORE_BLOCKS, b->class_blocks[i]);
		ms_record_number(w, MS_BEFORE_BYTES, b->class_bytes[i]);
		ms_record_number(w, MS_BEFORE_CLASS, i);
		ms_record_end(w);
	}
}

/* Notes which part of the result is missing although the walk was complete. */
static void judge(const struct session *s, struct preexisting *b)
{
	if (b->counts.state != MS_BEFORE_WHOLE || (!b->unsized && !s->stats.lost))
		return;
	set_state(b, MS_BEFORE_PART, "events were lost while the heap was walked");
	if (!s->stats.lost)
		snprintf(b->counts.why, sizeof b->counts.why,
			 "the sizes of %llu blocks that were freed meanwhile are unknown",
			 (unsigned long long)b->unsized);
}

static void settle(struct session *s, struct preexisting *b)
{
	set_state(b, b->walk.state, b->walk.why);
	if (b->touched.count >= TOUCHED_MOST)
		set_state(b, MS_BEFORE_UNKNOWN,
			  "too many blocks were allocated while the heap was walked");
	if (b->counts.state != MS_BEFORE_UNKNOWN) {
		take_walk(b);
		take_early(s, b);
		judge(s, b);
	}
	heapwalk_free(&b->walk);
	live_free(&b->touched);
	live_init(&b->touched);
}

void preexisting_look(struct session *s, bool end)
{
	struct preexisting *b = s->heap->preexisting;
	if (!b || b->written)
		return;
	if (b->counts.state == PREEXISTING_LOOKING) {
		if (end)
			__atomic_store_n(&b->stop, 1, __ATOMIC_RELAXED);
		if (end && b->started) {
			pthread_join(b->thread, NULL);
			b->started = false;
		}
		if (!__atomic_load_n(&b->done, __ATOMIC_ACQUIRE) ||
		    (!end && s->merged_to < b->end_stamp))
			return;
		settle(s, b);
	}
	__atomic_store_n(&b->written, true, __ATOMIC_RELEASE);
	write_counts(s, b);
}

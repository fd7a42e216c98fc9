/* SPDX-License-Identifier: MIT
 * What forked children inherit, against a model: random blocks come and go in a process, forks are
 * noted in between, and its children and theirs give back what was there at their fork, whenever
 * they ask. Then directory entries that no honest child writes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/base/err.h"
#include "ms-record/drain/recording.h"
#include "ms-record/heap/forks.h"
#include "ms-record/heap/heap.h"
#include "ms-record/heap/merge.h"
#include "ms-record/session/info.h"
#include "ms-record/session/session_options.h"
#include "ms-record/session/pool.h"
#include "ms-record/session/session.h"

#define PLACES 64u
#define CHILDREN 40u
#define MORE (POOL_EXITED_PARENTS + 1)
#define ALL (1 + 2 * MORE) /* processes */

static int failures;
#define CHECK(what, got, want)                                                                     \
	do {                                                                                       \
		unsigned long long g_ = (unsigned long long)(got),                                 \
				   w_ = (unsigned long long)(want);                                \
		if (g_ != w_) {                                                                    \
			printf("%s:%d: %s is %llu, not %llu\n", __FILE__, __LINE__, what, g_, w_); \
			failures++;                                                                \
		}                                                                                  \
	} while (0)

static uint64_t seed;
static uint32_t any(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

/* A process as it should be: number of the block at each place, generations up included; 0 = none.
 */
struct model {
	uint64_t at[PLACES];
};
static struct session_options opt;
static struct pool pool;
static struct session *sessions[ALL];
static struct model models[ALL];
static uint64_t numbers;

static uint64_t address(unsigned place)
{
	return 0x1000 + place * 16;
}

static struct session *make(void)
{
	struct session *s = calloc(1, sizeof *s);
	s->opt = &opt;
	s->pool = &pool;
	s->who = identity_new();
	s->settled = true;
	clock_start(&s->clock, NULL);
	merge_begin(s, 1);
	return s;
}

static void add(struct session *s, struct model *m, unsigned place)
{
	struct live_block b = {address(place), ++numbers, place};
	live_add(&s->heap->live, &b);
	forks_log(s->heap, FORK_MADE, &b);
	s->stats.live_blocks++;
	s->stats.live_bytes += place;
	m->at[place] = b.number;
}

/* Takes a block as the merge does: the process's own, else an inherited one. */
static void take(struct session *s, struct model *m, unsigned place)
{
	struct live_block b = {0};
	uint64_t got = 0;
	if (live_take(&s->heap->live, address(place), &b)) {
		forks_log(s->heap, FORK_TAKEN, &b);
		s->stats.live_blocks--;
		s->stats.live_bytes -= place;
		got = b.number;
	} else if (forks_take(s, address(place), &b)) {
		got = b.number;
	}
	CHECK("the block at a place", got, m->at[place]);
	m->at[place] = 0;
}

static void fork_child(unsigned parent, unsigned child)
{
	struct session *p = sessions[parent], *s = make();
	forks_point(p, numbers + 1);
	s->heap->inherited_heap->from = p->heap->inherited_heap;
	p->heap->inherited_heap->refs++;
	const struct inherited_heap *from = p->heap->inherited_heap;
	const struct fork_point *point = &from->points.v[from->points.n - 1];
	s->heap->inherited_heap->from_at = point->at;
	s->heap->inherited_heap->blocks = point->blocks;
	s->heap->inherited_heap->bytes = point->bytes;
	sessions[child] = s;
	uint64_t blocks = 0, bytes = 0;
	for (unsigned i = 0; i < PLACES; i++) {
		uint64_t n = models[parent].at[i];
		models[child].at[i] = n ? n + (UINT64_C(1) << FORKS_UP_SHIFT) : 0;
		blocks += n != 0;
		bytes += n ? i : 0;
	}
	CHECK("blocks that are inherited", point->blocks, blocks);
	CHECK("bytes that are inherited", point->bytes, bytes);
	pool.slots[child].session = s;
	pool.prepared = child + 1;
}

/* Points of a process, but the last few, are too old now. */
static void age(struct session *s, size_t young)
{
	struct inherited_heap *h = s->heap->inherited_heap;
	size_t left = young < h->points.n ? young : h->points.n;
	s->clock.start_mono -= UINT64_C(10000000000);
	for (size_t i = 0; i < h->points.n; i++)
		h->points.v[i].ns = i + left < h->points.n ? 0 : session_now(s);
	forks_tidy(s);
	CHECK("points", h->points.n, left);
	CHECK("changes", left == 0 && h->log.n, 0);
}

static void end(struct session *s, unsigned i)
{
	forks_over(s);
	merge_end(s);
	identity_unref(s->who);
	pool.slots[i].session = NULL;
	free(s);
}

static void make_first(void)
{
	numbers = 0;
	memset(models, 0, sizeof models);
	memset(&pool, 0, sizeof pool);
	pool.slots = calloc(ALL, sizeof *pool.slots);
	sessions[0] = make();
	pool.slots[0].session = sessions[0];
}

static void test_tree(uint64_t n)
{
	seed = n;
	make_first();
	unsigned count = 1;
	for (unsigned step = 0; step < 3000; step++) {
		unsigned i = any(count), place = any(PLACES), what = any(100);
		struct session *s = sessions[i];
		if (!s)
			continue;
		if (what < 3 && count < CHILDREN)
			fork_child(i, count++);
		else if (what == 3)
			age(s, any(3));
		else if (what == 4 && i && any(3) == 0) {
			end(s, i);
			sessions[i] = NULL;
		} else if (models[i].at[place] || what & 1)
			take(s, &models[i], place);
		else
			add(s, &models[i], place);
	}
	for (unsigned i = 0; i < count; i++)
		for (unsigned k = 0; sessions[i] && k < PLACES; k++)
			take(sessions[i], &models[i], k);
	for (unsigned i = 0; i < count; i++)
		if (sessions[i])
			end(sessions[i], i);
	forks_forget(&pool);
	CHECK("parents that are over", pool.exited_parent_count, 0);
	free(pool.slots);
}

/* Checks two forks, of which the first is so long ago that its changes are forgotten. */
static void test_forgotten(void)
{
	struct session *s;
	make_first();
	s = sessions[0];
	for (unsigned k = 0; k < 10; k++)
		add(s, &models[0], k);
	fork_child(0, 1);
	for (unsigned k = 0; k < 5; k++)
		take(s, &models[0], k);
	fork_child(0, 2);
	for (unsigned k = 5; k < 8; k++)
		take(s, &models[0], k);
	add(s, &models[0], 20);
	age(s, 1);
	CHECK("changes since the second", s->heap->inherited_heap->log.n, 4);
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned k = 0; k < PLACES; k++)
			take(sessions[i], &models[i], k);
		end(sessions[i], i);
	}
	forks_forget(&pool);
	free(pool.slots);
}

/* One parent more is over than are kept, each with a child that needs it: the oldest goes, but not the
 * first process of all, and its child has its blocks all the same. */
static void test_evicted(bool head)
{
	struct inherited_heap *kept[MORE];
	make_first();
	pool.shape.head_serial = head; /* all have 1 */
	for (unsigned i = 0; i < MORE; i++) {
		unsigned parent = 1 + 2 * i;
		add(sessions[0], &models[0], i);
		fork_child(0, parent);
		fork_child(parent, parent + 1);
		kept[i] = sessions[parent]->heap->inherited_heap;
		end(sessions[parent], parent);
	}
	CHECK("kept", pool.exited_parent_count, POOL_EXITED_PARENTS);
	for (unsigned i = 0; i < POOL_EXITED_PARENTS; i++)
		CHECK("one that is kept", pool.exited_parents[i] == kept[i + (i >= head)], 1);
	for (unsigned i = 0; i < MORE; i++)
		take(sessions[0], &models[0], i);
	age(sessions[0], 0);
	for (unsigned i = 0; i < ALL; i += 2) {
		for (unsigned k = 0; k < PLACES; k++)
			take(sessions[i], &models[i], k);
		end(sessions[i], i);
	}
	forks_forget(&pool);
	free(pool.slots);
}

/* ---- what a hostile child may write ---- */

static struct session *last;
static void seen(void *arg, struct pool *p, uint32_t slot)
{
	(void)arg;
	last = recording_of_child(p, slot);
}

static uint64_t used;
static struct writer writer;
static bool old_slot; /* what is taken next was taken before this recording */

static struct session *begin(void)
{
	struct ms_err err = {0};
	opt = (struct session_options){.depth = 512, .buffer_bytes = 64u << 20};
	struct session *s = session_new(&opt, &writer, NULL, getpid(), &used, true, -1, &err);
	if (!s) {
		puts(err.text);
		exit(1);
	}
	recording_begin(s);
	return s;
}

static uint32_t free_slot(const struct pool *p, uint32_t from)
{
	while (from < p->shape.slot_max && p->dir[from].state != MG_SLOT_FREE)
		from++;
	CHECK("a free slot", from < p->shape.slot_max, 1);
	return from;
}

static void put_child(struct pool *p, uint32_t k, uint32_t pid, uint32_t parent,
		      uint64_t fork_stamp, uint64_t first_stamp)
{
	p->slots[k].old = old_slot;
	p->dir[k].pid = pid;
	p->dir[k].parent = parent;
	p->dir[k].fork_stamp = fork_stamp;
	p->dir[k].first_stamp = first_stamp;
	p->dir[k].state = MG_SLOT_TAKEN;
	p->dir[k].ready = 1;
}

/* A child takes a slot, and says so. */
static struct session *take_slot(struct pool *p, uint32_t pid, uint32_t parent, uint64_t fork_stamp,
				 uint64_t first_stamp)
{
	last = NULL;
	__atomic_store_n(&p->head->slots_wanted, 1, __ATOMIC_SEQ_CST);
	pool_round(p, seen, NULL);
	uint32_t k = free_slot(p, 0);
	put_child(p, k, pid, parent, fork_stamp, first_stamp);
	p->dir[(k + 77) % p->shape.slot_max].state = 99; /* and where none was prepared */
	pool_round(p, seen, NULL);
	CHECK("a session", last != NULL, 1);
	return last;
}

static void drop_slot(struct session *s)
{
	forks_over(s);
	pool_release_slot(s->pool, s->slot - 1, true);
	recording_free(s);
}

static struct inherited_heap *parent_of(const struct session *s)
{
	return s->heap->inherited_heap->from;
}

/* The image's process, a child, and one that is over. */
static void test_parents(void)
{
	struct session *s = begin();
	struct pool *p = s->pool;
	uint32_t serial = p->shape.head_serial;
	struct inherited_heap *heap = s->heap->inherited_heap;
	struct session *first = take_slot(p, 4, serial, 0, 1);
	struct session *child = take_slot(p, 5, serial, 0, 1);
	CHECK("the image's", parent_of(child) == heap, 1);
	serial = p->slots[child->slot - 1].serial;
	heap = child->heap->inherited_heap;
	struct session *grandchild = take_slot(p, 6, serial, 0, 1);
	CHECK("a child's", parent_of(grandchild) == heap, 1);
	drop_slot(child);
	child = take_slot(p, 7, serial, 0, 1);
	CHECK("one's that is over", parent_of(child) == heap, 1);
	old_slot = true;
	struct session *old = take_slot(p, 8, p->shape.head_serial, 0, 1);
	old_slot = false;
	CHECK("none's", parent_of(old) == NULL, 1);
	drop_slot(old);
	drop_slot(child);
	drop_slot(first);
	drop_slot(grandchild);
	/* a child in a slot before its parent's, both seen in one round; two that name each other */
	__atomic_store_n(&p->head->slots_wanted, 1, __ATOMIC_SEQ_CST);
	pool_round(p, seen, NULL);
	uint32_t low = free_slot(p, 0), high = free_slot(p, low + 1);
	put_child(p, low, 9, p->slots[high].serial, 0, 1);
	put_child(p, high, 10, p->shape.head_serial, 0, 1);
	pool_round(p, seen, NULL);
	struct session *parent = p->slots[high].session;
	CHECK("a later slot's", parent_of(p->slots[low].session) == parent->heap->inherited_heap,
	      1);
	drop_slot(p->slots[low].session);
	drop_slot(parent);
	pool_round(p, seen, NULL);
	low = free_slot(p, 0), high = free_slot(p, low + 1);
	put_child(p, low, 11, p->slots[high].serial, 0, 1);
	put_child(p, high, 12, p->slots[low].serial, 0, 1);
	pool_round(p, seen, NULL);
	CHECK("both", p->slots[low].session && p->slots[high].session, 1);
	drop_slot(p->slots[low].session);
	drop_slot(p->slots[high].session);
	forks_forget(p);
	recording_free(s);
}

static void test_directory(void)
{
	struct session *s = begin();
	struct pool *p = s->pool;
	static const uint64_t stamps[] = {0, 1, UINT64_MAX, UINT64_C(1) << 63};
	for (unsigned i = 0; i < 64; i++) {
		if (!take_slot(p, i & 1 ? UINT32_MAX : i, i & 2 ? p->shape.head_serial : i * 7919,
			       stamps[i >> 2 & 3], stamps[i >> 4 & 3]))
			break;
		CHECK("a process number", last->fork.claimed_pid, i & 1 ? 0 : i);
		CHECK("a start that has been",
		      last->clock.start_mono <= clock_mono() &&
			      last->clock.start_mono >= s->clock.start_mono,
		      1);
		drop_slot(last);
	}
	forks_forget(p);
	recording_free(s);
	CHECK("shared memory still counted", used, 0);
}

/* ---- what a child finds once its parent is merged up to the fork ---- */

static void settle(struct session *parent, uint64_t fork_stamp, uint64_t first_stamp,
		   uint64_t blocks, uint64_t events, uint64_t at)
{
	struct session *s = take_slot(parent->pool, 7, parent->pool->shape.head_serial, fork_stamp,
				      first_stamp);
	uint64_t stamp;
	s->process.exe = strdup("prog");
	s->fork.found_ns = UINT64_MAX / 2; /* it is waited for, however slow we are */
	parent->settled = false;
	CHECK("its parent waits itself", forks_settle(s), false);
	parent->settled = true;
	if (fork_stamp) {
		parent->merged_to = fork_stamp;
		CHECK("its parent is not there", forks_settle(s), false);
		CHECK("nothing is asked for", forks_asked(parent, UINT64_MAX, &stamp), false);
		parent->merged_to = fork_stamp + 1;
	} else {
		parent->merged_to = first_stamp - 1;
		CHECK("its parent is not there", forks_settle(s), false);
		parent->merged_to = first_stamp;
		CHECK("as far as that", forks_asked(parent, first_stamp - 1, &stamp), false);
		CHECK("it is asked for", forks_asked(parent, first_stamp, &stamp), true);
		CHECK("a stamp", stamp, first_stamp);
		CHECK("once", forks_asked(parent, first_stamp, &stamp), false);
		forks_point(parent, stamp);
	}
	CHECK("it is there", forks_settle(s), true);
	CHECK("settled", s->settled, true);
	CHECK("blocks", s->fork.inherited_blocks, blocks);
	CHECK("bytes", s->fork.inherited_bytes, blocks * 10);
	CHECK("events", s->fork.event, events);
	CHECK("allocations", s->fork.number, events - 1);
	CHECK("the heap's blocks", s->heap->inherited_heap->blocks, blocks);
	CHECK("the heap's bytes", s->heap->inherited_heap->bytes, blocks * 10);
	CHECK("its place among the changes", s->heap->inherited_heap->from_at, at);
	batch_free(s->open.batch);
	s->open.batch = NULL;
	drop_slot(s);
}

static void settle_at_once(struct session *parent, uint32_t serial, uint64_t blocks)
{
	struct session *s = take_slot(parent->pool, 7, serial, 0, 1);
	s->process.exe = strdup("prog");
	s->fork.found_ns = UINT64_MAX / 2;
	parent->settled = false;
	CHECK("settled", forks_settle(s), true);
	CHECK("blocks", s->fork.inherited_blocks, blocks);
	batch_free(s->open.batch);
	s->open.batch = NULL;
	drop_slot(s);
}

static void be_at(struct session *s, uint64_t blocks, uint64_t events)
{
	s->stats.live_blocks = blocks;
	s->stats.live_bytes = blocks * 10;
	s->stats.events = events;
	s->number = events - 1;
	forks_log(s->heap, FORK_MADE, &(struct live_block){0x1000, events, 10});
}

/* Stamps that are asked for, the earliest first. */
static void test_asked(void)
{
	static const uint64_t stamps[] = {30, 40, 10, 20};
	struct session *s = make();
	uint64_t stamp = 0;
	for (size_t i = 0; i < 4; i++)
		*MS_PUSH(&s->heap->inherited_heap->asked) = stamps[i];
	CHECK("none so early", forks_asked(s, 9, &stamp), false);
	for (uint64_t want = 10; want <= 40; want += 10) {
		CHECK("one", forks_asked(s, 40, &stamp), true);
		CHECK("the earliest", stamp, want);
	}
	CHECK("no more", forks_asked(s, 40, &stamp), false);
	merge_end(s);
	identity_unref(s->who);
	free(s);
}

static void test_settle(void)
{
	struct session *s = begin();
	s->mem->sequence = 1000; /* what has been, where events are counted */
	uint64_t now = clock_round(&s->clock), first = s->clock.pairs[0].stamp;
	uint64_t fork = first + (now - first) / 4, later = first + (now - first) / 2;
	be_at(s, 3, 30);
	forks_point(s, fork);
	be_at(s, 5, 50);
	forks_point(s, later);
	be_at(s, 8, 80);
	settle(s, fork, now, 3, 30, 0); /* nothing is noted before it */
	settle(s, later, now, 5, 50, 1);
	settle(s, later - 1, now, 8, 80, 2); /* no record says so: as it is now */
	be_at(s, 9, 90);
	settle(s, 0, now, 9, 90, 3);
	CHECK("points", s->heap->inherited_heap->points.n, 4);
	s->damaged = true; /* it is not waited for */
	settle_at_once(s, s->pool->shape.head_serial, 9);
	settle_at_once(s, 12345, 0); /* no parent of ours */
	forks_forget(s->pool);
	recording_free(s);
}

int main(void)
{
	for (uint64_t n = 1; n <= 60; n++)
		test_tree(n);
	test_forgotten();
	test_evicted(false);
	test_evicted(true);
	test_parents();
	test_directory();
	test_asked();
	test_settle();
	return failures != 0;
}

/* SPDX-License-Identifier: MIT
 * Provides what a forked child inherits.
 */
#include "forks.h"

#include <stdlib.h>
#include <string.h>

#include "ms-record/session/info.h"
#include "libcommon/base/arena.h"
#include "heap.h"
#include "ms-record/code/modules.h"
#include "ms-record/session/pool.h"
#include "ms-record/session/session.h"
#include "ms-record/code/stacks.h"

#define LOG_MAX (UINT64_C(1) << 20)
#define POINT_NS UINT64_C(2000000000)
#define SETTLE_NS UINT64_C(3000000000)
#define UP_MAX 255u

/* ---- inherited heaps ---- */

struct inherited_heap *inherited_heap_new(struct session *s, uint32_t serial)
{
	struct inherited_heap *h = ms_xcalloc(1, sizeof *h);
	h->refs = 1;
	h->serial = serial;
	h->owner = s;
	h->clock = &s->clock;
	h->own = &s->heap->live;
	h->modules = &s->modules;
	h->who = identity_ref(s->who);
	return h;
}

void inherited_heap_unref(struct inherited_heap *h)
{
	if (!h || --h->refs)
		return;
	inherited_heap_unref(h->from);
	if (!h->owner) {
		free(h->clock);
		live_free(&h->over);
		modules_free(h->modules);
		free(h->modules);
	}
	live_free(&h->inherited);
	identity_unref(h->who);
	MS_FREE(h->points.v, h->log.v, h->asked.v, h);
}

/* Returns the inherited heap of session `serial` of this pool, or NULL. */
static struct inherited_heap *find(const struct pool *p, uint32_t serial)
{
	if (p->head_session && p->shape.head_serial == serial)
		return p->head_session->heap->inherited_heap;
	for (uint32_t i = 0; i < p->prepared; i++)
		if (p->slots[i].session && p->slots[i].serial == serial)
			return p->slots[i].session->heap->inherited_heap;
	for (uint32_t i = 0; i < p->exited_parent_count; i++)
		if (p->exited_parents[i]->serial == serial)
			return p->exited_parents[i];
	return NULL;
}

/* ---- the log ---- */

void forks_log(struct heap *h, uint8_t what, const struct live_block *b)
{
	if (!h->logging)
		return;
	struct fork_change *c = MS_PUSH(&h->inherited_heap->log);
	c->what = what;
	c->block = *b;
}

/* Returns the session's present state as a fork point. */
static struct fork_point point_now(const struct session *s, uint64_t stamp)
{
	const struct inherited_heap *h = s->heap->inherited_heap;
	return (struct fork_point){.stamp = stamp,
				   .at = h->log_from + h->log.n,
				   .events = s->stats.events,
				   .number = s->number,
				   .blocks = s->stats.live_blocks + h->blocks,
				   .bytes = s->stats.live_bytes + h->bytes,
				   .ns = session_now(s)};
}

void forks_point(struct session *s, uint64_t stamp)
{
	if (!s->heap->inherited_heap)
		return;
	s->heap->logging = true;
	*MS_PUSH(&s->heap->inherited_heap->points) = point_now(s, stamp);
}

static void put_back(struct live_table *l, const struct live_block *b)
{
	struct live_block gone;
	live_take(l, b->address, &gone);
	live_add(l, b);
}

static void undo(const struct inherited_heap *h, uint64_t at, struct live_table *own,
		 struct live_table *inherited)
{
	for (size_t i = h->log.n; i > 0 && h->log_from + i > at; i--) {
		const struct fork_change *c = &h->log.v[i - 1];
		struct live_block gone;
		if (c->what == FORK_MADE)
			live_take(own, c->block.address, &gone);
		else
			put_back(c->what == FORK_TAKEN ? own : inherited, &c->block);
	}
}

/* Adds a block with its count of generations incremented, unless the table has a block of a
 * later generation at the same address. */
static void add_up(void *to, const struct live_block *b)
{
	uint64_t up = (b->number >> FORKS_UP_SHIFT) + 1;
	struct live_block moved = *b;
	moved.number = (b->number & FORKS_NUMBER) | (up > UP_MAX ? UP_MAX : up) << FORKS_UP_SHIFT;
	live_add(to, &moved);
}

/* Copies the parent's blocks, as of the fork, into a table of the child's own. */
static void take_over(struct inherited_heap *h)
{
	struct inherited_heap *p = h->from;
	struct live_table own, inherited;
	if (!p)
		return;
	take_over(p);
	live_copy(&own, p->own);
	if (p->inherited.now.buckets)
		live_copy(&inherited, &p->inherited);
	else
		live_init(&inherited);
	undo(p, h->from_at, &own, &inherited);
	live_init(&h->inherited);
	live_each(&own, add_up, &h->inherited);
	live_each(&inherited, add_up, &h->inherited);
	live_free(&own);
	live_free(&inherited);
	h->from = NULL;
	inherited_heap_unref(p);
}

static bool needs(const struct inherited_heap *child, const struct inherited_heap *h,
		  uint64_t before)
{
	return child && child->from == h && (!child->owner || child->owner->settled) &&
	       child->from_at < before;
}

/* Builds the tables of all children that forked before log position `at`. */
static void hand_over(const struct pool *p, const struct inherited_heap *h, uint64_t at)
{
	for (uint32_t i = 0; i < p->prepared; i++) {
		struct session *child = p->slots[i].session;
		if (child && needs(child->heap->inherited_heap, h, at))
			take_over(child->heap->inherited_heap);
	}
	for (uint32_t i = 0; i < p->exited_parent_count; i++)
		if (needs(p->exited_parents[i], h, at))
			take_over(p->exited_parents[i]);
}

static void forget_log(struct inherited_heap *h, uint64_t at)
{
	size_t n = (size_t)(at - h->log_from);
	h->log_from = at;
	if (!n)
		return;
	memmove(h->log.v, h->log.v + n, (h->log.n - n) * sizeof *h->log.v);
	h->log.n -= n;
}

void forks_tidy(struct session *s)
{
	struct inherited_heap *h = s->heap->inherited_heap;
	if (!s->heap->logging)
		return;
	uint64_t now = session_now(s);
	size_t old = 0;
	bool full = h->log.n > LOG_MAX;
	while (old < h->points.n && (full || h->points.v[old].ns + POINT_NS < now))
		old++;
	h->points.n -= old;
	memmove(h->points.v, h->points.v + old, h->points.n * sizeof *h->points.v);
	uint64_t end = h->log_from + h->log.n;
	uint64_t keep = h->points.n ? h->points.v[0].at : end;
	s->heap->logging = h->points.n != 0; /* without a log later changes cannot be undone */
	if (s->heap->logging && keep - h->log_from <= h->log.n / 2)
		return;
	hand_over(s->pool, h, s->heap->logging ? keep : UINT64_MAX);
	forget_log(h, keep);
}

/* ---- a child ---- */

/* Limits a stamp that the target wrote to the time from the parent's start to `now`. */
static uint64_t sane_stamp(const struct inherited_heap *from, uint64_t stamp, uint64_t now)
{
	uint32_t oldest = from->clock->newest - (from->clock->count - 1);
	uint64_t first = from->clock->pairs[oldest % CLOCK_PAIRS].stamp;
	return stamp < first ? first : stamp > now ? now : stamp;
}

/* Requests a fork point at a stamp that has no record; adds it now if the merge has passed that
 * stamp. */
static void ask(struct inherited_heap *h, uint64_t stamp)
{
	if (stamp <= h->owner->merged_to)
		forks_point(h->owner, stamp);
	else
		*MS_PUSH(&h->asked) = stamp;
}

bool forks_asked(struct session *s, uint64_t limit, uint64_t *stamp)
{
	struct inherited_heap *h = s->heap->inherited_heap;
	size_t least = 0;
	if (!h || !h->asked.n)
		return false;
	for (size_t i = 1; i < h->asked.n; i++)
		if (h->asked.v[i] < h->asked.v[least])
			least = i;
	*stamp = h->asked.v[least];
	if (*stamp > limit)
		return false;
	h->asked.v[least] = h->asked.v[--h->asked.n];
	return true;
}

void forks_begin(struct session *s)
{
	struct pool *p = s->pool;
	struct slot *slot = &p->slots[s->slot - 1];
	const struct mg_fork_slot *d = &p->dir[s->slot - 1];
	uint32_t pid = __atomic_load_n(&d->pid, __ATOMIC_RELAXED);
	bool old = slot->old;
	uint32_t parent = old ? 0 : __atomic_load_n(&d->parent, __ATOMIC_RELAXED);
	uint64_t stamp = __atomic_load_n(&d->fork_stamp, __ATOMIC_RELAXED);
	uint64_t first = __atomic_load_n(&d->first_stamp, __ATOMIC_RELAXED);
	struct inherited_heap *from = parent ? find(p, parent) : NULL;
	s->fork.claimed_pid = pid > INT32_MAX ? 0 : pid;
	slot->session = s;
	bool counts = p->config.clock != MG_CLOCK_TSC || s->mem->blind;
	uint64_t now = from && !counts && from->clock->tsc ? clock_round(from->clock) : 0;
	if (now && from->clock->tsc) {
		first = sane_stamp(from, first, now);
		stamp = stamp > now ? 0 : stamp;
		clock_fork(&s->clock, from->clock, sane_stamp(from, stamp ? stamp : first, now));
	} else {
		clock_start(&s->clock, counts ? &s->mem->sequence : NULL);
	}
	clock_watch(&s->clock, s->mem);
	/* if the fork has no stamp, that of the child's first event counts */
	s->fork.stamp = stamp ? stamp : first;
	s->fork.behind = stamp ? stamp + 1 : first;
	if (!stamp && from && from->owner)
		ask(from, first);
	if (from) {
		from->refs++;
		s->heap->inherited_heap->from = from;
		s->parent_who = identity_ref(from->who);
	}
	s->standby |= p->standby && !parent; /* a child without a known parent was forked before the
						recording */
	if (old)
		session_wake_slot(s);
}

static bool parent_is_there(const struct session *s)
{
	const struct inherited_heap *from = s->heap->inherited_heap->from;
	const struct session *p = from ? from->owner : NULL;
	if (!p || p->damaged)
		return true;
	return p->settled && (!s->fork.stamp || p->merged_to >= s->fork.behind);
}

/* Returns the fork point at which the session began; if none was recorded, one with the parent's
 * present state. */
static const struct fork_point *point_of(const struct session *s, struct inherited_heap *from)
{
	for (size_t i = 0; i < from->points.n && s->fork.stamp; i++)
		if (from->points.v[i].stamp == s->fork.stamp)
			return &from->points.v[i];
	if (!from->owner)
		return &from->final;
	forks_point(from->owner, 0);
	return &from->points.v[from->points.n - 1];
}

bool forks_settle(struct session *s)
{
	struct inherited_heap *h = s->heap->inherited_heap, *from;
	if (s->settled || !h)
		return true;
	from = h->from;
	if (!parent_is_there(s) && clock_mono() < s->fork.found_ns + SETTLE_NS)
		return false;
	if (from) {
		const struct fork_point *point = point_of(s, from);
		h->from_at = point->at;
		h->blocks = s->fork.inherited_blocks = point->blocks;
		h->bytes = s->fork.inherited_bytes = point->bytes;
		s->fork.event = point->events;
		s->fork.number = point->number;
		modules_inherit(&s->modules, from->modules);
	}
	info_write(s);
	s->settled = true;
	return true;
}

bool forks_take(struct session *s, uint64_t address, struct live_block *b)
{
	struct inherited_heap *h = s->heap->inherited_heap;
	if (!h)
		return false;
	take_over(h);
	if (!h->inherited.now.buckets || !live_take(&h->inherited, address, b))
		return false;
	forks_log(s->heap, FORK_TAKEN_INHERITED, b);
	if (h->blocks)
		h->blocks--;
	h->bytes -= b->size < h->bytes ? b->size : h->bytes;
	return true;
}

void forks_each(const struct session *s, void (*f)(void *arg, const struct live_block *block),
		void *arg)
{
	struct inherited_heap *h = s->heap->inherited_heap;
	if (!h)
		return;
	take_over(h);
	if (h->inherited.now.buckets)
		live_each(&h->inherited, f, arg);
}

/* ---- the end ---- */

/* Returns the index of an exited parent that no session can need any more, else of the oldest. */
static uint32_t least_wanted(const struct pool *p)
{
	uint32_t oldest = p->exited_parents[0]->serial == p->shape.head_serial;
	for (uint32_t i = 0; i < p->exited_parent_count; i++)
		if (!p->exited_parents[i]->points.n && p->exited_parents[i]->refs == 1 &&
		    p->exited_parents[i]->serial != p->shape.head_serial)
			return i;
	return oldest;
}

static void add_exited_parent(struct pool *p, struct inherited_heap *h)
{
	if (p->exited_parent_count == POOL_EXITED_PARENTS) {
		uint32_t i = least_wanted(p);
		if (p->exited_parents[i]->refs > 1) /* hand_over() does not build the tables of its
						       children, so they are built now */
			take_over(p->exited_parents[i]);
		inherited_heap_unref(p->exited_parents[i]);
		p->exited_parent_count--;
		memmove(p->exited_parents + i, p->exited_parents + i + 1,
			(p->exited_parent_count - i) * sizeof(struct inherited_heap *));
	}
	p->exited_parents[p->exited_parent_count++] = h;
}

void forks_over(struct session *s)
{
	struct inherited_heap *h = s->heap->inherited_heap;
	if (!h)
		return;
	h->final = point_now(s, 0);
	h->clock = ms_xrealloc(NULL, 1, sizeof *h->clock);
	*h->clock = s->clock;
	h->clock->blind = NULL; /* points into the memory of the session, which is over */
	h->over = s->heap->live;
	h->own = &h->over;
	s->heap->live = (struct live_table){0};
	h->modules = ms_xrealloc(NULL, 1, sizeof *h->modules);
	modules_hand_over(h->modules, &s->modules);
	s->heap->logging = false;
	h->owner = NULL;
	s->heap->inherited_heap = NULL;
	add_exited_parent(s->pool, h);
}

void forks_forget(struct pool *p)
{
	for (uint32_t i = 0; i < p->exited_parent_count; i++)
		inherited_heap_unref(p->exited_parents[i]);
	p->exited_parent_count = 0;
}

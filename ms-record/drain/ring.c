/* SPDX-License-Identifier: MIT
 * Prepares rings for threads, reads them and takes them back.
 */
#include "ring.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/base/arena.h"
#include "ms-record/base/wake.h"
#include "ms-record/session/session_options.h"
#include "drained.h"
#include "ms-record/heap/merge.h"
#include "parse_code.h"
#include "ms-record/session/losses.h"
#include "ms-record/session/pool.h"
#include "ms-record/session/session.h"
#include "ms-record/session/threads.h"

/* While sampling, a lap (pass of the thread through the ring's window) shorter than this number of
 * bytes is lengthened early. */
#define SAMPLED_LEAST (256u << 10)
#define FREE_AHEAD 24u
/* Rings kept free in an attached process, whose threads cannot wait for a ring. */
#define FREE_AHEAD_ATTACHED 96u
/* Rings kept free under seccomp, where threads spin while they wait. */
#define FREE_AHEAD_FILTERED 256u
/* Rings kept free at first: one for the thread, others for its signal handlers. */
#define FREE_AT_FIRST 6u
#define LOOKS_NS UINT64_C(1000000)     /* longest run of ring_return, ns */
#define LOOKS_SHARE 8u                 /* pause after ring_return, in multiples of its run time */
#define PENDING_NS UINT64_C(500000000) /* longest delay by a pending stamp (layout.h, R5) */
#define PENDING_LOOK_NS UINT64_C(50000000)
/* Limit of parsed events that wait because a slow thread has a pending stamp; 6 Mi items take 240
 * MiB. If it is exceeded, rings are left unread and fill up. */
#define BACKLOG_MAX (UINT64_C(6) << 20)
/* Limit of parsed events, in place of BACKLOG_MAX, if the slow thread waits for a processor. */
#define BACKLOG_MUCH (BACKLOG_MAX / 8)
/* Maximum items parsed ahead from a ring while another ring is read in parts. */
#define AHEAD_MOST 32768u
#define QUIET_NS UINT64_C(5000000)
#define ITEMS_KEPT ((size_t)1 << 14) /* items of memory kept per ring, 640 KiB */

void ring_free(struct reader *r)
{
	parse_code_free(r);
	MS_FREE(r->ips, r->paths, r->nodes, r->cut_nodes, r->copy);
	if (r->items)
		for (size_t i = r->first; i < r->count; i++)
			if (r->items[i].kind == ITEM_MARK || r->items[i].kind == ITEM_LABEL)
				free((void *)(uintptr_t)r->items[i].size);
	free(r->items);
}

static uint64_t window_bytes(const struct session *s, uint32_t ring)
{
	return ring < s->rings.wide_count ? MG_WIDE_BYTES : s->rings.window_bytes;
}

/* Returns the offset of a ring's window from `memory`, in bytes. */
static uint64_t window_at(const struct session *s, uint32_t ring)
{
	return (ring < s->rings.wide_count ? s->rings.wide_offset : s->rings.data_offset) +
	       ring * window_bytes(s, ring);
}

/* Returns the size in bytes of the first lap (pass of the thread through the ring's window) in a
 * ring of an attached process, which drops events that do not fit. Existing threads get some 45 %
 * of the process's share of --buffer; the rest lets later threads have large rings, and full rings
 * grow (raise_size). */
static uint64_t attached_lap(const struct session *s, uint32_t ring)
{
	uint32_t n = s->opt->sharers;
	uint64_t share = s->opt->buffer_bytes / (n ? n : 1);
	if (s->slot)
		return POOL_ATTACHED_LAP;
	return ring < 8 ? share / 16 : ring < 24 ? share / 128 : share / 1024;
}

/* Returns the size in bytes of a ring's first lap (pass through the window). Most processes have
 * few threads, so their rings get long laps, which should hold all events until we read them. This
 * is necessary if the thread cannot wait. */
static uint32_t first_lap(const struct session *s, uint32_t ring)
{
	uint64_t most = window_bytes(s, ring) - MG_SLACK;
	uint64_t lap = s->modules.attached     ? attached_lap(s, ring)
		       : ring < POOL_FEW_RINGS ? POOL_FEW_LAP
					       : MG_RING_FIRST;
	lap = lap < MG_RING_FIRST ? MG_RING_FIRST : lap & ~UINT64_C(7);
	return (uint32_t)(lap < most ? lap : most);
}

/* Takes `bytes` of shared memory from the budget of --buffer. `must`: exceed the budget if
 * necessary, as for the first rings of a session. Returns false if the budget is exhausted. */
static bool take_budget(struct session *s, uint64_t bytes, bool must)
{
	uint64_t used = __atomic_add_fetch(s->buffer_used, bytes, __ATOMIC_RELAXED);
	if (used > s->opt->buffer_bytes && !must) {
		__atomic_sub_fetch(s->buffer_used, bytes, __ATOMIC_RELAXED);
		return false;
	}
	s->drained->buffer_mine += bytes;
	return true;
}

static void give_budget(struct session *s, uint64_t bytes)
{
	__atomic_sub_fetch(s->buffer_used, bytes, __ATOMIC_RELAXED);
	s->drained->buffer_mine -= bytes;
}

static bool back(struct session *s, uint32_t i, uint64_t from, uint64_t to)
{
	off_t at = (off_t)(window_at(s, i) + from);
	return s->pool &&
	       fallocate(s->pool->memfd, FALLOC_FL_KEEP_SIZE, at, (off_t)(to - from)) == 0;
}

static void set_up(const struct session *s, struct reader *r)
{
	uint32_t i = (uint32_t)(r - s->rings.readers);
	r->ring = &s->rings.shared[i];
	r->window = s->rings.memory + window_at(s, i);
	r->window_bytes = window_bytes(s, i);
	r->thread = UINT32_MAX;
	r->prepared = true;
	r->allowed = first_lap(s, i);
}

void ring_adopt(struct session *s, uint32_t n)
{
	for (; s->rings.prepared < n; s->rings.prepared++) {
		take_budget(s, first_lap(s, s->rings.prepared) + MG_SLACK, true);
		set_up(s, &s->rings.readers[s->rings.prepared]);
	}
}

/* Resets a ring to which no thread writes: its thread has ended, the session sleeps, or it belongs
 * to an earlier recording. */
static void clear(struct mg_ring *g, uint32_t allowed)
{
	g->lost = g->lost_first = g->lost_last = 0;
	g->waited = g->waited_max = 0;
	g->passed = 0;
	g->verified = g->mismatched = g->copies = 0;
	g->stalls = 0;
	g->size_allowed = allowed;
	__atomic_store_n(&g->tail, 0, __ATOMIC_RELEASE);
}

/* Marks a ring whose thread has ended as free (R9 in guest/layout.h). */
static void set_free(struct session *s, uint32_t i)
{
	struct mg_ring *g = &s->rings.shared[i];
	g->head = 0;
	__atomic_store_n(&g->pending, 0, __ATOMIC_RELAXED); /* a scan may clear it, too */
	g->waiting = g->tid = 0;
	__atomic_store_n(&g->state, MG_RING_FREE, __ATOMIC_RELEASE);
	__atomic_fetch_or(&s->mem->free_rings[i / 64], UINT64_C(1) << i % 64, __ATOMIC_RELEASE);
}

static bool thread_runs(struct session *s, uint32_t tid)
{
	char name[32];
	uint32_t outer = session_outer_tid(s, tid);
	snprintf(name, sizeof name, "task/%u", outer);
	return outer && !faccessat(s->process.folder, name, F_OK, 0);
}

void ring_take_over(struct session *s, bool proc)
{
	for (; s->rings.prepared < s->rings.max; s->rings.prepared++) {
		struct mg_ring *g = &s->rings.shared[s->rings.prepared];
		uint32_t state = __atomic_load_n(&g->state, __ATOMIC_ACQUIRE);
		if (state != MG_RING_FREE && state != MG_RING_TAKEN)
			return;
		uint32_t lap = first_lap(s, s->rings.prepared);
		if (!take_budget(s, lap + MG_SLACK, s->rings.prepared < 8) ||
		    !back(s, s->rings.prepared, 0, lap + MG_SLACK)) {
			s->rings.max = s->rings.prepared; /* do not use the remaining rings, which
							     may have writers */
			return;
		}
		set_up(s, &s->rings.readers[s->rings.prepared]);
		clear(g, lap);
		if (state == MG_RING_TAKEN && proc && !thread_runs(s, g->tid))
			set_free(s, s->rings.prepared);
	}
}

/* Tells whether a ring holds records of this recording (R8 in guest/layout.h). */
static bool is_of_now(const struct session *s, const struct reader *r)
{
	return __atomic_load_n(&r->ring->state, __ATOMIC_ACQUIRE) == MG_RING_TAKEN &&
	       __atomic_load_n(&r->ring->wake, __ATOMIC_ACQUIRE) == s->wake;
}

/* Prepares the next ring, number `i`. Returns false if there is no memory for it. */
static bool prepare_one(struct session *s, uint32_t i)
{
	uint64_t bytes = first_lap(s, i) + MG_SLACK;
	if (!take_budget(s, bytes, i < 8))
		return false;
	if (!pool_back_ring(s->pool, s, i) || !back(s, i, 0, bytes))
		return false;
	struct reader *r = &s->rings.readers[i];
	set_up(s, r);
	r->ring->size_allowed = r->allowed;
	/* Done before a thread can take the ring, because a scan looks at all prepared rings. */
	__atomic_store_n(&s->rings.prepared, i + 1, __ATOMIC_RELEASE);
	set_free(s, i);
	return true;
}

static uint32_t count_free(const struct session *s)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->rings.prepared; i += 64)
		n += (uint32_t)__builtin_popcountll(
			__atomic_load_n(&s->mem->free_rings[i / 64], __ATOMIC_RELAXED));
	return n < s->rings.prepared ? n : s->rings.prepared;
}

/* Returns how many free rings to keep in reserve. A process whose threads cannot wake us needs
 * more. */
static uint32_t rings_ahead(const struct session *s)
{
	uint32_t taken = s->rings.prepared - count_free(s);
	if (s->forked)
		return 1 + s->rings.prepared / 4;
	if (s->modules.attached)
		return FREE_AHEAD_ATTACHED;
	if (session_seccomp(s))
		return taken > 1 ? FREE_AHEAD_FILTERED : FREE_AHEAD;
	return taken > 1 ? FREE_AHEAD : FREE_AT_FIRST;
}

/* Returns the number of threads that wait for a ring. A thread that left the wait by longjmp is
 * still counted. */
static uint32_t rings_wanted(const struct session *s)
{
	uint32_t n = __atomic_load_n(&s->mem->rings_wanted, __ATOMIC_SEQ_CST);
	return n < s->rings.max ? n : s->rings.max;
}

void ring_prepare(struct session *s)
{
	uint32_t ahead = rings_ahead(s), wanted = rings_wanted(s);
	uint32_t spare = count_free(s), want = ahead + wanted + s->rings.prepared / 4;
	/* If threads start faster than rings are prepared, free the rings of ended threads
	 * immediately. */
	if (spare < want / 2 && s->rings.prepared >= ahead) {
		ring_return(s, true);
		spare = count_free(s);
	}
	while (spare < want && s->rings.prepared < s->rings.max &&
	       prepare_one(s, s->rings.prepared))
		spare++;
	if (wanted && spare)
		wake_shared(&s->mem->rings_futex, wanted);
	__atomic_store_n(&s->mem->rings_short, spare == 0, __ATOMIC_RELAXED);
}

static void wake_writer(struct mg_ring *ring)
{
	if (__atomic_load_n(&ring->waiting, __ATOMIC_SEQ_CST))
		wake_shared(&ring->tail_futex, 1);
}

/* Enlarges a ring's lap (pass through the window), up to the window's size, if its thread stalls;
 * while sampling also if a small lap would wake us often, because a round costs as much as a
 * hundred samples. Keeps a quarter of the budget free for new threads; if the window is wide, half
 * of it, because wide windows are for processes with few threads. */
static void raise_size(struct session *s, struct reader *r, uint64_t seen)
{
	uint32_t stalls = __atomic_load_n(&r->ring->stalls, __ATOMIC_RELAXED);
	bool often = s->opt->sample_bytes && r->allowed < SAMPLED_LEAST && seen > r->allowed / 4;
	bool full = often || stalls != r->stalls || seen > r->allowed - r->allowed / 8;
	r->stalls = stalls;
	if (!full || r->allowed + MG_SLACK >= r->window_bytes)
		return;
	uint64_t next = (r->allowed + MG_SLACK) * UINT64_C(4) - MG_SLACK;
	if (next + MG_SLACK > r->window_bytes)
		next = r->window_bytes - MG_SLACK;
	uint64_t used = __atomic_load_n(s->buffer_used, __ATOMIC_RELAXED),
		 most = s->opt->buffer_bytes;
	bool wide = next > MG_RING_LARGEST && !s->modules.attached;
	if ((wide && s->rings.taken.n > MG_WIDE_RINGS) ||
	    used + next > (wide ? most / 2 : most / 4 * 3) ||
	    !take_budget(s, next - r->allowed, false))
		return;
	if (!back(s, (uint32_t)(r - s->rings.readers), r->allowed, next + MG_SLACK)) {
		give_budget(s, next - r->allowed);
		return;
	}
	r->allowed = (uint32_t)next;
	__atomic_store_n(&r->ring->size_allowed, r->allowed, __ATOMIC_RELEASE);
}

/* Reads one part of a ring, whose records end at `head`. Returns the bytes read. */
static uint64_t drain(struct session *s, struct reader *r, uint64_t head)
{
	uint64_t bytes = head - r->tail;
	if (!bytes)
		return 0;
	if (bytes > r->window_bytes) {
		session_damaged(s, "a buffer's head is out of range");
		return 0;
	}
	int64_t read = parse_records(s, r, bytes, RING_PART);
	if (read < 0)
		return 0;
	r->tail += (uint64_t)read;
	__atomic_store_n(&r->ring->tail, r->tail, __ATOMIC_SEQ_CST);
	/* Wakes the thread only if less than half of the bytes that the thread may use are unread,
	 * since otherwise it would soon wait again. A thread with a pending stamp is always woken,
	 * because the merge waits for it. */
	if (r->pending || head - r->tail <= r->allowed / 2)
		wake_writer(r->ring);
	raise_size(s, r, bytes);
	return (uint64_t)read;
}

/* Adds to the time for which a thread has delayed its pending stamp, or sets it to the limit if the
 * thread has ended. Counts only time in which the thread could run. On a busy machine, it may get
 * no processor for seconds; if we gave up then, its later records would be out of order. */
static void look_at_pending(struct session *s, struct reader *r, uint64_t now_ns, bool patient)
{
	const uint64_t most = PENDING_NS - 2 * PENDING_LOOK_NS; /* a single check must not reach the
								   limit */
	uint64_t since = now_ns - r->pending_ns;
	bool known = r->thread != UINT32_MAX;
	r->pending_ns = now_ns;
	r->pending_look_ns = now_ns + PENDING_LOOK_NS;
	if (known && !session_thread_alive(s, r->thread))
		r->pending_held_ns = PENDING_NS;
	else if (!patient)
		r->pending_held_ns += since;
	else if (!known || !session_thread_waits(s, r->thread, &r->pending_cpu))
		r->pending_held_ns += since < most ? since : most;
}

/* Tells whether the merge must still wait for a pending stamp. It waits for a limited time (R5 in
 * guest/layout.h), and not for a thread that died inside a hook. */
static bool pending_counts(struct session *s, struct reader *r, uint64_t now_ns, bool patient)
{
	if (__atomic_load_n(&s->ending, __ATOMIC_ACQUIRE))
		return false;
	if (now_ns >= r->pending_look_ns && r->pending_held_ns < PENDING_NS)
		look_at_pending(s, r, now_ns, patient);
	return r->pending_held_ns < PENDING_NS;
}

/* Notes a new pending stamp of a ring, and starts measuring how long it is pending. */
static void note_pending(struct reader *r, uint64_t pending, uint64_t now_ns)
{
	if (pending == r->pending)
		return;
	r->pending = pending;
	r->pending_ns = now_ns;
	r->pending_look_ns = now_ns + QUIET_NS;
	r->pending_held_ns = 0;
}

/* Lists the rings that threads have taken since the last call. */
static void list_taken(struct session *s)
{
	for (uint32_t w = 0; w * 64 < s->rings.prepared; w++) {
		uint64_t gone = ~__atomic_load_n(&s->mem->free_rings[w], __ATOMIC_ACQUIRE);
		for (uint64_t new = gone & ~s->drained->listed[w]; new; new &= new - 1) {
			uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(new);
			if (i >= s->rings.prepared)
				break;
			if (!is_of_now(s, &s->rings.readers[i]))
				continue;
			s->drained->listed[w] |= new & -new;
			s->rings.readers[i].taken = true;
			*MS_PUSH(&s->rings.taken) = &s->rings.readers[i];
		}
	}
}

/* Returns the number of events parsed but not merged yet. */
static uint64_t backlog(const struct session *s)
{
	uint64_t n = 0;
	for (size_t i = 0; i < s->rings.taken.n; i++)
		n += s->rings.taken.v[i]->count - s->rings.taken.v[i]->first;
	return n;
}

/* Tells whether to leave a ring unread for now: many of its items are parsed, and the last one is
 * later than the merge can reach. Otherwise, items would pile up in memory while another ring is
 * read in parts. Never true for the ring that the merge waits for. */
static bool is_ahead(const struct session *s, const struct reader *r, bool full)
{
	size_t n = r->count - r->first;
	if (!n || !(full || (s->drained->partly && n > AHEAD_MOST)))
		return false;
	return r->items[r->count - 1].key >> 1 > s->merged_to + merge_lookahead(s);
}

uint64_t ring_read_all(struct session *s, uint64_t now, uint64_t *limit)
{
	uint64_t read = 0, least = now, now_ns = session_now(s);
	uint64_t waiting = backlog(s);
	bool full = waiting > BACKLOG_MAX, partly = false, left = false;
	list_taken(s);
	for (size_t i = 0; i < s->rings.taken.n && !s->damaged; i++) {
		struct reader *r = s->rings.taken.v[i];
		uint64_t pending = __atomic_load_n(&r->ring->pending, __ATOMIC_ACQUIRE);
		uint64_t head = __atomic_load_n(&r->ring->head, __ATOMIC_ACQUIRE);
		note_pending(r, pending, now_ns);
		if (pending && pending < least) {
			if (pending_counts(s, r, now_ns, waiting < BACKLOG_MUCH))
				least = pending;
			else /* if the thread has ended, it may have published the record
				meanwhile */
				head = __atomic_load_n(&r->ring->head, __ATOMIC_ACQUIRE);
		}
		r->later = is_ahead(s, r, full);
		if (r->later) {
			/* Unread records are later than parsed ones, so the merge may advance to
			 * the last parsed record. */
			uint64_t last = r->items[r->count - 1].key >> 1;
			if (head != r->tail && last < least)
				least = last + 1;
			left = true;
			continue;
		}
		uint64_t n = drain(s, r, head);
		if (n)
			r->quiet_ns = now_ns;
		if (r->tail != head && r->last < least)
			least = r->last + 1; /* unread records of this ring have stamps larger than
						r->last */
		partly |= r->tail != head;
		read += n;
	}
	s->drained->partly = partly;
	s->drained->left = left && !read;
	*limit = least;
	return read;
}

bool ring_wanted(struct session *s)
{
	/* W5 of guest/ring.c: if a thread does not see that we sleep, we see here that it waits and
	 * that it has taken a ring. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	list_taken(s);
	for (size_t i = 0; i < s->rings.taken.n; i++) {
		const struct reader *r = s->rings.taken.v[i];
		uint64_t unread = __atomic_load_n(&r->ring->head, __ATOMIC_ACQUIRE) - r->tail;
		/* Reads a ring if at least half of the bytes that its thread may now use are
		 * unread, or if its thread waits: the thread may have filled the ring when it was
		 * allowed fewer bytes, less than half of the present number. */
		if (!(s->drained->left && r->later) &&
		    (unread >= r->allowed / 2 ||
		     (unread && __atomic_load_n(&r->ring->waiting, __ATOMIC_RELAXED))))
			return true;
	}
	return false;
}

void ring_shrink(struct reader *r)
{
	size_t n = r->count - r->first;
	if (r->room <= ITEMS_KEPT || n > r->room / 16)
		return;
	memmove(r->items, r->items + r->first, n * sizeof *r->items);
	r->first = 0;
	r->count = n;
	r->room /= 2;
	r->items = ms_xrealloc(r->items, r->room + ITEMS_AHEAD, sizeof *r->items);
}

/* ---- taken back ---- */

/* Frees the ring's memory beyond the size of its first lap, and returns that memory to the
 * budget. */
static void shrink(struct session *s, const struct reader *r, uint32_t i)
{
	uint32_t first = first_lap(s, i);
	uint64_t at = window_at(s, i) + first + MG_SLACK;
	if (r->allowed <= first || !s->pool ||
	    fallocate(s->pool->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at,
		      r->allowed - first))
		return;
	give_budget(s, r->allowed - first);
}

/* Resets a ring whose thread has ended, for use by another thread (R9 in guest/layout.h). */
static void give_back(struct session *s, struct reader *r)
{
	uint32_t i = (uint32_t)(r - s->rings.readers);
	losses_take(s, r);
	threads_gone(s, r->thread);
	shrink(s, r, i);
	r->tail = r->offset = r->last = 0;
	r->lost = r->waited = r->verified = r->mismatched = r->passed = 0;
	r->stalls = 0;
	r->pending = 0;
	r->depth = r->base = r->noded = r->cut_from = r->cut_valid = 0;
	r->copy_bytes = 0;
	r->taken = r->later = false;
	r->thread = UINT32_MAX;
	r->allowed = first_lap(s, i);
	clear(r->ring, r->allowed);
	s->drained->listed[i / 64] &= ~(UINT64_C(1) << i % 64);
	set_free(s, i);
}

/* Tells whether a ring is completely read and its thread has ended. Unless `hurry`, false if the
 * ring was in use a moment ago. */
static bool is_over(struct session *s, struct reader *r, uint64_t now, bool hurry)
{
	if (r->thread == UINT32_MAX || r->first < r->count ||
	    (!hurry && r->quiet_ns + QUIET_NS > now) ||
	    __atomic_load_n(&r->ring->head, __ATOMIC_ACQUIRE) != r->tail)
		return false;
	if (!hurry)
		r->quiet_ns = now;
	/* Checked again: the thread may have written its last record after the first check. */
	return !session_thread_alive(s, r->thread) &&
	       __atomic_load_n(&r->ring->head, __ATOMIC_ACQUIRE) == r->tail;
}

void ring_return(struct session *s, bool hurry)
{
	uint64_t start = session_now(s), now = start;
	if (start < s->drained->return_ns)
		return;
	for (size_t n = s->rings.taken.n; n && !s->damaged && now < start + LOOKS_NS; n--) {
		size_t i = s->drained->return_next < s->rings.taken.n ? s->drained->return_next : 0;
		struct reader *r = s->rings.taken.v[i];
		if (is_over(s, r, now, hurry)) {
			give_back(s, r);
			s->rings.taken.v[i] =
				s->rings.taken
					.v[--s->rings.taken.n]; /* the ring moved here is checked
								   next */
		} else {
			i++;
		}
		s->drained->return_next = i;
		now = n % 16 ? now : session_now(s);
	}
	now = session_now(s);
	s->drained->return_ns = now + (now - start) * LOOKS_SHARE;
}

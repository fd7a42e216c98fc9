/* SPDX-License-Identifier: MIT
 * The writer's side of a ring: room for records, waiting while there is none, and what is lost.
 *
 *           0                         offset            limit                      size
 *           |                         |                 |                          |
 *   window  [new][new][new][new][new] |      free       | [old][old][old][WRAP]    |
 *           |<------ lap k ---------->|                 |<- lap k-1, unread ->|
 *
 * head counts bytes for ever, and so does tail; offset = head - lap. What is left of lap k-1, not
 * yet read, begins at limit = tail - lap_before. With nothing left of it, limit = size.
 *
 * One thread writes `head`, `pending` and the window, ms-record alone writes `tail`.
 *
 *  W1 A record and 8 bytes for a later MG_WRAP fit below `size` (R2). Where the record does not
 *     fit, MG_WRAP goes into the 8 bytes kept in hand, and the next lap begins at 0.
 *  W2 Nothing unread is overwritten: a reader in this lap is behind everything that we may write. A
 *     reader in the lap before is at tail - lap_before, and a record must end, with its 8 bytes, at
 *     or below that. A reader further back means no room at all: the lap in which it reads lies
 *     where we would write. This compares real positions, so it holds for laps of different sizes
 *     (R3).
 *  W3 `head` is stored with release after the record's words (R4); a reader that sees it sees them.
 *     MG_WRAP is published by a store of its own.
 *  W4 `tail` is loaded with acquire before the bytes below it are written again, so the reader has
 *     finished with them.
 *  W5 Sleep and wake-up: we store `waiting`, fence, load `tail`; ms-record stores `tail`, fences,
 *     loads `waiting`. One of both sees the other's store; if ms-record does, it changes
 *     tail_futex, which we read before. So no wake-up is lost; and the sleep is short in any case.
 *  W6 Between two slow calls a record costs one comparison: `mark` is the least of the room that is
 *     sure and the place where ms-record should be woken because the ring is half full.
 *  W7 After a longjmp out of a hook what was published stays and the rest is void: `wrapping` tells
 *     whether the end of a lap was.
 *
 * A hook that a signal handler interrupts is never entered again on the same ring (see
 * mg_enter_slow), so offset, head and window are this code's alone.
 */
#include "core.h"

#define NO_TAIL (~UINT64_C(0))

void mg_ring_attach(struct mg_writer *t)
{
	t->mark = 0; /* makes the first record go through mg_room_slow */
	t->sent = MG_NOT_SENT;
	t->stuck_tail = NO_TAIL;
}

void mg_wake_recorder(void)
{
	uint32_t *sleeping = &mg.head->sleeping;
	if (!__atomic_load_n(sleeping, __ATOMIC_RELAXED) || mg_filtered() ||
	    !__atomic_exchange_n(sleeping, 0, __ATOMIC_SEQ_CST))
		return;
	mg_futex(sleeping, MG_FUTEX_WAKE, 1, 0);
}

/* Sleeps until the ring's tail differs from `tail`, for at most some milliseconds; only spins
 * under a seccomp filter. */
static void sleep_for_tail(struct mg_writer *t, uint64_t tail)
{
	struct mg_ring *r = t->ring;
	uint32_t seen = __atomic_load_n(&r->tail_futex, __ATOMIC_ACQUIRE);
	__atomic_store_n(&r->waiting, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	mg_wake_recorder();
	if (__atomic_load_n(&r->tail, __ATOMIC_ACQUIRE) == tail)
		mg_futex(&r->tail_futex, MG_FUTEX_WAIT, seen, 100000000);
	/* a fork may have replaced the ring: see fork.c */
	__atomic_store_n(&t->ring->waiting, 0, __ATOMIC_RELAXED);
}

void mg_waited(struct mg_writer *t, uint64_t ticks)
{
	/* after the wait: a fork may have replaced the ring, see fork.c */
	struct mg_ring *r = t->ring;
	r->waited += ticks;
	if (ticks > r->waited_max)
		r->waited_max = ticks;
}

/* Waits until the ring's tail differs from `tail`. Returns false if it did not change within the
 * allowed time, or nothing is recorded any more. */
static bool wait_for_tail(struct mg_writer *t, uint64_t tail)
{
	struct mg_ring *r = t->ring;
	uint64_t start = mg_ticks(), waited = 0;
	bool moved = false;
	if (!mg.session->wait_ticks || t->stuck_tail == tail)
		return false;
	r->stalls++;
	while (!moved && waited < mg.session->wait_ticks &&
	       __atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&mg.session->state, __ATOMIC_RELAXED) != MG_OFF) {
		sleep_for_tail(t, tail);
		moved = __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE) != tail;
		waited = mg_ticks() - start;
	}
	mg_waited(t, waited);
	t->stuck_tail = moved ? NO_TAIL : tail;
	return moved;
}

#define BARRIER() __asm__ volatile("" ::: "memory")

/* Ends the current lap (pass through the window) by an MG_WRAP record (W1). */
static void wrap(struct mg_writer *t)
{
	*(uint64_t *)(void *)(t->window + t->offset) = mg_word0(MG_WRAP, 0, 0, 0);
	t->wrap_head = t->head;
	t->wrap_lap = t->lap;
	BARRIER();
	t->wrapping = true;
	BARRIER();
	mg_publish(t, 1);
	BARRIER();
	t->lap_before = t->lap;
	t->lap = t->head;
	t->offset = 0;
	/* the old mark belongs to the ended lap (pass through the window); if there is no room now,
	 * the next record checks again */
	t->mark = 0;
	BARRIER();
	t->wrapping = false;
	t->size = mg_lap_bytes(t->ring);
}

/* Restores the writer's state from what it has published (W7). */
void mg_ring_recover(struct mg_writer *t)
{
	t->head = __atomic_load_n(&t->ring->head, __ATOMIC_ACQUIRE);
	if (t->wrapping && t->head == t->wrap_head + 8) {
		t->lap_before = t->wrap_lap;
		t->lap = t->head;
	}
	t->wrapping = false;
	t->offset = t->head - t->lap;
	t->mark = 0;
	t->sent = MG_NOT_SENT;
	__atomic_store_n(&t->ring->waiting, 0, __ATOMIC_RELAXED);
}

/* Returns the offset that a record and the 8 bytes kept for MG_WRAP must not exceed (W2). */
static uint64_t limit_of(const struct mg_writer *t)
{
	uint64_t behind = t->head - t->tail; /* number of unread bytes */
	if (behind <= t->offset)
		return t->size;
	if (behind > t->head - t->lap_before)
		return 0;
	return t->tail - t->lap_before;
}

/* Sets t->mark, the offset up to which records are written without another check (W6). */
static void set_mark(struct mg_writer *t, uint64_t limit, uint64_t bytes)
{
	uint64_t unread = t->head - t->tail, half = t->size / 2;
	uint64_t end = (limit < t->size ? limit : t->size) - 8;
	uint64_t next = t->offset + (unread < half ? half - unread : t->size / 8);
	t->mark = next < end ? next : end;
	if (t->mark < t->offset + bytes)
		t->mark = t->offset + bytes;
	if (unread >= half)
		mg_wake_recorder();
}

uint64_t *mg_room_slow(struct mg_writer *t, uint32_t words)
{
	uint64_t bytes = words * UINT64_C(8);
	for (;;) {
		t->tail = __atomic_load_n(&t->ring->tail, __ATOMIC_ACQUIRE);
		if (t->offset && t->offset + bytes + 8 > t->size) {
			wrap(t);
			continue;
		}
		uint64_t limit = limit_of(t);
		if (t->offset + bytes + 8 <= limit) {
			set_mark(t, limit, bytes);
			return (uint64_t *)(void *)(t->window + t->offset);
		}
		if (!wait_for_tail(t, t->tail))
			return NULL;
	}
}

void mg_lost(struct mg_writer *t, uint64_t stamp)
{
	struct mg_ring *r = t->ring;
	if (!__atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED))
		return;
	if (!r->lost)
		__atomic_store_n(&r->lost_first, stamp, __ATOMIC_RELAXED);
	__atomic_store_n(&r->lost_last, stamp, __ATOMIC_RELAXED);
	__atomic_store_n(&r->lost, r->lost + 1, __ATOMIC_RELEASE);
}

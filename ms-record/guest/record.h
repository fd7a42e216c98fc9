/* SPDX-License-Identifier: MIT
 * How a hook enters, and how it writes a record.
 *
 * Order in one record: `pending`, the stamp, the stack, the words, `head`. Reading the clock takes
 * long and depends on nothing, so it goes on while the stack is taken. Where there is no room in
 * the ring, or a stack copy has to be sent, the stamp is given up and another one taken afterwards:
 * a thread that waits holds up nobody's events.
 */
#pragma once

#include "core.h"
#include "sample.h"

/* Words of a record before its frames, word 0 included. */
enum {
	ALLOC_SHORT_WORDS = 2,
	ALLOC_WORDS = 4,
	FREE_WORDS = 3,
	REALLOC_WORDS = 6,
	FAILED_WORDS = 3,
	MAP_WORDS = 6,
	UNMAP_WORDS = 5,
	HEAP_ALLOC_WORDS = 6,
	HEAP_REALLOC_WORDS = 8,
	BACKING_WORDS = 5
};

struct mg_record {
	uint32_t kind, words;
	uint64_t a, b, c, d, e, f; /* what follows the stamp */
	uint64_t before;           /* its stamp, if that was taken before the real call (holding) */
};

/* The stamp of the event under way. It is taken as soon as the event may have it, for reading the
 * clock takes as long as a good part of the rest, which goes on meanwhile. */
MG_INLINE uint64_t mg_now(struct mg_writer *t)
{
	if (!t->holding)
		mg_stamping(t);
	return mg_stamp(t);
}

/* Lets that stamp go, before what may take long. */
MG_INLINE void mg_forget_now(struct mg_writer *t)
{
	if (!t->holding)
		mg_stamped(t);
}

/* record.c: the rare ways of what follows. After each, a new stamp. There is no room at once, or
 * more than one record to write. */
uint64_t *mg_room_later(struct mg_writer *t, uint32_t words, struct mg_stack *s, uint64_t *stamp);
/* Sends the stack by another way. Returns the event's flags. */
uint32_t mg_copy_later(struct mg_writer *t, const uint64_t *frame, uint64_t *stamp);
/* There is no room at all. */
void mg_drop(struct mg_writer *t, uint64_t stamp);
/* Writes a record without a stack: `n` words behind the stamp, then `name_bytes` bytes of `name` in
 * whole words. Its stamp, or 0: there was no room, and it is counted as lost. */
uint64_t mg_put_words(struct mg_writer *t, uint32_t kind, const uint64_t *v, uint32_t n,
		      const char *name, uint32_t name_bytes);
/* Is the gate shut? A forked child may open its own: then *on is what it is now. */
bool mg_is_shut(uint32_t *on, const uint64_t *frame);

/* The stack that mg_unwind has just taken. */
MG_INLINE struct mg_stack mg_taken(const struct mg_writer *t)
{
	return (struct mg_stack){MG_F_STACK | t->root_flags, t->keep, t->frames - t->keep,
				 t->ip + t->keep};
}

/* The stack for a record of so many words. */
MG_INLINE struct mg_stack mg_stack_of(struct mg_writer *t, const uint64_t *frame, uint32_t words,
				      uint64_t *stamp)
{
	bool sampled = mg.session->sample_bytes;
	if (MG_LIKELY((sampled ? mg_unwind_sampled : mg_unwind)(t, frame, words))) {
		struct mg_stack s = mg_taken(t);
		if (MG_UNLIKELY(mg.python))
			mg_python_merge(t, words, &s, stamp);
		return s;
	}
	uint64_t later;
	uint32_t flags = mg_copy_later(t, frame, &later);
	*stamp = later;
	return (struct mg_stack){.flags = flags};
}

/* Writes the record with its stack, which was taken for it, and stamp. */
MG_INLINE void mg_put(struct mg_writer *t, const struct mg_record r, struct mg_stack s,
		      uint64_t stamp)
{
	uint64_t *w = (uint64_t *)(void *)(t->window + t->offset);
	if (MG_UNLIKELY(s.count > MG_FRAMES_RECORD || !mg_has_room(t, r.words + s.count))) {
		struct mg_stack rest = s;
		uint64_t later;
		w = mg_room_later(t, r.words, &rest, &later);
		s = rest;
		stamp = later;
		if (!w) {
			mg_drop(t, stamp);
			return;
		}
	}
	w[0] = mg_word0(r.kind, s.flags | t->flags, s.count, s.keep);
	if (r.words > 2)
		w[2] = r.a;
	if (r.words > 3)
		w[3] = r.b;
	if (r.words > 4)
		w[4] = r.c;
	if (r.words > 5)
		w[5] = r.d;
	if (r.words > 6)
		w[6] = r.e;
	if (r.words > 7)
		w[7] = r.f;
	bool early = r.kind == MG_FREE || r.kind == MG_UNMAP;
	mg_put_stamp(t, w, early && t->holding ? r.before : stamp);
	t->holding = false;
	mg_publish(t, r.words + s.count);
	mg_stamped(t);
	if (MG_UNLIKELY(!t->keepable))
		mg_forget(t);
}

/* record.c: writes that a block went: of MG_FREE or MG_USER_FREE, with these flags and no stack.
 * `before`: its stamp, if the writer holds one. */
void mg_put_gone(struct mg_writer *t, uint32_t kind, const void *block, uint32_t flags,
		 uint64_t before);
/* Takes the stack, and writes the record with that. */
MG_INLINE void mg_put_with_stack(struct mg_writer *t, const uint64_t *frame,
				 const struct mg_record r)
{
	uint64_t stamp = mg_now(t);
	struct mg_stack s = mg_stack_of(t, frame, r.words, &stamp);
	mg_put(t, r, s, stamp);
}

/* Ends an event whose writer is entered by recording it with its stack; mg_pass (hooks.c) by counting
 * an allocation only, and mg_leave by nothing. */
MG_INLINE void mg_record(struct mg_writer *t, const uint64_t *frame, const struct mg_record r)
{
	mg_put_with_stack(t, frame, r);
	mg_leave(t);
}
/* `block`: what malloc gave out, or NULL. */
void mg_pass(struct mg_writer *t, const void *block);

/* ---- short records ---- */

/* record.c: what does not fit into a short one. */
void mg_put_alloc_full(struct mg_writer *t, const struct mg_stack *stack, uint64_t address,
		       uint64_t size, uint64_t stamp);
void mg_put_free_full(struct mg_writer *t, uint64_t address, uint64_t stamp);
/* Writes an allocation whose stack has to be sent by another way. */
void mg_put_alloc_copied(struct mg_writer *t, const uint64_t *frame, uint64_t address,
			 uint64_t size);

/* An allocation with the stack that was taken for a record of ALLOC_SHORT_WORDS. Not to be used while a
 * stamp is held. */
MG_INLINE void mg_put_alloc(struct mg_writer *t, struct mg_stack s, uint64_t address, uint64_t size,
			    uint64_t stamp)
{
	uint64_t *w = (uint64_t *)(void *)(t->window + t->offset), since = stamp - t->sent;
	_Static_assert(2 * MG_FRAMES_MAX < 1u << MG_SHORT_KEEP, "keep always fits");
	if (MG_UNLIKELY(since >> MG_SHORT_ALLOC_STAMP | size >> MG_SHORT_SIZE |
			address >> MG_SHORT_ADDRESS | s.count >> MG_SHORT_COUNT |
			((s.flags | t->flags) ^ MG_F_STACK)) ||
	    MG_UNLIKELY(!mg_has_room(t, ALLOC_SHORT_WORDS + s.count))) {
		struct mg_stack full = s;
		mg_put_alloc_full(t, &full, address, size, stamp);
		return;
	}
	w[0] = MG_ALLOC_SHORT | s.count << 8 | s.keep << 16 | since << 32;
	w[1] = address | size << MG_SHORT_ADDRESS;
	t->sent = stamp;
	mg_publish_stamped(t, ALLOC_SHORT_WORDS + s.count);
	if (MG_UNLIKELY(!t->keepable))
		mg_forget(t);
}

/* Writes a free without a stack, as a short record if it fits. */
MG_INLINE void mg_put_free(struct mg_writer *t, uint64_t address, uint64_t stamp)
{
	uint64_t *w = (uint64_t *)(void *)(t->window + t->offset), since = stamp - t->sent;
	uint64_t place = address >> 4 | address << 60; /* in 16 bytes, if it is at a whole one */
	if (MG_UNLIKELY(since >> MG_SHORT_FREE_STAMP | place >> MG_SHORT_FREE_SHIFT | t->flags) ||
	    MG_UNLIKELY(!mg_has_room(t, 1))) {
		mg_put_free_full(t, address, stamp);
		return;
	}
	w[0] = MG_SHORT_FREE | since << MG_SHORT_FREE_SHIFT | place;
	t->sent = stamp;
	mg_publish_stamped(t, 1);
}

/* ---- entering ---- */

/* The gate, read once per hook: anything but MG_GATE_ALL is the slow way, so that recording
 * everything pays nothing for sampling. */
MG_INLINE uint32_t mg_gate_now(void)
{
	return __atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED);
}

MG_INLINE bool mg_passing(void)
{
	return MG_UNLIKELY(__atomic_load_n(&mg.session->state, __ATOMIC_RELAXED) != MG_ON);
}

/* Asleep, or recorded no more. */
MG_INLINE bool mg_is_off(void)
{
	return __atomic_load_n(&mg.session->state, __ATOMIC_RELAXED) == MG_OFF;
}

MG_INLINE bool mg_waiting(void)
{
	return __atomic_load_n(&mg.session->state, __ATOMIC_RELAXED) == MG_WAITING;
}

/* Marks this thread's writer busy, if it is ready, which it nearly always is. */
MG_INLINE bool mg_begin(struct mg_writer *t, const struct mg_session *s, const uint64_t *frame)
{
	if (MG_UNLIKELY(!t || (uintptr_t)t & 1 || t->busy ||
			t->epoch_seen != __atomic_load_n(&s->epoch, __ATOMIC_ACQUIRE)))
		return false;
	__atomic_store_n(&t->busy, (uint64_t)frame, __ATOMIC_RELAXED);
	__asm__ volatile("" ::: "memory");
	t->keepable = true;
	return true;
}

/* The gate is open, but the session may be closed. */
MG_INLINE struct mg_writer *mg_enter_open(const uint64_t *frame)
{
	const struct mg_session *s = mg.session;
	if (MG_UNLIKELY(__atomic_load_n(&s->state, __ATOMIC_RELAXED) == MG_OFF))
		return NULL;
	struct mg_writer *t = (struct mg_writer *)*MG_SELF;
	return mg_begin(t, s, frame) ? t : mg_enter_slow(t, frame);
}

/* Enters the thread's writer where everything is recorded and the writer is ready, which is nearly
 * always; NULL = not so, or not to be recorded. */
MG_INLINE struct mg_writer *mg_enter_plain(const uint64_t *frame)
{
	const struct mg_session *s = mg.session;
	struct mg_writer *t = (struct mg_writer *)*MG_SELF;
	if (MG_UNLIKELY(__atomic_load_n(&s->state, __ATOMIC_RELAXED) != MG_ON))
		return NULL;
	return mg_begin(t, s, frame) ? t : NULL;
}

MG_INLINE struct mg_writer *mg_enter(const uint64_t *frame)
{
	uint32_t on = mg_gate_now();
	if (MG_UNLIKELY(on != MG_GATE_ALL) && mg_is_shut(&on, frame))
		return NULL;
	return mg_enter_open(frame);
}

/* Paused: an allocation is counted only. */
MG_INLINE void mg_count_passed(struct mg_writer *t)
{
	if (__atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED))
		__atomic_store_n(&t->ring->passed, t->ring->passed + 1, __ATOMIC_RELAXED);
}

/* The stamp before the real call is published only after it, so `pending` is held from here to the
 * end. */
MG_INLINE uint64_t mg_hold(struct mg_writer *t)
{
	mg_stamping(t);
	t->holding = true;
	return mg_stamp(t);
}

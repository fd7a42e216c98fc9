/* SPDX-License-Identifier: MIT
 * Declares how a hook enters, and how it writes a record.
 *
 * Order in one record: `pending`, the stamp, the stack, the words, `head`. Reading the clock takes
 * long and depends on nothing, so the CPU overlaps it with taking the stack. If the ring has no
 * room, or a stack copy has to be sent, the stamp is given up and another one taken afterwards: a
 * thread that waits holds up no other thread's events.
 */
#pragma once

#include "core.h"
#include "sample.h"

/* Numbers of words of each kind of record before its frames, word 0 included. */
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
	uint64_t a, b, c, d, e, f; /* words after the stamp */
	/* the record's stamp if that was taken before the real call (`holding`); else unused */
	uint64_t before;
};

/* Returns the stamp of the event in progress. The stamp is taken as early as possible, because
 * reading the clock takes long and the CPU can do other work meanwhile. */
MG_INLINE uint64_t mg_now(struct mg_writer *t)
{
	if (!t->holding)
		mg_stamping(t);
	return mg_stamp(t);
}

/* Gives up the stamp of mg_now before a step that may take long, so that the merge need not wait
 * for it. */
MG_INLINE void mg_forget_now(struct mg_writer *t)
{
	if (!t->holding)
		mg_stamped(t);
}

/* record.c: the slow paths of the functions below; each takes a new stamp. mg_room_later returns
 * room if there is none at once, or if the stack needs several records. */
uint64_t *mg_room_later(struct mg_writer *t, uint32_t words, struct mg_stack *s, uint64_t *stamp);
/* Sends the stack as a copy or not at all. Returns the event's flags. */
uint32_t mg_copy_later(struct mg_writer *t, const uint64_t *frame, uint64_t *stamp);
/* Drops the record, because there is no room. */
void mg_drop(struct mg_writer *t, uint64_t stamp);
/* Writes a record without a stack: `n` words after the stamp, then `name_bytes` bytes of `name`
 * in whole words. Returns the record's stamp; 0 = there was no room, and the record is counted
 * as lost. */
uint64_t mg_put_words(struct mg_writer *t, uint32_t kind, const uint64_t *v, uint32_t n,
		      const char *name, uint32_t name_bytes);
/* Tells whether the gate (the word that each hook reads first) is shut, so that nothing is
 * recorded. A forked child may open its own gate here; *on is then the gate's new state. */
bool mg_is_shut(uint32_t *on, const uint64_t *frame);

/* Returns the stack that mg_unwind has just taken. */
MG_INLINE struct mg_stack mg_taken(const struct mg_writer *t)
{
	return (struct mg_stack){MG_F_STACK | t->root_flags, t->keep, t->frames - t->keep,
				 t->ip + t->keep};
}

/* Unwinds the stack for a record of `words` words. */
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

/* Writes a record with its stamp and with the stack that was taken for it. */
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

/* record.c: writes a record of kind MG_FREE or MG_USER_FREE, with these flags and no stack.
 * `before`: its stamp, if the writer holds one. */
void mg_put_gone(struct mg_writer *t, uint32_t kind, const void *block, uint32_t flags,
		 uint64_t before);
/* Unwinds the stack, and writes the record with that stack. */
MG_INLINE void mg_put_with_stack(struct mg_writer *t, const uint64_t *frame,
				 const struct mg_record r)
{
	uint64_t stamp = mg_now(t);
	struct mg_stack s = mg_stack_of(t, frame, r.words, &stamp);
	mg_put(t, r, s, stamp);
}

/* Records an event with its stack, by a writer that has been entered, and leaves the writer.
 * Alternatives: mg_pass (hooks.c) only counts an allocation, mg_leave records nothing. */
MG_INLINE void mg_record(struct mg_writer *t, const uint64_t *frame, const struct mg_record r)
{
	mg_put_with_stack(t, frame, r);
	mg_leave(t);
}
/* Counts an allocation without recording it, and leaves the writer. `block`: the block that
 * malloc returned, or NULL. */
void mg_pass(struct mg_writer *t, const void *block);

/* ---- short records ---- */

/* record.c: writes a full record, if a short one does not suffice. */
void mg_put_alloc_full(struct mg_writer *t, const struct mg_stack *stack, uint64_t address,
		       uint64_t size, uint64_t stamp);
void mg_put_free_full(struct mg_writer *t, uint64_t address, uint64_t stamp);
/* Writes an allocation whose stack has to be sent as a copy. */
void mg_put_alloc_copied(struct mg_writer *t, const uint64_t *frame, uint64_t address,
			 uint64_t size);

/* Writes an allocation, with the stack taken for a record of ALLOC_SHORT_WORDS, as a short
 * record if it fits. Not to be called while a stamp is held. */
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
	/* in units of 16 bytes; too large for a short record if the address is not a multiple of
	 * 16 */
	uint64_t place = address >> 4 | address << 60;
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

/* Reads the gate, which selects how much is recorded, once per hook. Any value but MG_GATE_ALL
 * takes the slow path, so that sampling costs nothing when everything is recorded. A thread that
 * sees the gate open sees the session of which it is the gate: a forked child's is another. */
MG_INLINE uint32_t mg_gate_now(void)
{
	return __atomic_load_n(&mg.gate->on, __ATOMIC_ACQUIRE);
}

MG_INLINE bool mg_passing(void)
{
	return MG_UNLIKELY(__atomic_load_n(&mg.session->state, __ATOMIC_RELAXED) != MG_ON);
}

/* Tells whether the session is on standby or ended. */
MG_INLINE bool mg_is_off(void)
{
	return __atomic_load_n(&mg.session->state, __ATOMIC_RELAXED) == MG_OFF;
}

MG_INLINE bool mg_waiting(void)
{
	return __atomic_load_n(&mg.session->state, __ATOMIC_RELAXED) == MG_WAITING;
}

/* Marks this thread's writer busy; false = the writer is not ready, which is rare. */
MG_INLINE bool mg_begin(struct mg_writer *t, const struct mg_session *s, const uint64_t *frame)
{
	if (MG_UNLIKELY(!t || (uintptr_t)t & 1 || t->busy ||
			t->epoch_seen != __atomic_load_n(&s->epoch, __ATOMIC_ACQUIRE)))
		return false;
	__atomic_store_n(&t->busy, mg_frame_id(frame), __ATOMIC_RELAXED);
	__asm__ volatile("" ::: "memory");
	t->keepable = true;
	return true;
}

/* Enters the thread's writer while the gate (the word that each hook reads first) is open; NULL =
 * the session is off, or nothing is to be recorded. */
MG_INLINE struct mg_writer *mg_enter_open(const uint64_t *frame)
{
	const struct mg_session *s = mg.session;
	if (MG_UNLIKELY(__atomic_load_n(&s->state, __ATOMIC_RELAXED) == MG_OFF))
		return NULL;
	struct mg_writer *t = (struct mg_writer *)*MG_SELF;
	return mg_begin(t, s, frame) ? t : mg_enter_slow(t, frame);
}

/* Enters the thread's writer if everything is recorded and the writer is ready, as is nearly
 * always so; else NULL. */
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

/* Counts an allocation that is not recorded, while paused. */
MG_INLINE void mg_count_passed(struct mg_writer *t)
{
	if (__atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED))
		__atomic_store_n(&t->ring->passed, t->ring->passed + 1, __ATOMIC_RELAXED);
}

/* Takes a stamp before the real call. The stamp is published only after that call, so `pending`
 * stays set until then. */
MG_INLINE uint64_t mg_hold(struct mg_writer *t)
{
	mg_stamping(t);
	t->holding = true;
	return mg_stamp(t);
}

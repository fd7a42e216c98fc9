/* SPDX-License-Identifier: MIT
 * What a hook does once the real function has been called: take the stack, take the stamp, write
 * the record.
 *
 * Order in one record: `pending`, the stamp, the stack, the words, `head`. Reading the clock takes
 * long and depends on nothing, so it goes on while the stack is taken. Where there is no room in
 * the ring, or a stack copy has to be sent, the stamp is given up and another one taken afterwards:
 * a thread that waits holds up nobody's events.
 */
#include "core.h"

/* Words of a record before its frames, word 0 included. */
enum {
	ALLOC_WORDS = 4,
	FREE_WORDS = 3,
	REALLOC_WORDS = 6,
	FAILED_WORDS = 3,
	MAP_WORDS = 6,
	UNMAP_WORDS = 5
};

struct record {
	uint32_t kind, words;
	uint64_t a, b, c, d, e; /* what follows the stamp */
	uint64_t before;        /* its stamp, if that was taken before the real call (holding) */
};

struct stack {
	uint32_t flags, keep, count;
	const uint64_t *frames;
};

/* ---- records ----------------------------------------------------------------------------------
 */

/* The stamp of the event under way. It is taken as soon as the event may have it, for reading the
 * clock takes as long as a good part of the rest, which goes on meanwhile. */
MG_INLINE uint64_t now(struct mg_writer *t)
{
	if (!t->holding)
		mg_stamping(t);
	return mg_stamp(t);
}

/* Lets that stamp go, before what may take long. */
MG_INLINE void forget_now(struct mg_writer *t)
{
	if (!t->holding)
		mg_stamped(t);
}

/* A stack too long for one record: its outer part goes ahead. */
static bool push(struct mg_writer *t, struct stack *s)
{
	while (s->count > MG_FRAMES_RECORD) {
		uint64_t *w = mg_room(t, 1 + MG_FRAMES_RECORD);
		if (!w)
			return false;
		w[0] = mg_word0(MG_PUSH, t->flags, MG_FRAMES_RECORD, s->keep);
		for (uint32_t i = 0; i < MG_FRAMES_RECORD; i++)
			w[1 + i] = s->frames[i];
		mg_publish(t, 1 + MG_FRAMES_RECORD);
		s->keep += MG_FRAMES_RECORD;
		s->count -= MG_FRAMES_RECORD;
		s->frames += MG_FRAMES_RECORD;
	}
	return true;
}

/* There is no room at once, or more than one record to write: after it, a new stamp. */
static __attribute__((noinline)) uint64_t *room_later(struct mg_writer *t, uint32_t words,
						      struct stack *s, uint64_t *stamp)
{
	forget_now(t);
	uint64_t *w = push(t, s) ? mg_room(t, words + s->count) : NULL;
	for (uint32_t i = 0; w && i < s->count; i++)
		w[words + i] = s->frames[i];
	*stamp = now(t);
	return w;
}

/* It has to be sent by another way: after it, a new stamp. */
static __attribute__((noinline)) uint32_t copy_later(struct mg_writer *t, const uint64_t *frame,
						     uint64_t *stamp)
{
	forget_now(t);
	uint32_t flags = mg_send_copy(t, frame);
	*stamp = now(t);
	return flags;
}

/* The stack for a record of so many words. */
MG_INLINE struct stack stack_of(struct mg_writer *t, const uint64_t *frame, uint32_t words,
				uint64_t *stamp)
{
	if (MG_LIKELY(mg_unwind(t, frame, words)))
		return (struct stack){MG_F_STACK | t->root_flags, t->keep, t->frames - t->keep,
				      t->ip + t->keep};
	uint64_t later;
	uint32_t flags = copy_later(t, frame, &later);
	*stamp = later;
	return (struct stack){.flags = flags};
}

static __attribute__((noinline)) void drop(struct mg_writer *t, uint64_t stamp)
{
	mg_lost(t, stamp);
	t->holding = false;
	mg_stamped(t);
	mg_forget(t);
}

/* Writes the record with its stack, which was taken for it, and stamp. */
MG_INLINE void put(struct mg_writer *t, const struct record r, struct stack s, uint64_t stamp)
{
	uint64_t *w = (uint64_t *)(void *)(t->window + t->offset);
	if (MG_UNLIKELY(s.count > MG_FRAMES_RECORD || !mg_has_room(t, r.words + s.count))) {
		struct stack rest = s;
		uint64_t later;
		w = room_later(t, r.words, &rest, &later);
		s = rest;
		stamp = later;
		if (!w) {
			drop(t, stamp);
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
	bool early = r.kind == MG_FREE || r.kind == MG_UNMAP;
	w[1] = early && t->holding ? r.before : stamp;
	t->holding = false;
	mg_publish(t, r.words + s.count);
	mg_stamped(t);
	if (MG_UNLIKELY(!t->keepable))
		mg_forget(t);
}

/* The gate, read once per hook: anything but MG_GATE_ALL is the slow way, so that recording
 * everything pays nothing for sampling. */
MG_INLINE uint32_t gate(void)
{
	return __atomic_load_n(&mg_gate->on, __ATOMIC_RELAXED);
}

/* Is the gate shut? A forked child may open its own: then *on is what it is now. */
static __attribute__((noinline)) bool shut(uint32_t *on, const uint64_t *frame)
{
	if (!*on && mg_is_open(frame))
		*on = gate();
	return !*on;
}

/* The gate is open, but the session may be closed. */
MG_INLINE struct mg_writer *enter_open(const uint64_t *frame)
{
	const struct mg_session *s = mg.session;
	if (MG_UNLIKELY(__atomic_load_n(&s->state, __ATOMIC_RELAXED) == MG_OFF))
		return NULL;
	struct mg_writer *t = (struct mg_writer *)*MG_SELF;
	if (MG_UNLIKELY(!t || (uintptr_t)t & 1 || t->busy ||
			t->epoch_seen != __atomic_load_n(&s->epoch, __ATOMIC_ACQUIRE)))
		return mg_enter_slow(t, frame);
	__atomic_store_n(&t->busy, (uint64_t)frame, __ATOMIC_RELAXED);
	__asm__ volatile("" ::: "memory");
	t->keepable = true;
	return t;
}

/* The same where everything is recorded and the thread's writer is ready, which is nearly always;
 * NULL = not so, or not to be recorded. */
MG_INLINE struct mg_writer *enter_plain(const uint64_t *frame)
{
	const struct mg_session *s = mg.session;
	struct mg_writer *t = (struct mg_writer *)*MG_SELF;
	if (MG_UNLIKELY(__atomic_load_n(&s->state, __ATOMIC_RELAXED) != MG_ON || !t ||
			(uintptr_t)t & 1 || t->busy ||
			t->epoch_seen != __atomic_load_n(&s->epoch, __ATOMIC_ACQUIRE)))
		return NULL;
	__atomic_store_n(&t->busy, (uint64_t)frame, __ATOMIC_RELAXED);
	__asm__ volatile("" ::: "memory");
	t->keepable = true;
	return t;
}

MG_INLINE struct mg_writer *enter(const uint64_t *frame)
{
	uint32_t on = gate();
	if (MG_UNLIKELY(on != MG_GATE_ALL) && shut(&on, frame))
		return NULL;
	return enter_open(frame);
}

/* ---- paused -----------------------------------------------------------------------------------
 */

MG_INLINE bool passing(void)
{
	return MG_UNLIKELY(__atomic_load_n(&mg.session->state, __ATOMIC_RELAXED) != MG_ON);
}

static bool waiting(void)
{
	return __atomic_load_n(&mg.session->state, __ATOMIC_RELAXED) == MG_WAITING;
}

/* An allocation that is counted only, and leaves the hook. */
static __attribute__((noinline)) void pass(struct mg_writer *t, const void *block)
{
	struct mg_ring *r = t->ring;
	if (__atomic_load_n(&mg_gate->on, __ATOMIC_RELAXED))
		__atomic_store_n(&r->passed, r->passed + 1, __ATOMIC_RELAXED);
	t->last_block = (uint64_t)block;
	mg_leave(t);
}

/* A realloc: the old block goes, the new one is counted only. */
static __attribute__((noinline)) void pass_realloc(struct mg_writer *t, uint64_t before,
						   const void *old, const void *block,
						   uint64_t size)
{
	if ((block || !size) && !waiting()) {
		put(t,
		    (struct record){.kind = MG_FREE,
				    .words = FREE_WORDS,
				    .a = (uint64_t)old,
				    .before = before},
		    (struct stack){0}, now(t));
	} else {
		t->holding = false;
		mg_stamped(t);
		if (gate() == MG_GATE_SAMPLING)
			mg_sample_keep((uint64_t)old);
	}
	if (block)
		pass(t, block);
	else
		mg_leave(t);
}

/* At the mark that was asked for, recording begins: what follows on this thread is recorded. */
static void begin_at(const char *name)
{
	struct mg_session *s = mg.session;
	uint32_t from = MG_WAITING, i = 0;
	while (i < sizeof(s->start_mark) - 1 && name[i] && name[i] == s->start_mark[i])
		i++;
	if (!i || s->start_mark[i] || (name[i] && i < sizeof(s->start_mark) - 1))
		return;
	__atomic_compare_exchange_n(&s->state, &from, MG_ON, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
}

/* ---- the gate is not wide open: shut, or sampling ---------------------------------------------
 */

/* The first allocation of a thread, a pause, a forked child's first event. */
static __attribute__((noinline)) bool skip_alloc_slow(uint32_t on, const uint64_t *frame,
						      uint64_t key, uint64_t size)
{
	if (shut(&on, frame))
		return true;
	if (on == MG_GATE_ALL)
		return false;
	if (!passing())
		return !mg_sample_alloc(frame, key, size);
	struct mg_writer *t = enter_open(frame);
	if (t)
		pass(t, key & MG_SAMPLE_USER ? NULL : (const void *)key);
	return true;
}

static __attribute__((noinline)) bool skip_alloc(uint32_t on, const uint64_t *frame, uint64_t key,
						 uint64_t size)
{
	uintptr_t self = *MG_SELF;
	if (MG_UNLIKELY(on != MG_GATE_SAMPLING || passing() || !self || self & 1))
		return skip_alloc_slow(on, frame, key, size);
	return mg_sample_passes((struct mg_writer *)self, key, size);
}

static __attribute__((noinline)) bool skip_free_slow(uint32_t on, const uint64_t *frame,
						     uint64_t key, uint32_t *flags)
{
	if (shut(&on, frame))
		return true;
	if (on == MG_GATE_ALL)
		return false;
	enum mg_sampled known = mg_sample_free(key);
	*flags = known == MG_SAMPLED_UNSURE ? MG_F_UNSURE : 0;
	return known == MG_SAMPLED_NO;
}

static __attribute__((noinline)) bool skip_free(uint32_t on, const uint64_t *frame, uint64_t key,
						uint32_t *flags)
{
	if (MG_LIKELY(on == MG_GATE_SAMPLING) && MG_LIKELY(mg_sample_unknown(key)))
		return true;
	return skip_free_slow(on, frame, key, flags);
}

/* While sampling, is there nothing of a realloc's old block to be recorded with the new one? Where
 * it is not sure, the free goes ahead by itself. */
static __attribute__((noinline)) bool skip_release(uint32_t on, const uint64_t *frame,
						   const void *old)
{
	uint32_t flags = 0;
	if (skip_free(on, frame, (uint64_t)old, &flags))
		return true;
	struct mg_writer *t = flags ? enter_open(frame) : NULL;
	if (t) {
		put(t, (struct record){.kind = MG_FREE, .words = FREE_WORDS, .a = (uint64_t)old},
		    (struct stack){.flags = flags}, now(t));
		mg_leave(t);
	}
	return flags != 0;
}

/* A realloc that has no old block to be recorded: the new one is an allocation like others. */
static __attribute__((noinline)) void end_unknown(const uint64_t *frame, const void *block,
						  uint64_t size)
{
	if (gate() != MG_GATE_SAMPLING)
		return;
	if (block)
		mg_on_alloc(frame, block, size);
	else if (size)
		mg_on_failed(frame, size);
}

/* What a realloc of a sampled block comes to: the new one may not be sampled, and if there is none
 * the old one goes on. */
static __attribute__((noinline)) struct record end_sampled(const uint64_t *frame, struct record r,
							   struct record release, const void *old)
{
	if (r.kind == MG_FAILED)
		mg_sample_keep((uint64_t)old);
	return r.kind == MG_REALLOC && !mg_sample_alloc(frame, r.a, r.b) ? release : r;
}

/* ---- the hooks --------------------------------------------------------------------------------
 */

/* As put, with the usable size behind what the record has: `words` counts it. */
static __attribute__((noinline)) void put_usable(struct mg_writer *t, struct record r,
						 struct stack s, uint64_t stamp)
{
	uint64_t usable = mg.usable((const void *)r.a);
	*(r.kind == MG_ALLOC ? &r.c : &r.e) = usable;
	s.flags |= MG_F_USABLE;
	put(t, r, s, stamp);
}

/* An allocation when the gate is not wide open, or it is paused. A writer: it is to be recorded. */
static __attribute__((noinline)) struct mg_writer *
enter_alloc_rare(const uint64_t *frame, const void *block, uint64_t size)
{
	uint32_t on = gate();
	if (on != MG_GATE_ALL && skip_alloc(on, frame, (uint64_t)block, size))
		return NULL;
	struct mg_writer *t = enter_open(frame);
	if (t && passing()) {
		pass(t, block);
		return NULL;
	}
	return t;
}

MG_INLINE void on_alloc(const uint64_t *frame, const void *block, uint64_t size, bool foreign)
{
	uint32_t on = gate();
	struct mg_writer *t = MG_LIKELY(on == MG_GATE_ALL) ? enter_plain(frame) : NULL;
	if (MG_UNLIKELY(!t) && !(t = enter_alloc_rare(frame, block, size)))
		return;
	uint64_t stamp = now(t);
	bool usable = MG_UNLIKELY(mg.usable) && !foreign;
	struct record r = {
		.kind = MG_ALLOC, .words = ALLOC_WORDS + usable, .a = (uint64_t)block, .b = size};
	struct stack s = stack_of(t, frame, r.words, &stamp);
	if (MG_LIKELY(!usable))
		put(t, r, s, stamp);
	else
		put_usable(t, r, s, stamp);
	t->last_block = (uint64_t)block;
	mg_leave(t);
}

void mg_on_alloc(const uint64_t *frame, const void *block, uint64_t size)
{
	on_alloc(frame, block, size, false);
}

void mg_on_foreign_alloc(const uint64_t *frame, const void *block, uint64_t size)
{
	on_alloc(frame, block, size, true);
}

void mg_on_failed(const uint64_t *frame, uint64_t size)
{
	struct mg_writer *t = enter(frame);
	if (!t)
		return;
	if (!passing()) {
		uint64_t stamp = now(t);
		struct stack s = stack_of(t, frame, FAILED_WORDS, &stamp);
		put(t, (struct record){.kind = MG_FAILED, .words = FAILED_WORDS, .a = size}, s,
		    stamp);
	}
	mg_leave(t);
}

/* A free that is not all plain: the gate is not wide open, it is paused, or frees have stacks. */
static __attribute__((noinline)) void on_free_rare(const uint64_t *frame, const void *block)
{
	uint32_t on = gate();
	struct stack s = {0};
	if (on != MG_GATE_ALL && skip_free_slow(on, frame, (uint64_t)block, &s.flags))
		return;
	struct mg_writer *t = enter_open(frame);
	if (!t)
		return;
	if (t->freeing == (uint64_t)block || (passing() && waiting())) {
		mg_leave(t);
		return;
	}
	uint64_t stamp = now(t);
	if (mg.free_stacks && !passing()) {
		uint32_t unsure = s.flags;
		s = stack_of(t, frame, FREE_WORDS, &stamp);
		s.flags |= unsure;
	}
	put(t, (struct record){.kind = MG_FREE, .words = FREE_WORDS, .a = (uint64_t)block}, s,
	    stamp);
	mg_leave(t);
}

void mg_on_free(const uint64_t *frame, const void *block)
{
	uint32_t on = gate();
	if (MG_UNLIKELY(on == MG_GATE_SAMPLING) && MG_LIKELY(mg_sample_unknown((uint64_t)block)))
		return;
	bool plain = on == MG_GATE_ALL && !mg.free_stacks;
	struct mg_writer *t = MG_LIKELY(plain) ? enter_plain(frame) : NULL;
	if (MG_UNLIKELY(!t)) {
		on_free_rare(frame, block);
		return;
	}
	if (MG_LIKELY(t->freeing != (uint64_t)block)) {
		uint64_t stamp = now(t);
		put(t, (struct record){.kind = MG_FREE, .words = FREE_WORDS, .a = (uint64_t)block},
		    (struct stack){0}, stamp);
	}
	mg_leave(t);
}

/* The stamp before the real call is published only after it, so `pending` is held from here to the
 * end. */
MG_INLINE uint64_t hold(struct mg_writer *t)
{
	mg_stamping(t);
	t->holding = true;
	return mg_stamp(t);
}

struct mg_writer *mg_realloc_begin(const uint64_t *frame, const void *old, uint64_t *before)
{
	uint32_t on = gate();
	if (MG_UNLIKELY(on != MG_GATE_ALL) && skip_release(on, frame, old))
		return NULL;
	struct mg_writer *t = enter_open(frame);
	if (t)
		*before = hold(t);
	return t;
}

void mg_realloc_end(struct mg_writer *t, const uint64_t *frame, uint64_t before, const void *old,
		    const void *block, uint64_t size)
{
	if (MG_UNLIKELY(!t)) {
		end_unknown(frame, block, size);
		return;
	}
	if (passing()) {
		pass_realloc(t, before, old, block, size);
		return;
	}
	const struct record release = {
		.kind = MG_FREE, .words = FREE_WORDS, .a = (uint64_t)old, .before = before};
	struct record r = release;
	struct stack s = {0};
	if (block)
		r = (struct record){.kind = MG_REALLOC,
				    .words = REALLOC_WORDS,
				    .a = (uint64_t)block,
				    .b = size,
				    .c = (uint64_t)old,
				    .d = before};
	else if (size)
		r = (struct record){.kind = MG_FAILED, .words = FAILED_WORDS, .a = size};
	if (MG_UNLIKELY(gate() == MG_GATE_SAMPLING))
		r = end_sampled(frame, r, release, old);
	uint64_t stamp = now(t);
	bool usable = r.kind == MG_REALLOC && mg.usable;
	r.words += usable;
	if (r.kind != MG_FREE || mg.free_stacks)
		s = stack_of(t, frame, r.words, &stamp);
	if (MG_UNLIKELY(usable))
		put_usable(t, r, s, stamp);
	else
		put(t, r, s, stamp);
	mg_leave(t);
}

/* ---- mapped address space ---------------------------------------------------------------------
 */

/* Writes an MG_UNMAP, stamped `before` if the writer holds that stamp. Paused: without a stack. */
static void put_unmap(struct mg_writer *t, const uint64_t *frame, uint64_t before,
		      struct mg_span span, uint64_t flags)
{
	struct record r = {.kind = MG_UNMAP,
			   .words = UNMAP_WORDS,
			   .a = span.address,
			   .b = span.bytes,
			   .c = flags,
			   .before = before};
	struct stack s = {0};
	uint64_t stamp = now(t);
	if (mg.free_stacks && !passing())
		s = stack_of(t, frame, r.words, &stamp);
	put(t, r, s, stamp);
}

/* Writes an MG_MAP. Paused: it is not counted, but what it covers is gone all the same. */
static void put_map(struct mg_writer *t, const uint64_t *frame, struct mg_span span, uint64_t flags,
		    uint64_t from)
{
	struct record r = {.kind = MG_MAP,
			   .words = MAP_WORDS,
			   .a = span.address,
			   .b = span.bytes,
			   .c = flags,
			   .d = from};
	if (passing()) {
		if (!waiting())
			put_unmap(t, frame, 0, span, 0);
		return;
	}
	uint64_t stamp = now(t);
	struct stack s = stack_of(t, frame, r.words, &stamp);
	put(t, r, s, stamp);
}

void mg_on_map(const uint64_t *frame, struct mg_span span, uint64_t flags, uint64_t from)
{
	struct mg_writer *t = enter(frame);
	if (!t)
		return;
	put_map(t, frame, span, flags, from);
	mg_leave(t);
}

struct mg_writer *mg_unmap_begin(const uint64_t *frame, uint64_t *before)
{
	struct mg_writer *t = enter(frame);
	if (t)
		*before = hold(t);
	return t;
}

void mg_on_cover(const uint64_t *frame, struct mg_span span)
{
	struct mg_writer *t = enter(frame);
	if (!t)
		return;
	if (!waiting())
		put_unmap(t, frame, 0, span, 0);
	mg_leave(t);
}

/* Publishes what was stamped before the real call, or lets that stamp go. */
static void end_unmap(struct mg_writer *t, const uint64_t *frame, uint64_t before,
		      struct mg_span span, uint64_t flags, bool done)
{
	if (done && !waiting()) {
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
	uint64_t flags = passing() ? 0 : MG_MAP_REMAP;
	end_unmap(t, frame, before, old, flags, done);
	if (done)
		put_map(t, frame, now, flags, 0);
	mg_leave(t);
}

static struct mg_writer *own_writer(void)
{
	uintptr_t self = *MG_SELF;
	bool recording = __atomic_load_n(&mg_gate->on, __ATOMIC_RELAXED) && self && !(self & 1);
	return recording ? (struct mg_writer *)self : NULL;
}

void mg_nesting_begin(const void *freeing)
{
	struct mg_writer *t = own_writer();
	if (!t)
		return;
	t->last_block = 0;
	t->freeing = (uint64_t)freeing;
}

bool mg_nesting_end(const void *block)
{
	struct mg_writer *t = own_writer();
	if (!t)
		return false;
	t->freeing = 0;
	return block && t->last_block == (uint64_t)block;
}

/* What ms_alloc says may be anything. */
#define SAID_MOST (UINT64_C(1) << 62)

void mg_on_user_alloc(const uint64_t *frame, const void *block, uint64_t size)
{
	uint32_t on = gate();
	if (MG_UNLIKELY(on != MG_GATE_ALL) &&
	    skip_alloc(on, frame, (uint64_t)block | MG_SAMPLE_USER,
		       size < SAID_MOST ? size : SAID_MOST))
		return;
	struct mg_writer *t = enter_open(frame);
	if (!t)
		return;
	if (passing()) {
		pass(t, NULL);
		return;
	}
	struct record r = {
		.kind = MG_USER_ALLOC, .words = ALLOC_WORDS, .a = (uint64_t)block, .b = size};
	uint64_t stamp = now(t);
	struct stack s = stack_of(t, frame, r.words, &stamp);
	put(t, r, s, stamp);
	mg_leave(t);
}

void mg_on_user_free(const uint64_t *frame, const void *block)
{
	uint32_t on = gate();
	struct stack s = {0};
	if (MG_UNLIKELY(on != MG_GATE_ALL) &&
	    skip_free(on, frame, (uint64_t)block | MG_SAMPLE_USER, &s.flags))
		return;
	struct mg_writer *t = enter_open(frame);
	if (!t)
		return;
	if (!passing() || !waiting())
		put(t,
		    (struct record){
			    .kind = MG_USER_FREE, .words = FREE_WORDS, .a = (uint64_t)block},
		    s, now(t));
	mg_leave(t);
}

void mg_on_mark(const uint64_t *frame, const char *name)
{
	struct mg_writer *t = enter(frame);
	if (!t)
		return;
	uint32_t n = 0;
	while (n < 255 && name[n])
		n++;
	uint32_t words = 3 + (n + 7) / 8;
	uint64_t *w = mg_room(t, words);
	mg_stamping(t);
	uint64_t stamp = mg_stamp(t);
	if (w) {
		w[0] = mg_word0(MG_MARK, t->flags, 0, 0);
		w[1] = stamp;
		w[2] = n;
		w[words - 1] = 0;
		for (uint32_t i = 0; i < n; i++)
			((char *)(w + 3))[i] = name[i];
		mg_publish(t, words);
	} else {
		mg_lost(t, stamp);
	}
	if (passing())
		begin_at(name);
	mg_stamped(t);
	mg_leave(t);
}

uint64_t mg_on_fork(const uint64_t *frame)
{
	struct mg_writer *t = enter(frame);
	if (!t)
		return 0;
	uint64_t *w = mg_room(t, 2), stamp = 0;
	if (w) {
		mg_stamping(t);
		w[0] = mg_word0(MG_FORK, t->flags, 0, 0);
		w[1] = stamp = mg_stamp(t);
		mg_publish(t, 2);
		mg_stamped(t);
	}
	mg_leave(t);
	return stamp;
}

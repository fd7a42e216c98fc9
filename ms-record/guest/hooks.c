/* SPDX-License-Identifier: MIT
 * Implements the hooks: once the real function has been called, take the stack and the stamp, and
 * write the record.
 */
#include "record.h"

/* ---- paused ---------------------------------------------------------------------------------- */

__attribute__((noinline)) void mg_pass(struct mg_writer *t, const void *block)
{
	mg_count_passed(t);
	if (block)
		t->last_block = (uint64_t)block;
	mg_leave(t);
}

/* Handles a realloc while paused: records the free of the old block, and only counts the new
 * one. */
static __attribute__((noinline)) void pass_realloc(struct mg_writer *t, uint64_t before,
						   const void *old, const void *block,
						   uint64_t size)
{
	if ((block || !size) && !mg_waiting()) {
		mg_put_gone(t, MG_FREE, old, 0, before);
	} else {
		t->holding = false;
		mg_stamped(t);
		if (mg_gate_now() == MG_GATE_SAMPLING)
			mg_sample_keep((uint64_t)old);
	}
	if (block)
		mg_pass(t, block);
	else
		mg_leave(t);
}

/* Starts recording if this is the mark that --start-after names; later events of this thread are
 * recorded. */
static void begin_at(const char *name)
{
	struct mg_session *s = mg.session;
	uint32_t from = MG_WAITING, i = 0;
	while (i < sizeof(s->start_mark) - 1 && name[i] && name[i] == s->start_mark[i])
		i++;
	if (!i || s->start_mark[i] || (name[i] && i < sizeof(s->start_mark) - 1))
		return;
	if (__atomic_compare_exchange_n(&s->state, &from, MG_ON, false, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED))
		mg_settle(s);
}

/* ---- the gate is shut, or sampling ----------------------------------------------------------- */

/* Returns true if an allocation must not be recorded. Counts it if recording is paused. */
static __attribute__((noinline)) bool skip_alloc(uint32_t on, const uint64_t *frame, uint64_t key,
						 uint64_t size)
{
	if (!on && mg_is_shut(&on, frame))
		return true;
	if (MG_GATE_WHOLE(on))
		return false;
	if (!mg_passing())
		return !mg_sample_alloc(frame, key, size);
	struct mg_writer *t = mg_enter_open(frame);
	if (t)
		mg_pass(t, key & MG_SAMPLE_USER ? NULL : (const void *)key);
	return true;
}

/* Returns true if a free must not be recorded. Otherwise, while sampling, sets *flags for its
 * record. */
static __attribute__((noinline)) bool skip_free(uint32_t on, const uint64_t *frame, uint64_t key,
						uint32_t *flags)
{
	if (MG_LIKELY(on == MG_GATE_SAMPLING) && MG_LIKELY(mg_sample_unknown(key)))
		return true;
	if (mg_is_shut(&on, frame))
		return true;
	if (MG_GATE_WHOLE(on))
		return false;
	enum mg_sampled known = mg_sample_free(key);
	*flags = known == MG_SAMPLED_UNSURE ? MG_F_UNSURE : 0;
	return known == MG_SAMPLED_NO;
}

/* Tells whether, while sampling, the record of a realloc need not include the old block. If it
 * is uncertain whether the old block was sampled, records its free separately. */
static __attribute__((noinline)) bool skip_release(uint32_t on, const uint64_t *frame,
						   const void *old)
{
	uint32_t flags = 0;
	if (skip_free(on, frame, (uint64_t)old, &flags))
		return true;
	struct mg_writer *t = flags ? mg_enter_open(frame) : NULL;
	if (t) {
		mg_put_gone(t, MG_FREE, old, flags, 0);
		mg_leave(t);
	}
	return flags != 0;
}

/* Ends a realloc whose old block is not recorded: treats the new block as an ordinary
 * allocation. */
static __attribute__((noinline)) void end_unknown(const uint64_t *frame, const void *block,
						  uint64_t size)
{
	if (mg_gate_now() != MG_GATE_SAMPLING)
		return;
	if (block)
		mg_on_alloc(frame, block, size);
	else if (size)
		mg_on_failed(frame, size);
}

/* Returns the record of a realloc of a sampled block; only that of a free if the new block is
 * not sampled. Keeps the old block among the sampled blocks if the realloc failed. */
static __attribute__((noinline)) struct mg_record
end_sampled(const uint64_t *frame, struct mg_record r, struct mg_record release, const void *old)
{
	if (r.kind == MG_FAILED)
		mg_sample_keep((uint64_t)old);
	return r.kind == MG_REALLOC && !mg_sample_alloc(frame, r.a, r.b) ? release : r;
}

/* ---- the hooks ------------------------------------------------------------------------------- */

/* Writes a record that also has the block's usable size, which r.words already counts. */
static __attribute__((noinline)) void put_usable(struct mg_writer *t, struct mg_record r,
						 struct mg_stack s, uint64_t stamp)
{
	uint64_t usable = mg.usable((const void *)r.a);
	*(r.kind == MG_ALLOC ? &r.c : &r.e) = usable;
	s.flags |= MG_F_USABLE;
	mg_put(t, r, s, stamp);
}

/* Names the variants of on_alloc, each of which is compiled separately. */
enum mode {
	PLAIN,   /* everything is recorded */
	PYTHON,  /* everything is recorded, with an interpreter's frames */
	FOREIGN, /* another allocator's block: malloc's cannot report its usable size */
};

/* Records an allocation with a full record by a writer that has been entered, and leaves the
 * writer. */
static __attribute__((noinline)) void record_alloc_full(struct mg_writer *t, const uint64_t *frame,
							const void *block, uint64_t size,
							bool foreign)
{
	uint64_t stamp = mg_now(t);
	bool usable = MG_UNLIKELY(mg.usable) && !foreign;
	struct mg_record r = {
		.kind = MG_ALLOC, .words = ALLOC_WORDS + usable, .a = (uint64_t)block, .b = size};
	struct mg_stack s = mg_stack_of(t, frame, r.words, &stamp);
	if (MG_LIKELY(!usable))
		mg_put(t, r, s, stamp);
	else
		put_usable(t, r, s, stamp);
	t->last_block = (uint64_t)block;
	mg_leave(t);
}

/* Handles an allocation in the rare cases: the gate is not MG_GATE_ALL, recording is paused, or
 * the thread's writer is not ready. Counts it only, records it as a custom heap's backing, or
 * writes a full record. */
static __attribute__((noinline)) void on_alloc_rare(const uint64_t *frame, const void *block,
						    uint64_t size, bool foreign)
{
	uint32_t on = mg_gate_now();
	if (on == MG_GATE_HOOKED && mg_custom_backing(frame, block, size))
		return;
	if (on != MG_GATE_ALL && skip_alloc(on, frame, (uint64_t)block, size))
		return;
	struct mg_writer *t = mg_enter_open(frame);
	if (t && mg_passing())
		mg_pass(t, block);
	else if (t)
		record_alloc_full(t, frame, block, size, foreign);
}

/* Records an allocation with a short record if it fits. `mode` is constant in each caller. */
MG_INLINE void on_alloc(enum mode mode, const uint64_t *frame, const void *block, uint64_t size)
{
	struct mg_writer *t = mg_enter_plain(frame);
	if (MG_UNLIKELY(!t)) {
		if (!mg_is_off())
			on_alloc_rare(frame, block, size, mode == FOREIGN);
		return;
	}
	if (MG_UNLIKELY(mg.usable) && mode != FOREIGN) {
		record_alloc_full(t, frame, block, size, false);
		return;
	}
	mg_stamping(t);
	uint64_t stamp = mg_stamp_or_next(t);
	if (MG_LIKELY(mg_unwind(t, frame, ALLOC_SHORT_WORDS))) {
		struct mg_stack s = mg_taken(t);
		if (mode == PYTHON)
			mg_python_merge(t, ALLOC_SHORT_WORDS, &s, &stamp);
		mg_put_alloc(t, s, (uint64_t)block, size, stamp);
	} else { /* the stack has to be sent as a copy */
		mg_put_alloc_copied(t, frame, (uint64_t)block, size);
	}
	t->last_block = (uint64_t)block;
	mg_leave(t);
}

static __attribute__((noinline)) void on_alloc_plain(const uint64_t *frame, const void *block,
						     uint64_t size)
{
	on_alloc(PLAIN, frame, block, size);
}

static __attribute__((noinline)) void on_alloc_python(const uint64_t *frame, const void *block,
						      uint64_t size)
{
	on_alloc(PYTHON, frame, block, size);
}

/* Records a sampled allocation whose complete stack was not sent to ms-record before, or cannot
 * be sent. */
static __attribute__((noinline)) void record_whole(struct mg_writer *t, struct mg_whole *m,
						   const uint64_t *frame, const void *block,
						   uint64_t size)
{
	struct mg_record r = {
		.kind = MG_ALLOC, .words = ALLOC_WORDS, .a = (uint64_t)block, .b = size};
	uint64_t stamp = mg_now(t);
	mg_forget(t); /* makes the record carry all frames */
	struct mg_stack s = mg_stack_of(t, frame, r.words, &stamp);
	bool stands = s.flags & MG_F_STACK && mg_whole_holds(t, m, frame);
	if (stands) {
		r.kind = MG_ALLOC_WHOLE;
		s.keep = (uint32_t)(m - mg_memory_of(t)->wholes);
	}
	mg_put(t, r, s, stamp);
	m->sent = stands && t->frames; /* false if the record was dropped */
	t->last_block = (uint64_t)block;
	mg_leave(t);
}

/* Records an allocation that was chosen by sampling. */
static __attribute__((noinline)) void on_alloc_due(const uint64_t *frame, const void *block,
						   uint64_t size)
{
	struct mg_writer *own = (struct mg_writer *)*MG_SELF;
	struct mg_whole *m = mg_sample_ahead(own, frame, (uint64_t)block);
	if (MG_UNLIKELY(mg.hooked) && mg_custom_hides(frame)) {
		mg_sample_again(own);
		return;
	}
	mg_sample_take(own, (uint64_t)block);
	struct mg_writer *t = mg_enter_open(frame);
	if (MG_UNLIKELY(t != own || !m || mg.usable || mg.python || mg.verify)) {
		if (t)
			record_alloc_full(t, frame, block, size, false);
		return;
	}
	if (MG_UNLIKELY(!m->sent || !mg_whole_holds(t, m, frame))) {
		record_whole(t, m, frame, block, size);
		return;
	}
	mg_stamping(t);
	uint64_t stamp = mg_stamp(t);
	mg_put(t,
	       (struct mg_record){.kind = MG_ALLOC_WHOLE,
				  .words = ALLOC_WORDS,
				  .a = (uint64_t)block,
				  .b = size},
	       (struct mg_stack){.flags = MG_F_STACK,
				 .keep = (uint32_t)(m - mg_memory_of(t)->wholes)},
	       stamp);
	t->last_block = (uint64_t)block;
	mg_leave(t);
}

/* Handles an allocation in a program of which functions are hooked. */
static __attribute__((noinline)) void on_alloc_hooked(const uint64_t *frame, const void *block,
						      uint64_t size)
{
	if (mg_custom_backing(frame, block, size))
		return;
	if (mg.python)
		on_alloc_python(frame, block, size);
	else
		on_alloc_plain(frame, block, size);
}

/* Makes only tail calls, so that no register has to be saved for an allocation that is not
 * recorded. */
void mg_on_alloc(const uint64_t *frame, const void *block, uint64_t size)
{
	uint32_t on = mg_gate_now();
	if (MG_LIKELY(on == MG_GATE_ALL)) {
		on_alloc_plain(frame, block, size);
		return;
	}
	if (on == MG_GATE_PYTHON) {
		on_alloc_python(frame, block, size);
		return;
	}
	if (on == MG_GATE_HOOKED) {
		on_alloc_hooked(frame, block, size);
		return;
	}
	uintptr_t self = *MG_SELF;
	if (MG_UNLIKELY(on != MG_GATE_SAMPLING || mg_passing() || !self || self & 1))
		on_alloc_rare(frame, block, size, false);
	else if (MG_UNLIKELY(mg_sample_due((struct mg_writer *)self, (uint64_t)block, size)))
		on_alloc_due(frame, block, size);
}

void mg_on_foreign_alloc(const uint64_t *frame, const void *block, uint64_t size)
{
	if (MG_LIKELY(mg_gate_now() == MG_GATE_ALL))
		on_alloc(FOREIGN, frame, block, size);
	else
		on_alloc_rare(frame, block, size, true);
}

void mg_on_failed(const uint64_t *frame, uint64_t size)
{
	const struct mg_record r = {.kind = MG_FAILED, .words = FAILED_WORDS, .a = size};
	struct mg_writer *t = mg_enter(frame);
	if (!t)
		return;
	if (mg_passing() || (t->custom && mg_custom_within(t, frame)))
		mg_leave(t);
	else
		mg_record(t, frame, r);
}

/* Records a free with a full record. */
static __attribute__((noinline)) void record_free_full(const uint64_t *frame, const void *block,
						       uint32_t unsure)
{
	struct mg_stack s = {.flags = unsure};
	struct mg_writer *t = mg_enter_open(frame);
	if (!t)
		return;
	if (t->freeing == (uint64_t)block || (mg_passing() && mg_waiting())) {
		mg_leave(t);
		return;
	}
	uint64_t stamp = mg_now(t);
	if (mg.free_stacks && !mg_passing()) {
		s = mg_stack_of(t, frame, FREE_WORDS, &stamp);
		s.flags |= unsure;
	}
	mg_put(t, (struct mg_record){.kind = MG_FREE, .words = FREE_WORDS, .a = (uint64_t)block}, s,
	       stamp);
	mg_leave(t);
}

/* Handles a free in the rare cases: the gate is not MG_GATE_ALL, recording is paused, or frees
 * have stacks. */
static __attribute__((noinline)) void on_free_rare(const uint64_t *frame, const void *block)
{
	uint32_t on = mg_gate_now(), unsure = 0;
	if (on == MG_GATE_ALL || !skip_free(on, frame, (uint64_t)block, &unsure))
		record_free_full(frame, block, unsure);
}

/* Records a free with a short record if the thread's writer is ready; false = it is not. */
MG_INLINE bool record_free(const uint64_t *frame, const void *block, bool sampled)
{
	struct mg_writer *t = mg_enter_plain(frame);
	if (MG_UNLIKELY(!t))
		return false;
	if (MG_LIKELY(t->freeing != (uint64_t)block)) {
		mg_stamping(t);
		mg_put_free(t, (uint64_t)block, sampled ? mg_stamp(t) : mg_stamp_or_next(t));
	}
	mg_leave(t);
	return true;
}

static __attribute__((noinline)) void on_free_plain(const uint64_t *frame, const void *block)
{
	if (MG_UNLIKELY(!record_free(frame, block, false)) && !mg_is_off())
		on_free_rare(frame, block);
}

/* Records a free, while sampling, of a block that may have been sampled. */
static __attribute__((noinline)) void on_free_due(const uint64_t *frame, const void *block)
{
	enum mg_sampled known = mg_sample_free((uint64_t)block);
	if (known == MG_SAMPLED_NO)
		return;
	if (MG_UNLIKELY(known == MG_SAMPLED_UNSURE || mg.free_stacks) ||
	    MG_UNLIKELY(!record_free(frame, block, true)))
		record_free_full(frame, block, known == MG_SAMPLED_UNSURE ? MG_F_UNSURE : 0);
}

void mg_on_free(const uint64_t *frame, const void *block)
{
	uint32_t on = mg_gate_now();
	if (MG_UNLIKELY(on == MG_GATE_HOOKED) && mg_custom_freeing(frame, block))
		return;
	if (MG_LIKELY(MG_GATE_WHOLE(on) && !mg.free_stacks))
		on_free_plain(frame, block);
	else if (on != MG_GATE_SAMPLING)
		on_free_rare(frame, block);
	else if (MG_UNLIKELY(!mg_sample_unknown((uint64_t)block)))
		on_free_due(frame, block);
}

/* Records a realloc inside a hooked function as a free of the old block and an ordinary
 * allocation. */
static __attribute__((noinline)) void realloc_inside(struct mg_writer *t, const uint64_t *frame,
						     uint64_t before, const void *old,
						     const void *block, uint64_t size)
{
	mg_put_gone(t, MG_FREE, old, t->custom_old == (uint64_t)old ? MG_F_UNSURE : 0, before);
	mg_leave(t);
	mg_on_alloc(frame, block, size);
}

struct mg_writer *mg_realloc_begin(const uint64_t *frame, const void *old, uint64_t *before)
{
	uint32_t on = mg_gate_now();
	if (MG_UNLIKELY(on != MG_GATE_ALL) && skip_release(on, frame, old))
		return NULL;
	struct mg_writer *t = mg_enter_open(frame);
	if (t)
		*before = mg_hold(t);
	return t;
}

void mg_realloc_end(struct mg_writer *t, const uint64_t *frame, uint64_t before, const void *old,
		    const void *block, uint64_t size)
{
	if (MG_UNLIKELY(!t)) {
		end_unknown(frame, block, size);
		return;
	}
	if (mg_passing()) {
		pass_realloc(t, before, old, block, size);
		return;
	}
	if (MG_UNLIKELY(t->custom && mg_custom_within(t, frame)) && block) {
		realloc_inside(t, frame, before, old, block, size);
		return;
	}
	const struct mg_record release = {
		.kind = MG_FREE, .words = FREE_WORDS, .a = (uint64_t)old, .before = before};
	struct mg_record r = release;
	struct mg_stack s = {0};
	if (block)
		r = (struct mg_record){.kind = MG_REALLOC,
				       .words = REALLOC_WORDS,
				       .a = (uint64_t)block,
				       .b = size,
				       .c = (uint64_t)old,
				       .d = before};
	else if (size)
		r = (struct mg_record){.kind = MG_FAILED, .words = FAILED_WORDS, .a = size};
	if (MG_UNLIKELY(mg_gate_now() == MG_GATE_SAMPLING))
		r = end_sampled(frame, r, release, old);
	uint64_t stamp = mg_now(t);
	bool usable = r.kind == MG_REALLOC && mg.usable;
	r.words += usable;
	if (r.kind != MG_FREE || mg.free_stacks)
		s = mg_stack_of(t, frame, r.words, &stamp);
	if (MG_UNLIKELY(usable))
		put_usable(t, r, s, stamp);
	else
		mg_put(t, r, s, stamp);
	mg_leave(t);
}

static struct mg_writer *recording_writer(void)
{
	return __atomic_load_n(&mg.gate->on, __ATOMIC_RELAXED) ? mg_own_writer() : NULL;
}

void mg_nesting_begin(const void *freeing)
{
	struct mg_writer *t = recording_writer();
	if (!t)
		return;
	t->last_block = 0;
	t->freeing = (uint64_t)freeing;
}

bool mg_nesting_end(const void *block)
{
	struct mg_writer *t = recording_writer();
	if (!t)
		return false;
	t->freeing = 0;
	return block && t->last_block == (uint64_t)block;
}

/* Limits the size passed to ms_alloc, which may be any number, to what fits into a record. */
uint64_t mg_user_size(uint64_t size)
{
	const uint64_t most = UINT64_C(1) << 62;
	return size < most ? size : most;
}

void mg_on_user_alloc(const uint64_t *frame, const void *block, uint64_t size)
{
	uint32_t on = mg_gate_now();
	if (MG_UNLIKELY(on != MG_GATE_ALL) &&
	    skip_alloc(on, frame, (uint64_t)block | MG_SAMPLE_USER, mg_user_size(size)))
		return;
	struct mg_writer *t = mg_enter_open(frame);
	if (!t)
		return;
	const struct mg_record r = {
		.kind = MG_USER_ALLOC, .words = ALLOC_WORDS, .a = (uint64_t)block, .b = size};
	if (mg_passing())
		mg_pass(t, NULL);
	else
		mg_record(t, frame, r);
}

void mg_on_user_free(const uint64_t *frame, const void *block)
{
	uint32_t on = mg_gate_now();
	uint32_t flags = 0;
	if (MG_UNLIKELY(on != MG_GATE_ALL) &&
	    skip_free(on, frame, (uint64_t)block | MG_SAMPLE_USER, &flags))
		return;
	struct mg_writer *t = mg_enter_open(frame);
	if (!t)
		return;
	if (!mg_passing() || !mg_waiting())
		mg_put_gone(t, MG_USER_FREE, block, flags, 0);
	mg_leave(t);
}

/* Writes a record with a name and a number. */
static bool put_name(struct mg_writer *t, uint32_t kind, const char *name, uint32_t most,
		     uint32_t number)
{
	uint32_t n = 0;
	while (n < most && name[n])
		n++;
	uint64_t head = n | (uint64_t)number << 32;
	return mg_put_words(t, kind, &head, 1, name, n);
}

void mg_on_label(const uint64_t *frame, const char *name, uint32_t depth)
{
	struct mg_writer *t = mg_enter(frame);
	if (!t)
		return;
	put_name(t, MG_LABEL, name, MG_LABEL_MOST, depth);
	mg_leave(t);
}

bool mg_on_mark(const uint64_t *frame, const char *name, uint32_t moment)
{
	struct mg_writer *t = mg_enter(frame);
	if (!t)
		return false;
	bool put = put_name(t, MG_MARK, name, 255, moment);
	if (mg_passing())
		begin_at(name);
	mg_leave(t);
	return put;
}

uint64_t mg_on_fork(const uint64_t *frame)
{
	struct mg_writer *t = mg_enter(frame);
	if (!t)
		return 0;
	uint64_t stamp = mg_put_words(t, MG_FORK, NULL, 0, NULL, 0);
	mg_leave(t);
	return stamp;
}

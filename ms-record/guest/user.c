/* SPDX-License-Identifier: MIT
 * Handles what a program reports by memscope.h apart from its blocks: pauses, reallocations, and
 * blocks that are not to be reported as leaks.
 *
 * One word of the process holds how many pauses are nested, and how often that changed between none
 * and some, so that threads that pause and resume at the same time agree. A forked child continues
 * with its copy. The session's state follows from this word and from ms-record's own request; an
 * MG_PAUSE record gives the time, with the number of the change, by which ms-record orders several.
 */
#include "record.h"

#define DEPTH UINT64_C(0xffffffff)
#define CHANGE (UINT64_C(1) << 32)

static uint64_t pauses; /* changes << 32 | depth; odd number of changes = paused */

static bool is_paused(void)
{
	return __atomic_load_n(&pauses, __ATOMIC_SEQ_CST) & DEPTH;
}

/* Increments or decrements the depth. Returns the number of the change between paused and running,
 * or 0 if there was no such change. */
static uint64_t count(bool pause)
{
	uint64_t was = __atomic_load_n(&pauses, __ATOMIC_SEQ_CST), now;
	do {
		if (pause ? (was & DEPTH) == DEPTH : !(was & DEPTH))
			return 0;
		now = pause ? was + 1 : was - 1;
		if (!(was & DEPTH) || !(now & DEPTH))
			now += CHANGE;
	} while (!__atomic_compare_exchange_n(&pauses, &was, now, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
	return now >> 32 == was >> 32 ? 0 : now >> 32;
}

static void apply(struct mg_session *s)
{
	bool paused;
	do {
		paused = is_paused();
		__atomic_store_n(&s->user_paused, paused, __ATOMIC_SEQ_CST);
		mg_settle(s);
	} while (paused != is_paused());
}

void mg_user_begin(struct mg_session *s)
{
	s->user_paused = s->user_began = is_paused();
	mg_settle(s);
}

void mg_on_pause(const uint64_t *frame, bool pause)
{
	uint64_t change = count(pause);
	if (!change || !mg_is_open(frame))
		return;
	if (!pause)
		apply(mg.session);
	struct mg_writer *t = mg_enter(frame);
	if (t) {
		mg_put_words(t, MG_PAUSE, &change, 1, NULL, 0);
		mg_leave(t);
	}
	if (pause)
		apply(mg.session);
}

/* Records an ms_ignore. Reads the clock after all earlier loads, because another thread may have
 * allocated the block just before, and this stamp must be later than the stamp of that
 * allocation. */
void mg_on_ignore(const uint64_t *frame, const void *block)
{
	struct mg_writer *t = mg_enter(frame);
	if (!t)
		return;
	mg_order_counter();
	mg_put_words(t, MG_IGNORE, &(uint64_t){(uint64_t)block}, 1, NULL, 0);
	mg_leave(t);
}

void mg_on_user_realloc(const uint64_t *frame, const void *old, const void *block, uint64_t size)
{
	struct mg_writer *t = MG_GATE_WHOLE(mg_gate_now()) ? mg_enter_open(frame) : NULL;
	if (!t || mg_passing()) {
		if (t)
			mg_leave(t);
		mg_on_user_free(frame, old);
		mg_on_user_alloc(frame, block, size);
		return;
	}
	struct mg_record r = {.kind = MG_USER_REALLOC,
			      .words = REALLOC_WORDS,
			      .a = (uint64_t)block,
			      .b = size,
			      .c = (uint64_t)old};
	uint64_t stamp = mg_now(t);
	struct mg_stack s = mg_stack_of(t, frame, r.words, &stamp);
	r.d = stamp;
	mg_put(t, r, s, stamp);
	mg_leave(t);
}

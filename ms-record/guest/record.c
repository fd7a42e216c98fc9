/* SPDX-License-Identifier: MIT
 * Writes records in the rare cases, and drops records.
 */
#include "record.h"

/* Sends the outer part of a stack that is too long for one record. */
static bool push(struct mg_writer *t, struct mg_stack *s)
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

void mg_put_gone(struct mg_writer *t, uint32_t kind, const void *block, uint32_t flags,
		 uint64_t before)
{
	mg_put(t,
	       (struct mg_record){
		       .kind = kind, .words = FREE_WORDS, .a = (uint64_t)block, .before = before},
	       (struct mg_stack){.flags = flags}, mg_now(t));
}

/* Waits for room, or sends a long stack in several records; takes a new stamp afterwards. */
uint64_t *mg_room_later(struct mg_writer *t, uint32_t words, struct mg_stack *s, uint64_t *stamp)
{
	mg_forget_now(t);
	uint64_t *w = push(t, s) ? mg_room(t, words + s->count) : NULL;
	for (uint32_t i = 0; w && i < s->count; i++)
		w[words + i] = s->frames[i];
	*stamp = mg_now(t);
	return w;
}

/* Sends the stack as a copy, and takes a new stamp afterwards. */
uint32_t mg_copy_later(struct mg_writer *t, const uint64_t *frame, uint64_t *stamp)
{
	mg_forget_now(t);
	uint32_t flags = mg_send_copy(t, frame);
	*stamp = mg_now(t);
	return flags;
}

void mg_drop(struct mg_writer *t, uint64_t stamp)
{
	mg_lost(t, stamp);
	t->holding = false;
	mg_stamped(t);
	mg_forget(t);
}

uint64_t mg_put_words(struct mg_writer *t, uint32_t kind, const uint64_t *v, uint32_t n,
		      const char *name, uint32_t name_bytes)
{
	uint32_t words = 2 + n + (name_bytes + 7) / 8;
	uint64_t *w = mg_room(t, words);
	mg_stamping(t);
	uint64_t stamp = mg_stamp(t);
	if (w) {
		w[words - 1] = 0;
		w[0] = mg_word0(kind, t->flags, 0, 0);
		mg_put_stamp(t, w, stamp);
		for (uint32_t i = 0; i < n; i++)
			w[2 + i] = v[i];
		for (uint32_t i = 0; i < name_bytes; i++)
			((char *)(w + 2 + n))[i] = name[i];
		mg_publish(t, words);
	} else {
		mg_lost(t, stamp);
	}
	mg_stamped(t);
	return w ? stamp : 0;
}

/* ---- full records instead of short ones ---- */

void mg_put_alloc_full(struct mg_writer *t, const struct mg_stack *stack, uint64_t address,
		       uint64_t size, uint64_t stamp)
{
	struct mg_stack s = *stack;
	uint64_t *w = (uint64_t *)(void *)(t->window + t->offset);
	if (s.count <= MG_FRAMES_RECORD && mg_has_room(t, ALLOC_WORDS + s.count))
		for (uint32_t i = 0; i < s.count; i++)
			w[ALLOC_WORDS + i] = s.frames[i];
	mg_put(t,
	       (struct mg_record){.kind = MG_ALLOC, .words = ALLOC_WORDS, .a = address, .b = size},
	       s, stamp);
}

void mg_put_free_full(struct mg_writer *t, uint64_t address, uint64_t stamp)
{
	mg_put(t, (struct mg_record){.kind = MG_FREE, .words = FREE_WORDS, .a = address},
	       (struct mg_stack){0}, stamp);
}

void mg_put_alloc_copied(struct mg_writer *t, const uint64_t *frame, uint64_t address,
			 uint64_t size)
{
	uint64_t stamp;
	struct mg_stack s = {.flags = mg_copy_later(t, frame, &stamp)};
	mg_put(t,
	       (struct mg_record){.kind = MG_ALLOC, .words = ALLOC_WORDS, .a = address, .b = size},
	       s, stamp);
}

/* Tells whether the gate (the word that each hook reads first) is shut, so that nothing is
 * recorded. A forked child may open its own gate here; *on is then the gate's new state. */
bool mg_is_shut(uint32_t *on, const uint64_t *frame)
{
	if (!*on && mg_is_open(frame))
		*on = mg_gate_now();
	return !*on;
}

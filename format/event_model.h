/* SPDX-License-Identifier: MIT
 * Prediction of events, shared by encoder and decoder; private to format/.
 *
 * Every table is direct-mapped, starts as zeros in every block, and is updated with the actual
 * values, so that both sides have equal tables at each event. A collision costs bytes, not
 * correctness. ms-trace(5) defines each index, which is part of the format.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "event.h"
#include "trace.h"

/* Bits of the op byte: the kind in the low 3 bits, then which predictions held. Bits that a kind
 * does not use are 0. */
#define OP_KIND 7u
#define OP_SAME_THREAD 8u
#define OP_STACK 16u
#define OP_SIZE 32u
#define OP_FREE_STACK 32u /* a free has a stack */
#define OP_SAME_TICK 64u
#define OP_FREED 128u

/* Escape values of the columns. A small value means that the second prediction was right; any other
 * is the actual value plus the number of escape values. */
#define STACK_SECOND 0u
#define STACK_PLAIN                                                                                \
	1u /* base of the zigzag difference from the stack of the thread's previous allocation */
#define SIZE_SECOND 0u
#define SIZE_HUGE 1u /* the size follows unchanged, as adding to it would overflow */
#define SIZE_PLAIN 2u
/* Low bit of a mispredicted free: 1 = the rest is the number of allocations since that of the freed
 * block, 0 = the rest is the zigzag distance from the block that this thread freed before. The
 * encoder uses the smaller one. */
#define FREED_AGO 1u

/* Lists the columns after the head, in the order of the block, as X(name after MS_COL_, member of
 * ms_event_ends and ms_event_cursors, maximum bytes per event). */
#define EACH_COLUMN(X)                                                                             \
	X(OP, op, 1)                                                                               \
	X(THREAD, thread, 5)                                                                       \
	X(STACK, stack, 5)                                                                         \
	X(SIZE, size, 11)                                                                          \
	X(FREED, freed, 10)                                                                        \
	X(TIME, time, 10) X(UNKNOWN, unknown, 10) X(EXT, ext, 40) X(SLACK, slack, 5)

#define EXT_MAX 127u /* highest kind of extended events: one byte as a varint */

#define NUMBER_MAX (UINT64_C(1) << 62)

static inline bool kind_has_size(unsigned kind)
{
	return ms_event_allocates(kind) || kind == MS_EV_FAILED;
}

/* Returns the index of two 32-bit words in a table of MS_EVENT_TABLE entries. */
static inline unsigned slot_of(uint32_t a, uint32_t b)
{
	return (a * UINT32_C(0x9e3779b1) + b * UINT32_C(0x85ebca77)) >> 20;
}
_Static_assert(MS_EVENT_TABLE == 1u << 12, "slot_of gives 12 bits");

static inline struct ms_event_thread *thread_of(struct ms_event_model *m, uint32_t thread)
{
	return &m->threads[thread % MS_EVENT_THREAD_SLOTS];
}

/* Returns the table slot of the second prediction of an allocation's stack. The four functions
 * below return the slots of the other predictions: stack, size and freed block. */
static inline uint32_t *stack_second(struct ms_event_model *m, const struct ms_event_thread *t)
{
	return &m->stack1[slot_of(t->stack, 0)];
}
static inline uint32_t *stack_first(struct ms_event_model *m, const struct ms_event_thread *t)
{
	return &m->stack2[slot_of(t->stack, t->before + t->frees)];
}
static inline uint64_t *size_second(struct ms_event_model *m, uint32_t stack)
{
	return &m->size1[slot_of(stack, 0)];
}
static inline uint64_t *size_first(struct ms_event_model *m, const struct ms_event_thread *t,
				   uint32_t stack)
{
	return &m->size2[slot_of(stack, t->stack)];
}
static inline uint64_t *freed_first(struct ms_event_model *m, const struct ms_event_thread *t)
{
	return &m->free1[slot_of(t->stack, t->frees)];
}

/* Updates the thread's state after an event with a size. note_free does so after a free. */
static inline void note_alloc(struct ms_event_thread *t, uint32_t stack)
{
	t->before = t->stack;
	t->stack = stack;
	t->frees = 0;
}
static inline void note_free(struct ms_event_thread *t, uint64_t freed)
{
	t->freed = freed;
	t->frees++;
}

/* Holds the state that every event changes. It stays in registers while a run of events is encoded
 * or decoded. */
struct now {
	struct ms_event_thread t, *home; /* state of the present thread, a copy of *home */
	uint64_t number, time;
	uint32_t thread;
};
static inline struct now model_take(struct ms_event_model *m)
{
	struct ms_event_thread *home = thread_of(m, m->thread);
	return (struct now){*home, home, m->number, m->time, m->thread};
}
static inline void model_put(struct ms_event_model *m, const struct now *u)
{
	*u->home = u->t;
	m->number = u->number;
	m->time = u->time;
	m->thread = u->thread;
}
static inline void turn_to_thread(struct ms_event_model *m, struct now *u, uint32_t thread)
{
	*u->home = u->t;
	u->home = thread_of(m, thread);
	u->t = *u->home;
	u->thread = thread;
}

static inline void model_begin(struct ms_event_model *m, uint64_t number, uint64_t tick)
{
	memset(m, 0, sizeof *m);
	m->number = number;
	m->time = tick;
}

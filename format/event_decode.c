/* SPDX-License-Identifier: MIT
 * The columns of an event block to events. The bytes may be hostile.
 */
#include "event_model.h"
#include "varint.h"

enum ms_fmt ms_event_decoder_init(struct ms_event_decoder *d, const struct ms_column *columns,
				  size_t n)
{
	struct ms_cursor head = ms_cursor_of(columns, n, MS_COL_HEAD);
	if (!ms_cursor_get(&head, &d->first_number) || !ms_cursor_get(&head, &d->first_event) ||
	    !ms_cursor_get(&head, &d->first_tick) || !ms_cursor_get(&head, &d->count))
		return MS_FMT_BAD;
#define OPEN(id, member, bytes) d->member = ms_cursor_of(columns, n, MS_COL_##id);
	EACH_COLUMN(OPEN)
	d->left = d->count;
	if (d->count != (uint64_t)(d->op.end - d->op.at) || d->first_number >= NUMBER_MAX ||
	    d->first_event >= NUMBER_MAX)
		return MS_FMT_BAD;
	model_begin(&d->m, d->first_number, d->first_tick);
	return MS_FMT_OK;
}

/* What changes with every event: in registers while many are decoded. */
struct state {
	struct ms_cursor thread, stack, size, freed, time;
	struct ms_event_thread t, *home; /* a copy of *home */
	uint64_t number, ticks;
	uint32_t thread_index;
};

static inline struct state take_state(struct ms_event_decoder *d)
{
	struct ms_event_thread *home = thread_of(&d->m, d->m.thread);
	return (struct state){d->thread, d->stack, d->size,     d->freed,  d->time,
			      *home,     home,     d->m.number, d->m.time, d->m.thread};
}

/* Puts it back; `n` events were decoded since it was taken. */
static inline void put_state(struct ms_event_decoder *d, const struct state *u, size_t n)
{
	*u->home = u->t;
	d->thread = u->thread;
	d->stack = u->stack;
	d->size = u->size;
	d->freed = u->freed;
	d->time = u->time;
	d->m.number = u->number;
	d->m.time = u->ticks;
	d->m.thread = u->thread_index;
	d->op.at += n;
	d->left -= n;
}

/* Reads a varint without giving away where the cursor is. */
static inline bool take(struct ms_cursor *c, uint64_t *v)
{
	if (c->at < c->end && *c->at < 0x80) {
		*v = *c->at++;
		return true;
	}
	const uint8_t *at = c->at;
	uint64_t x;
	if (!ms_varint_get_long(&at, c->end, &x))
		return false;
	c->at = at;
	*v = x;
	return true;
}

/* Thread and time, which every kind has. */
static inline bool get_common(struct ms_event_model *m, struct state *u, unsigned op,
			      struct ms_event *ev)
{
	uint64_t v;
	if (!(op & OP_SAME_THREAD)) {
		if (!take(&u->thread, &v) || v > UINT32_MAX)
			return false;
		*u->home = u->t;
		u->thread_index = (uint32_t)v;
		u->home = thread_of(m, u->thread_index);
		u->t = *u->home;
	}
	if (!(op & OP_SAME_TICK) &&
	    (!take(&u->time, &v) || __builtin_add_overflow(u->ticks, v, &u->ticks)))
		return false;
	*ev = (struct ms_event){
		.time_ticks = u->ticks, .thread = u->thread_index, .kind = op & OP_KIND};
	return true;
}

static inline bool get_freed(struct ms_event_model *m, struct state *u, bool hit, uint64_t *freed)
{
	uint64_t *first = freed_first(m, &u->t), v, distance = *first;
	if (!hit) {
		if (!take(&u->freed, &v))
			return false;
		distance = v & FREED_AGO ? v >> 1 : u->number - (u->t.freed + ms_unzigzag(v >> 1));
	}
	if (distance == 0 || distance > u->number)
		return false;
	*first = distance;
	*freed = u->number - distance;
	note_free(&u->t, *freed);
	return true;
}

static inline bool get_stack(struct ms_event_model *m, struct state *u, bool hit, uint32_t *stack)
{
	uint32_t *first = stack_first(m, &u->t), *second = stack_second(m, &u->t);
	uint64_t v = *first;
	if (!hit) {
		if (!take(&u->stack, &v))
			return false;
		v = v == STACK_SECOND ? *second : u->t.stack + ms_unzigzag(v - STACK_PLAIN);
		if (v > UINT32_MAX)
			return false;
	}
	*first = *second = *stack = (uint32_t)v;
	return true;
}

/* Where it was freed, if that was recorded. */
static inline bool get_free_stack(struct ms_event_model *m, struct state *u, unsigned op,
				  struct ms_event *ev)
{
	return !(op & OP_FREE_STACK) || get_stack(m, u, op & OP_STACK, &ev->stack);
}

static inline bool get_free(struct ms_event_model *m, struct state *u, unsigned op,
			    struct ms_event *ev)
{
	return get_free_stack(m, u, op, ev) && get_freed(m, u, op & OP_FREED, &ev->freed);
}

/* Stack and size of an event that has a size. */
static inline bool get_sized(struct ms_event_model *m, struct state *u, unsigned op,
			     struct ms_event *ev)
{
	if (!get_stack(m, u, op & OP_STACK, &ev->stack))
		return false;
	uint64_t *first = size_first(m, &u->t, ev->stack), *second = size_second(m, ev->stack),
		 v = *first;
	if (!(op & OP_SIZE)) {
		if (!take(&u->size, &v))
			return false;
		if (v == SIZE_HUGE) {
			if (!take(&u->size, &v))
				return false;
		} else {
			v = v == SIZE_SECOND ? *second : v - SIZE_PLAIN;
		}
	}
	*first = *second = ev->size = v;
	note_alloc(&u->t, ev->stack);
	return true;
}

/* { varint kind, varint length, bytes }: four varints of the kinds of this version, and whatever
 * later ones put behind; 0 for all when the column was left out. */
static bool get_ext(struct ms_event_decoder *d, struct ms_event *ev)
{
	uint64_t kind, length, stack;
	if (!d->ext.at)
		return true;
	if (!ms_cursor_get(&d->ext, &kind) || !ms_cursor_get(&d->ext, &length) ||
	    length > (uint64_t)(d->ext.end - d->ext.at) || !kind || kind > EXT_MAX)
		return false;
	struct ms_cursor c = {d->ext.at, d->ext.at + length};
	d->ext.at += length;
	if (kind > MS_EXT_BEFORE)
		return true;
	if (!ms_cursor_get(&c, &stack) || stack > UINT32_MAX || !ms_cursor_get(&c, &ev->address) ||
	    !ms_cursor_get(&c, &ev->size) || !ms_cursor_get(&c, &ev->freed))
		return false;
	ev->ext = (uint8_t)kind;
	ev->stack = (uint32_t)stack;
	return true;
}

/* Of an allocation. */
static inline bool get_number(struct ms_event_decoder *d, struct state *u, struct ms_event *ev)
{
	uint64_t v;
	ev->number = u->number++;
	if (__builtin_expect(!d->slack.at, 1))
		return true;
	if (!ms_cursor_get(&d->slack, &v) || v >= UINT32_MAX)
		return false;
	ev->slack = (uint32_t)v + 1;
	return true;
}

/* Allocations and frees are nearly all there is. */
static inline bool get_event(struct ms_event_decoder *d, struct state *u, unsigned op,
			     struct ms_event *ev)
{
	if (!get_common(&d->m, u, op, ev))
		return false;
	if (ev->kind == MS_EV_FREE)
		return get_free(&d->m, u, op, ev);
	if (ev->kind == MS_EV_ALLOC)
		return get_sized(&d->m, u, op, ev) && get_number(d, u, ev);
	switch (ev->kind) {
	case MS_EV_EXT:
		return get_ext(d, ev);
	case MS_EV_FREE_UNKNOWN:
		return get_free_stack(&d->m, u, op, ev) &&
		       (!d->unknown.at || ms_cursor_get(&d->unknown, &ev->address));
	case MS_EV_FREE_INFERRED:
		return get_free(&d->m, u, op, ev);
	case MS_EV_FAILED:
		return get_sized(&d->m, u, op, ev);
	case MS_EV_REALLOC:
		if (!get_freed(&d->m, u, op & OP_FREED, &ev->freed))
			return false;
	}
	return get_sized(&d->m, u, op, ev) && get_number(d, u, ev);
}

size_t ms_event_next_many(struct ms_event_decoder *d, struct ms_event *ev, size_t max,
			  enum ms_fmt *rc)
{
	struct state u = take_state(d);
	const uint8_t *op_at = d->op.at;
	size_t i = 0, n = max < d->left ? max : (size_t)d->left;
	bool good = true;
	for (; i < n; i++) {
		good = get_event(d, &u, op_at[i], &ev[i]);
		if (__builtin_expect(!good, 0))
			break;
	}
	put_state(d, &u, i);
	if (!good)
		d->left = 0;
	*rc = !good ? MS_FMT_BAD : i == max ? MS_FMT_OK : MS_FMT_END;
	return i;
}

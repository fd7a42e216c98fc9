/* SPDX-License-Identifier: MIT
 * Decodes the columns of an event block to events. The bytes may be hostile.
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
#define OPEN(id, member, bytes) d->from.member = ms_cursor_of(columns, n, MS_COL_##id);
	EACH_COLUMN(OPEN)
	d->left = d->count;
	if (d->count != (uint64_t)(d->from.op.end - d->from.op.at) ||
	    d->first_number > NUMBER_MAX - d->count || d->first_event > NUMBER_MAX - d->count)
		return MS_FMT_BAD;
	model_begin(&d->m, d->first_number, d->first_tick);
	return MS_FMT_OK;
}

/* Holds the state that each event changes. It stays in registers while a run of events is
 * decoded. */
struct state {
	struct ms_event_cursors from;
	struct now now;
};

/* Reads thread and time, which all kinds of events have. */
static inline bool get_common(struct ms_event_model *m, struct state *u, unsigned op,
			      struct ms_event *ev)
{
	uint64_t v;
	if (!(op & OP_SAME_THREAD)) {
		if (!ms_cursor_get(&u->from.thread, &v) || v > UINT32_MAX)
			return false;
		turn_to_thread(m, &u->now, (uint32_t)v);
	}
	if (!(op & OP_SAME_TICK) && (!ms_cursor_get(&u->from.time, &v) ||
				     __builtin_add_overflow(u->now.time, v, &u->now.time)))
		return false;
	*ev = (struct ms_event){
		.time_ticks = u->now.time, .thread = u->now.thread, .kind = op & OP_KIND};
	return true;
}

static inline bool get_freed(struct ms_event_model *m, struct state *u, bool hit, uint64_t *freed)
{
	uint64_t *first = freed_first(m, &u->now.t), v, distance = *first;
	if (!hit) {
		if (!ms_cursor_get(&u->from.freed, &v))
			return false;
		distance = v & FREED_AGO ? v >> 1
					 : u->now.number - (u->now.t.freed + ms_unzigzag(v >> 1));
	}
	if (distance == 0 || distance > u->now.number)
		return false;
	*first = distance;
	*freed = u->now.number - distance;
	note_free(&u->now.t, *freed);
	return true;
}

static inline bool get_stack(struct ms_event_model *m, struct state *u, bool hit, uint32_t *stack)
{
	uint32_t *first = stack_first(m, &u->now.t), *second = stack_second(m, &u->now.t);
	uint64_t v = *first;
	if (!hit) {
		if (!ms_cursor_get(&u->from.stack, &v))
			return false;
		v = v == STACK_SECOND ? *second : u->now.t.stack + ms_unzigzag(v - STACK_PLAIN);
		if (v > UINT32_MAX)
			return false;
	}
	*first = *second = *stack = (uint32_t)v;
	return true;
}

/* Reads the stack of a free, if it was recorded. */
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

/* Reads the stack and the size of an event that has a size. */
static inline bool get_sized(struct ms_event_model *m, struct state *u, unsigned op,
			     struct ms_event *ev)
{
	if (!get_stack(m, u, op & OP_STACK, &ev->stack))
		return false;
	uint64_t *first = size_first(m, &u->now.t, ev->stack), *second = size_second(m, ev->stack),
		 v = *first;
	if (!(op & OP_SIZE)) {
		if (!ms_cursor_get(&u->from.size, &v))
			return false;
		if (v == SIZE_HUGE) {
			if (!ms_cursor_get(&u->from.size, &v))
				return false;
		} else {
			v = v == SIZE_SECOND ? *second : v - SIZE_PLAIN;
		}
	}
	*first = *second = ev->size = v;
	note_alloc(&u->now.t, ev->stack);
	return true;
}

/* Reads the fields of an extended event: { varint kind, varint length, bytes }. The bytes are four
 * varints, and further ones of later versions. All fields are 0 if the column was left out. */
static inline bool get_ext(struct state *u, struct ms_event *ev)
{
	uint64_t kind, length, stack;
	if (!u->from.ext.at)
		return true;
	if (!ms_cursor_get(&u->from.ext, &kind) || !ms_cursor_get(&u->from.ext, &length) ||
	    length > (uint64_t)(u->from.ext.end - u->from.ext.at) || !kind || kind > EXT_MAX)
		return false;
	struct ms_cursor c = {u->from.ext.at, u->from.ext.at + length};
	u->from.ext.at += length;
	if (kind > MS_EXT_BEFORE)
		return true;
	if (!ms_cursor_get(&c, &stack) || stack > UINT32_MAX || !ms_cursor_get(&c, &ev->address) ||
	    !ms_cursor_get(&c, &ev->size) || !ms_cursor_get(&c, &ev->freed))
		return false;
	ev->ext = (uint8_t)kind;
	ev->stack = (uint32_t)stack;
	return true;
}

/* Sets the allocation number, and reads the slack (usable minus requested size). */
static inline bool get_number(struct state *u, struct ms_event *ev)
{
	uint64_t v;
	ev->number = u->now.number++;
	if (__builtin_expect(!u->from.slack.at, 1))
		return true;
	if (!ms_cursor_get(&u->from.slack, &v) || v >= UINT32_MAX)
		return false;
	ev->slack = (uint32_t)v + 1;
	return true;
}

/* Decodes an event. Nearly all are allocations and frees, so these come first. */
static inline bool get_event(struct ms_event_model *m, struct state *u, unsigned op,
			     struct ms_event *ev)
{
	if (!get_common(m, u, op, ev))
		return false;
	if (ev->kind == MS_EV_FREE)
		return get_free(m, u, op, ev);
	if (ev->kind == MS_EV_ALLOC)
		return get_sized(m, u, op, ev) && get_number(u, ev);
	switch (ev->kind) {
	case MS_EV_EXT:
		return get_ext(u, ev);
	case MS_EV_FREE_UNKNOWN:
		return get_free_stack(m, u, op, ev) &&
		       (!u->from.unknown.at || ms_cursor_get(&u->from.unknown, &ev->address));
	case MS_EV_FREE_INFERRED:
		return get_free(m, u, op, ev);
	case MS_EV_FAILED:
		return get_sized(m, u, op, ev);
	case MS_EV_REALLOC:
		if (!get_freed(m, u, op & OP_FREED, &ev->freed))
			return false;
	}
	return get_sized(m, u, op, ev) && get_number(u, ev);
}

size_t ms_event_next_many(struct ms_event_decoder *d, struct ms_event *ev, size_t max,
			  enum ms_fmt *rc)
{
	struct state u = {d->from, model_take(&d->m)};
	size_t i = 0, n = max < d->left ? max : (size_t)d->left;
	bool good = true;
	for (; i < n; i++) {
		good = get_event(&d->m, &u, u.from.op.at[i], &ev[i]);
		if (__builtin_expect(!good, 0))
			break;
	}
	if (i)
		u.from.op.at += i;
	d->from = u.from;
	d->left = good ? d->left - i : 0;
	model_put(&d->m, &u.now);
	*rc = !good ? MS_FMT_BAD : i == max ? MS_FMT_OK : MS_FMT_END;
	return i;
}

/* SPDX-License-Identifier: MIT
 * The columns of an event block to events. The bytes may be hostile.
 */
#include "event_model.h"
#include "varint.h"

static struct ms_event_cursor cursor_of(const struct ms_column *columns, size_t n, uint32_t id)
{
	const struct ms_column *c = ms_column_find(columns, n, id);
	return c ? (struct ms_event_cursor){c->data, c->data + c->size}
		 : (struct ms_event_cursor){NULL, NULL};
}

static inline bool get(struct ms_event_cursor *c, uint64_t *v)
{
	return ms_varint_get(&c->at, c->end, v);
}

enum ms_fmt ms_event_decoder_init(struct ms_event_decoder *d, const struct ms_column *columns,
				  size_t n)
{
	struct ms_event_cursor head = cursor_of(columns, n, MS_COL_HEAD);
	if (!get(&head, &d->first_number) || !get(&head, &d->first_event) ||
	    !get(&head, &d->first_tick) || !get(&head, &d->count))
		return MS_FMT_BAD;
	d->op = cursor_of(columns, n, MS_COL_OP);
	d->thread = cursor_of(columns, n, MS_COL_THREAD);
	d->stack = cursor_of(columns, n, MS_COL_STACK);
	d->size = cursor_of(columns, n, MS_COL_SIZE);
	d->freed = cursor_of(columns, n, MS_COL_FREED);
	d->time = cursor_of(columns, n, MS_COL_TIME);
	d->unknown = cursor_of(columns, n, MS_COL_UNKNOWN);
	d->ext = cursor_of(columns, n, MS_COL_EXT);
	d->slack = cursor_of(columns, n, MS_COL_SLACK);
	d->left = d->count;
	if (d->count != (uint64_t)(d->op.end - d->op.at) || d->first_number >= NUMBER_MAX ||
	    d->first_event >= NUMBER_MAX)
		return MS_FMT_BAD;
	model_begin(&d->m, d->first_number, d->first_tick);
	return MS_FMT_OK;
}

static inline bool get_freed(struct ms_event_decoder *d, struct ms_event_thread *t, bool hit,
			     uint64_t *freed)
{
	struct ms_event_model *m = &d->m;
	uint64_t *first = freed_first(m, t), v, distance = *first;
	if (!hit) {
		if (!get(&d->freed, &v))
			return false;
		distance = v & FREED_AGO ? v >> 1 : m->number - (t->freed + ms_unzigzag(v >> 1));
	}
	if (distance == 0 || distance > m->number)
		return false;
	*first = distance;
	*freed = m->number - distance;
	note_free(t, *freed);
	return true;
}

static inline bool get_stack(struct ms_event_decoder *d, const struct ms_event_thread *t, bool hit,
			     uint32_t *stack)
{
	uint32_t *first = stack_first(&d->m, t), *second = stack_second(&d->m, t);
	uint64_t v = *first;
	if (!hit) {
		if (!get(&d->stack, &v))
			return false;
		v = v == STACK_SECOND ? *second : t->stack + ms_unzigzag(v - STACK_PLAIN);
		if (v > UINT32_MAX)
			return false;
	}
	*stack = (uint32_t)v;
	*first = *second = *stack;
	return true;
}

static inline bool get_size(struct ms_event_decoder *d, const struct ms_event_thread *t, bool hit,
			    uint32_t stack, uint64_t *size)
{
	uint64_t *first = size_first(&d->m, t, stack), *second = size_second(&d->m, stack), v;
	if (hit) {
		*size = *first;
	} else {
		if (!get(&d->size, &v))
			return false;
		if (v == SIZE_HUGE) {
			if (!get(&d->size, size))
				return false;
		} else {
			*size = v == SIZE_SECOND ? *second : v - SIZE_PLAIN;
		}
	}
	*first = *second = *size;
	return true;
}

/* Thread and time, which every kind has. */
static inline bool get_common(struct ms_event_decoder *d, unsigned op)
{
	uint64_t v;
	if (!(op & OP_SAME_THREAD)) {
		if (!get(&d->thread, &v) || v > UINT32_MAX)
			return false;
		d->m.thread = (uint32_t)v;
	}
	if (!(op & OP_SAME_TICK)) {
		if (!get(&d->time, &v) || __builtin_add_overflow(d->m.time, v, &d->m.time))
			return false;
	}
	return true;
}

/* { varint kind, varint length, bytes }: four varints of the kinds of this version, and whatever
 * later ones put behind; 0 for all when the column was left out. */
static bool get_ext(struct ms_event_decoder *d, struct ms_event *ev)
{
	uint64_t kind, length, stack;
	if (!d->ext.at)
		return true;
	if (!get(&d->ext, &kind) || !get(&d->ext, &length) ||
	    length > (uint64_t)(d->ext.end - d->ext.at) || !kind || kind > EXT_MAX)
		return false;
	struct ms_event_cursor c = {d->ext.at, d->ext.at + length};
	d->ext.at += length;
	if (kind > MS_EXT_BEFORE)
		return true;
	if (!get(&c, &stack) || stack > UINT32_MAX || !get(&c, &ev->address) ||
	    !get(&c, &ev->size) || !get(&c, &ev->freed))
		return false;
	ev->ext = (uint8_t)kind;
	ev->stack = (uint32_t)stack;
	return true;
}

static inline bool get_slack(struct ms_event_decoder *d, struct ms_event *ev)
{
	uint64_t v;
	if (__builtin_expect(!d->slack.at, 1))
		return true;
	if (!get(&d->slack, &v) || v >= UINT32_MAX)
		return false;
	ev->slack = (uint32_t)v + 1;
	return true;
}

/* Frees and what else has no size. */
static bool get_rest(struct ms_event_decoder *d, unsigned op, struct ms_event_thread *t,
		     struct ms_event *ev)
{
	unsigned kind = op & OP_KIND;
	if (kind == MS_EV_EXT)
		return get_ext(d, ev);
	if (op & OP_FREE_STACK && !get_stack(d, t, op & OP_STACK, &ev->stack))
		return false;
	if (kind == MS_EV_FREE_UNKNOWN)
		return !d->unknown.at || get(&d->unknown, &ev->address);
	return get_freed(d, t, op & OP_FREED, &ev->freed);
}

enum ms_fmt ms_event_next(struct ms_event_decoder *d, struct ms_event *ev)
{
	if (!d->left)
		return MS_FMT_END;
	unsigned op = *d->op.at++, kind = op & OP_KIND;
	d->left--;
	if (!get_common(d, op))
		goto bad;
	struct ms_event_thread *t = thread_of(&d->m, d->m.thread);
	*ev = (struct ms_event){
		.time_ticks = d->m.time, .thread = d->m.thread, .kind = (uint8_t)kind};
	if (!kind_has_size(kind)) {
		if (!get_rest(d, op, t, ev))
			goto bad;
		return MS_FMT_OK;
	}
	if (kind == MS_EV_REALLOC && !get_freed(d, t, op & OP_FREED, &ev->freed))
		goto bad;
	if (!get_stack(d, t, op & OP_STACK, &ev->stack) ||
	    !get_size(d, t, op & OP_SIZE, ev->stack, &ev->size))
		goto bad;
	note_alloc(t, ev->stack);
	if (!kind_allocates(kind))
		return MS_FMT_OK;
	ev->number = d->m.number++;
	if (get_slack(d, ev))
		return MS_FMT_OK;
bad:
	d->left = 0;
	return MS_FMT_BAD;
}

/* ---- many events ----
 *
 * Allocations and frees are nearly all there is. They are decoded here with what changes from event
 * to event in registers; whatever else comes is left to ms_event_next. Both do the same.
 */

/* What changes with every event. */
struct usual {
	struct ms_event_cursor thread, stack, size, freed, time;
	struct ms_event_thread t, *home; /* a copy of *home */
	uint64_t number, ticks;
	uint32_t thread_index;
};

static inline struct usual take_state(struct ms_event_decoder *d)
{
	struct ms_event_thread *home = thread_of(&d->m, d->m.thread);
	return (struct usual){d->thread, d->stack, d->size,     d->freed,  d->time,
			      *home,     home,     d->m.number, d->m.time, d->m.thread};
}

/* Puts it back; `n` events were decoded since it was taken. */
static inline void put_state(struct ms_event_decoder *d, const struct usual *u, size_t n)
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
static inline bool take(struct ms_event_cursor *c, uint64_t *v)
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

static inline bool usual_common(struct ms_event_model *m, struct usual *u, unsigned op)
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
	return op & OP_SAME_TICK ||
	       (take(&u->time, &v) && !__builtin_add_overflow(u->ticks, v, &u->ticks));
}

static inline bool usual_free(struct ms_event_model *m, struct usual *u, bool hit,
			      struct ms_event *ev)
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
	note_free(&u->t, u->number - distance);
	*ev = (struct ms_event){.time_ticks = u->ticks,
				.freed = u->number - distance,
				.thread = u->thread_index,
				.kind = MS_EV_FREE};
	return true;
}

static inline bool usual_size(struct ms_event_model *m, struct usual *u, bool hit, uint32_t stack,
			      uint64_t *size)
{
	uint64_t *first = size_first(m, &u->t, stack), *second = size_second(m, stack), v = *first;
	if (!hit) {
		if (!take(&u->size, &v))
			return false;
		if (v == SIZE_HUGE) {
			if (!take(&u->size, &v))
				return false;
		} else {
			v = v == SIZE_SECOND ? *second : v - SIZE_PLAIN;
		}
	}
	*first = *second = *size = v;
	return true;
}

static inline bool usual_allocation(struct ms_event_model *m, struct usual *u, unsigned op,
				    struct ms_event *ev)
{
	uint32_t *first = stack_first(m, &u->t), *second = stack_second(m, &u->t);
	uint64_t v = *first, size;
	if (!(op & OP_STACK)) {
		if (!take(&u->stack, &v))
			return false;
		v = v == STACK_SECOND ? *second : u->t.stack + ms_unzigzag(v - STACK_PLAIN);
		if (v > UINT32_MAX)
			return false;
	}
	uint32_t stack = (uint32_t)v;
	*first = *second = stack;
	if (!usual_size(m, u, op & OP_SIZE, stack, &size))
		return false;
	note_alloc(&u->t, stack);
	*ev = (struct ms_event){.time_ticks = u->ticks,
				.size = size,
				.number = u->number++,
				.thread = u->thread_index,
				.stack = stack,
				.kind = MS_EV_ALLOC};
	return true;
}

/* Decodes up to `max` of the usual events; false: the next one is bad. */
static bool next_usual(struct ms_event_decoder *d, struct ms_event *ev, size_t max, size_t *n)
{
	struct usual u = take_state(d);
	const uint8_t *op_at = d->op.at;
	size_t i = 0;
	bool good = true;
	if (max > d->left)
		max = (size_t)d->left;
	for (; i < max; i++) {
		unsigned op = op_at[i], kind = op & OP_KIND;
		if (kind > MS_EV_FREE || (kind == MS_EV_FREE && op & OP_FREE_STACK))
			break;
		good = usual_common(&d->m, &u, op) &&
		       (kind == MS_EV_FREE ? usual_free(&d->m, &u, op & OP_FREED, &ev[i])
					   : usual_allocation(&d->m, &u, op, &ev[i]));
		if (__builtin_expect(!good, 0))
			break;
	}
	put_state(d, &u, i);
	*n = i;
	return good;
}

size_t ms_event_next_many(struct ms_event_decoder *d, struct ms_event *ev, size_t max,
			  enum ms_fmt *rc)
{
	size_t n = 0;
	*rc = MS_FMT_OK;
	while (n < max) {
		size_t usual = 0;
		if (d->left && !d->slack.at && !next_usual(d, ev + n, max - n, &usual)) {
			d->left = 0;
			*rc = MS_FMT_BAD;
			return n + usual;
		}
		n += usual;
		if (n == max)
			break;
		*rc = ms_event_next(d, &ev[n]);
		if (*rc != MS_FMT_OK)
			break;
		n++;
	}
	return n;
}

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
	if (kind > MS_EXT_UNMAP)
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

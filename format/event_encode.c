/* SPDX-License-Identifier: MIT
 * Events to the columns of an event block.
 */
#include "event_model.h"
#include "varint.h"

/* The memory, one region per column, each as large as its worst case:
 *   head | op n | thread 5n | stack 5n | size 11n | freed 10n | time 10n | unknown 10n |
 *   ext 40n | slack 5n */
#define HEAD_BYTES 64
enum {
	AT_OP = 0,
	AT_THREAD = 1,
	AT_STACK = 6,
	AT_SIZE = 11,
	AT_FREED = 22,
	AT_TIME = 32,
	AT_UNKNOWN = 42,
	AT_EXT = 52,
	AT_SLACK = 92,
	AT_END = 97
};
_Static_assert(MS_EVENT_MEMORY(1) == AT_END + HEAD_BYTES, "room for the regions");

static uint8_t *region(const struct ms_event_encoder *e, unsigned at)
{
	return e->memory + HEAD_BYTES + at * e->max;
}

void ms_event_encoder_init(struct ms_event_encoder *e, void *memory, size_t max_events)
{
	e->memory = memory;
	e->max = max_events;
	ms_event_encoder_begin(e, 0, 0, 0);
}

void ms_event_encoder_begin(struct ms_event_encoder *e, uint64_t first_number, uint64_t first_event,
			    uint64_t first_tick)
{
	model_begin(&e->m, first_number, first_tick);
	e->first_number = first_number;
	e->first_event = first_event;
	e->first_tick = first_tick;
	e->count = 0;
	e->op = region(e, AT_OP);
	e->thread = region(e, AT_THREAD);
	e->stack = region(e, AT_STACK);
	e->size = region(e, AT_SIZE);
	e->freed = region(e, AT_FREED);
	e->time = region(e, AT_TIME);
	e->unknown = region(e, AT_UNKNOWN);
	e->ext = region(e, AT_EXT);
	e->slack = region(e, AT_SLACK);
}

static inline unsigned put_freed(struct ms_event_encoder *e, struct ms_event_thread *t,
				 uint64_t freed)
{
	uint64_t distance = e->m.number - freed, *first = freed_first(&e->m, t);
	bool hit = *first == distance;
	if (!hit) {
		uint64_t step = ms_zigzag(freed - t->freed);
		bool ago = distance <= step;
		e->freed = ms_varint_put(e->freed, (ago ? distance : step) << 1 | ago);
	}
	*first = distance;
	note_free(t, freed);
	return hit ? OP_FREED : 0;
}

static inline unsigned put_stack(struct ms_event_encoder *e, const struct ms_event_thread *t,
				 uint32_t stack)
{
	uint32_t *first = stack_first(&e->m, t), *second = stack_second(&e->m, t);
	bool hit = *first == stack;
	if (!hit)
		e->stack = ms_varint_put(e->stack, *second == stack
							   ? STACK_SECOND
							   : ms_zigzag((uint64_t)stack - t->stack) +
								     STACK_PLAIN);
	*first = *second = stack;
	return hit ? OP_STACK : 0;
}

static inline unsigned put_size(struct ms_event_encoder *e, const struct ms_event_thread *t,
				uint32_t stack, uint64_t size)
{
	uint64_t *first = size_first(&e->m, t, stack), *second = size_second(&e->m, stack);
	bool hit = *first == size;
	if (!hit) {
		if (*second == size) {
			*e->size++ = SIZE_SECOND;
		} else if (size > UINT64_MAX - SIZE_PLAIN) {
			*e->size++ = SIZE_HUGE;
			e->size = ms_varint_put(e->size, size);
		} else {
			e->size = ms_varint_put(e->size, size + SIZE_PLAIN);
		}
	}
	*first = *second = size;
	return hit ? OP_SIZE : 0;
}

static inline unsigned put_thread(struct ms_event_encoder *e, uint32_t thread)
{
	if (thread == e->m.thread)
		return OP_SAME_THREAD;
	e->thread = ms_varint_put(e->thread, thread);
	e->m.thread = thread;
	return 0;
}

static inline unsigned put_time(struct ms_event_encoder *e, uint64_t ticks)
{
	if (ticks <= e->m.time)
		return OP_SAME_TICK;
	e->time = ms_varint_put(e->time, ticks - e->m.time);
	e->m.time = ticks;
	return 0;
}

/* { kind, length of the rest, stack, address, size, freed }; the rest is under 128 bytes. */
static void put_ext(struct ms_event_encoder *e, const struct ms_event *ev)
{
	*e->ext++ = ev->ext;
	uint8_t *length = e->ext++;
	e->ext = ms_varint_put(e->ext, ev->stack);
	e->ext = ms_varint_put(e->ext, ev->address);
	e->ext = ms_varint_put(e->ext, ev->size);
	e->ext = ms_varint_put(e->ext, ev->freed);
	*length = (uint8_t)(e->ext - length - 1);
}

/* The first allocation decides whether the block has the column. */
static inline void put_slack(struct ms_event_encoder *e, uint32_t slack)
{
	bool first = e->m.number == e->first_number, has = e->slack != region(e, AT_SLACK);
	if (__builtin_expect(first ? slack != 0 : has, 0))
		e->slack = ms_varint_put(e->slack, slack ? slack - 1 : 0);
}

enum ms_fmt ms_event_put(struct ms_event_encoder *e, const struct ms_event *ev)
{
	unsigned kind = ev->kind;
	if (e->count == e->max)
		return MS_FMT_FULL;
	if (kind > MS_EV_EXT || (kind == MS_EV_EXT && (!ev->ext || ev->ext > EXT_MAX)) ||
	    (kind_releases(kind) && ev->freed >= e->m.number) || e->m.number >= NUMBER_MAX)
		return MS_FMT_BAD;
	unsigned op = kind | put_thread(e, ev->thread) | put_time(e, ev->time_ticks);
	struct ms_event_thread *t = thread_of(&e->m, ev->thread);
	if (kind == MS_EV_EXT)
		put_ext(e, ev);
	else if (!kind_has_size(kind) && ev->stack)
		op |= OP_FREE_STACK | put_stack(e, t, ev->stack);
	if (kind_releases(kind))
		op |= put_freed(e, t, ev->freed);
	if (kind_has_size(kind)) {
		op |= put_stack(e, t, ev->stack);
		op |= put_size(e, t, ev->stack, ev->size);
		note_alloc(t, ev->stack);
		if (kind_allocates(kind)) {
			put_slack(e, ev->slack);
			e->m.number++;
		}
	}
	if (kind == MS_EV_FREE_UNKNOWN)
		e->unknown = ms_varint_put(e->unknown, ev->address);
	*e->op++ = (uint8_t)op;
	e->count++;
	return MS_FMT_OK;
}

/* ---- many events ----
 *
 * Allocations and frees are nearly all there is. They are put here with what changes from event to
 * event in registers; whatever else comes is left to ms_event_put. Both do the same.
 */

/* What every event changes. */
struct usual {
	uint8_t *op, *thread, *stack, *size, *freed, *time;
	struct ms_event_thread t, *home; /* a copy of *home */
	uint64_t number, ticks;
	uint32_t thread_index;
};

static inline struct usual take_state(struct ms_event_encoder *e)
{
	struct ms_event_thread *home = thread_of(&e->m, e->m.thread);
	return (struct usual){e->op, e->thread, e->stack,    e->size,   e->freed,   e->time,
			      *home, home,      e->m.number, e->m.time, e->m.thread};
}

static inline void put_state(struct ms_event_encoder *e, const struct usual *u)
{
	*u->home = u->t;
	e->count += (size_t)(u->op - e->op);
	e->op = u->op;
	e->thread = u->thread;
	e->stack = u->stack;
	e->size = u->size;
	e->freed = u->freed;
	e->time = u->time;
	e->m.number = u->number;
	e->m.time = u->ticks;
	e->m.thread = u->thread_index;
}

static inline unsigned usual_common(struct ms_event_model *m, struct usual *u,
				    const struct ms_event *ev)
{
	unsigned op = OP_SAME_THREAD | OP_SAME_TICK;
	if (ev->thread != u->thread_index) {
		u->thread = ms_varint_put(u->thread, ev->thread);
		*u->home = u->t;
		u->thread_index = ev->thread;
		u->home = thread_of(m, ev->thread);
		u->t = *u->home;
		op ^= OP_SAME_THREAD;
	}
	if (ev->time_ticks > u->ticks) {
		u->time = ms_varint_put(u->time, ev->time_ticks - u->ticks);
		u->ticks = ev->time_ticks;
		op ^= OP_SAME_TICK;
	}
	return op;
}

static inline unsigned usual_free(struct ms_event_model *m, struct usual *u, uint64_t freed)
{
	uint64_t distance = u->number - freed, *first = freed_first(m, &u->t);
	bool hit = *first == distance;
	if (!hit) {
		uint64_t step = ms_zigzag(freed - u->t.freed);
		bool ago = distance <= step;
		u->freed = ms_varint_put(u->freed, (ago ? distance : step) << 1 | ago);
		*first = distance;
	}
	note_free(&u->t, freed);
	return hit ? OP_FREED : 0;
}

static inline unsigned usual_allocation(struct ms_event_model *m, struct usual *u,
					const struct ms_event *ev)
{
	uint32_t stack = ev->stack, *first = stack_first(m, &u->t),
		 *second = stack_second(m, &u->t);
	uint64_t size = ev->size, *size1 = size_first(m, &u->t, stack),
		 *size2 = size_second(m, stack);
	unsigned op = OP_STACK | OP_SIZE;
	if (*first != stack) {
		u->stack = ms_varint_put(
			u->stack, *second == stack
					  ? STACK_SECOND
					  : ms_zigzag((uint64_t)stack - u->t.stack) + STACK_PLAIN);
		op ^= OP_STACK;
	}
	if (*size1 != size) {
		u->size = ms_varint_put(u->size, *size2 == size ? SIZE_SECOND : size + SIZE_PLAIN);
		op ^= OP_SIZE;
	}
	*first = *second = stack;
	*size1 = *size2 = size;
	note_alloc(&u->t, stack);
	u->number++;
	return op;
}

/* Is it one of those? A size may be too large to be added to. */
static inline bool is_usual(const struct usual *u, const struct ms_event *ev)
{
	if (ev->kind == MS_EV_ALLOC)
		return !ev->slack && ev->size < UINT64_MAX - SIZE_PLAIN;
	return ev->kind == MS_EV_FREE && !ev->stack && ev->freed < u->number;
}

static size_t put_usual(struct ms_event_encoder *e, const struct ms_event *v, size_t n)
{
	struct usual u = take_state(e);
	size_t i = 0;
	if (n > e->max - e->count)
		n = e->max - e->count;
	if (e->slack != region(e, AT_SLACK) || u.number >= NUMBER_MAX - n)
		return 0;
	for (; i < n; i++) {
		const struct ms_event *ev = &v[i];
		if (__builtin_expect(!is_usual(&u, ev), 0))
			break;
		unsigned op = usual_common(&e->m, &u, ev);
		if (ev->kind == MS_EV_FREE)
			op |= MS_EV_FREE | usual_free(&e->m, &u, ev->freed);
		else
			op |= usual_allocation(&e->m, &u, ev);
		*u.op++ = (uint8_t)op;
	}
	put_state(e, &u);
	return i;
}

size_t ms_event_put_many(struct ms_event_encoder *e, const struct ms_event *v, size_t n,
			 enum ms_fmt *rc)
{
	size_t i = 0;
	*rc = MS_FMT_OK;
	while (i < n) {
		i += put_usual(e, v + i, n - i);
		if (i == n)
			break;
		*rc = ms_event_put(e, &v[i]);
		if (*rc != MS_FMT_OK)
			break;
		i++;
	}
	return i;
}

size_t ms_event_encoder_finish(struct ms_event_encoder *e, struct ms_column *out)
{
	uint8_t *p = e->memory;
	p = ms_varint_put(p, e->first_number);
	p = ms_varint_put(p, e->first_event);
	p = ms_varint_put(p, e->first_tick);
	p = ms_varint_put(p, e->count);
	size_t n = ms_column_add(out, 0, MS_COL_HEAD, e->memory, p);
	n = ms_column_add(out, n, MS_COL_OP, region(e, AT_OP), e->op);
	n = ms_column_add(out, n, MS_COL_THREAD, region(e, AT_THREAD), e->thread);
	n = ms_column_add(out, n, MS_COL_STACK, region(e, AT_STACK), e->stack);
	n = ms_column_add(out, n, MS_COL_SIZE, region(e, AT_SIZE), e->size);
	n = ms_column_add(out, n, MS_COL_FREED, region(e, AT_FREED), e->freed);
	n = ms_column_add(out, n, MS_COL_TIME, region(e, AT_TIME), e->time);
	n = ms_column_add(out, n, MS_COL_UNKNOWN, region(e, AT_UNKNOWN), e->unknown);
	n = ms_column_add(out, n, MS_COL_EXT, region(e, AT_EXT), e->ext);
	return ms_column_add(out, n, MS_COL_SLACK, region(e, AT_SLACK), e->slack);
}

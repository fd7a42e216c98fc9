/* SPDX-License-Identifier: MIT
 * Events to the columns of an event block.
 */
#include "event_model.h"
#include "varint.h"

/* The memory: the head, then a region per column, as large as its worst case. */
#define HEAD_BYTES 64
enum { EACH_COLUMN(MS_COLUMN_AT) AT_END };
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
#define BEGIN(id, member, bytes) e->member = region(e, AT_##id);
	EACH_COLUMN(BEGIN)
}

/* What every event changes: in registers while many are put. */
struct state {
	uint8_t *op, *thread, *stack, *size, *freed, *time;
	struct ms_event_thread t, *home; /* a copy of *home */
	uint64_t number, ticks;
	uint32_t thread_index;
};

static inline struct state take_state(struct ms_event_encoder *e)
{
	struct ms_event_thread *home = thread_of(&e->m, e->m.thread);
	return (struct state){e->op, e->thread, e->stack,    e->size,   e->freed,   e->time,
			      *home, home,      e->m.number, e->m.time, e->m.thread};
}

static inline void put_state(struct ms_event_encoder *e, const struct state *u)
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

/* Thread and time. */
static inline unsigned put_common(struct ms_event_model *m, struct state *u,
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

static inline unsigned put_freed(struct ms_event_model *m, struct state *u, uint64_t freed)
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

static inline unsigned put_stack(struct ms_event_model *m, struct state *u, uint32_t stack)
{
	uint32_t *first = stack_first(m, &u->t), *second = stack_second(m, &u->t);
	bool hit = *first == stack;
	if (!hit)
		u->stack = ms_varint_put(
			u->stack, *second == stack
					  ? STACK_SECOND
					  : ms_zigzag((uint64_t)stack - u->t.stack) + STACK_PLAIN);
	*first = *second = stack;
	return hit ? OP_STACK : 0;
}

/* Stack and size of an event that has a size. */
static inline unsigned put_sized(struct ms_event_model *m, struct state *u,
				 const struct ms_event *ev)
{
	uint64_t size = ev->size, *first = size_first(m, &u->t, ev->stack),
		 *second = size_second(m, ev->stack);
	unsigned op = put_stack(m, u, ev->stack);
	if (*first == size) {
		op |= OP_SIZE;
	} else if (__builtin_expect(size > UINT64_MAX - SIZE_PLAIN && *second != size, 0)) {
		*u->size++ = SIZE_HUGE;
		u->size = ms_varint_put(u->size, size);
	} else {
		u->size = ms_varint_put(u->size, *second == size ? SIZE_SECOND : size + SIZE_PLAIN);
	}
	*first = *second = size;
	note_alloc(&u->t, ev->stack);
	return op;
}

/* { kind, length of the rest, stack, address, size, freed }; the rest is under 128 bytes. */
static void put_ext(struct ms_event_encoder *e, const struct ms_event *ev)
{
	*e->ext++ = ev->ext;
	uint8_t *length = e->ext++;
	e->ext = ms_varints_put(e->ext, (uint64_t[]){ev->stack, ev->address, ev->size, ev->freed},
				4);
	*length = (uint8_t)(e->ext - length - 1);
}

/* The first allocation decides whether the block has the column. */
static void put_slack(struct ms_event_encoder *e, uint64_t number, uint32_t slack)
{
	bool first = number == e->first_number, has = e->slack != region(e, AT_SLACK);
	if (first ? slack != 0 : has)
		e->slack = ms_varint_put(e->slack, slack ? slack - 1 : 0);
}

enum ms_fmt ms_event_put(struct ms_event_encoder *e, const struct ms_event *ev)
{
	unsigned kind = ev->kind;
	if (e->count == e->max)
		return MS_FMT_FULL;
	if (kind > MS_EV_EXT || (kind == MS_EV_EXT && (!ev->ext || ev->ext > EXT_MAX)) ||
	    (ms_event_releases(kind) && ev->freed >= e->m.number) || e->m.number >= NUMBER_MAX)
		return MS_FMT_BAD;
	struct state u = take_state(e);
	unsigned op = kind | put_common(&e->m, &u, ev);
	if (kind == MS_EV_EXT)
		put_ext(e, ev);
	else if (!kind_has_size(kind) && ev->stack)
		op |= OP_FREE_STACK | put_stack(&e->m, &u, ev->stack);
	if (ms_event_releases(kind))
		op |= put_freed(&e->m, &u, ev->freed);
	if (kind_has_size(kind))
		op |= put_sized(&e->m, &u, ev);
	if (ms_event_allocates(kind)) {
		put_slack(e, u.number, ev->slack);
		u.number++;
	}
	if (kind == MS_EV_FREE_UNKNOWN)
		e->unknown = ms_varint_put(e->unknown, ev->address);
	*u.op++ = (uint8_t)op;
	put_state(e, &u);
	return MS_FMT_OK;
}

/* Allocations and frees are nearly all there is. They are put here with what changes from event to
 * event in registers; whatever else comes is left to ms_event_put. Both do the same. */
static size_t put_usual(struct ms_event_encoder *e, const struct ms_event *v, size_t n)
{
	struct state u = take_state(e);
	bool slacks = e->slack != region(e, AT_SLACK);
	size_t i = 0;
	if (n > e->max - e->count)
		n = e->max - e->count;
	if (u.number >= NUMBER_MAX - n)
		return 0;
	for (; i < n; i++) {
		const struct ms_event *ev = &v[i];
		unsigned op;
		if (ev->kind == MS_EV_FREE && ev->freed < u.number) {
			op = MS_EV_FREE | put_common(&e->m, &u, ev);
			if (ev->stack)
				op |= OP_FREE_STACK | put_stack(&e->m, &u, ev->stack);
			op |= put_freed(&e->m, &u, ev->freed);
		} else if (ev->kind == MS_EV_ALLOC) {
			op = put_common(&e->m, &u, ev);
			op |= put_sized(&e->m, &u, ev);
			if (__builtin_expect(slacks || ev->slack, 0)) {
				put_slack(e, u.number, ev->slack);
				slacks = e->slack != region(e, AT_SLACK);
			}
			u.number++;
		} else {
			break;
		}
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
	const uint64_t head[] = {e->first_number, e->first_event, e->first_tick, e->count};
	size_t n =
		ms_column_add(out, 0, MS_COL_HEAD, e->memory, ms_varints_put(e->memory, head, 4));
#define FINISH(id, member, bytes)                                                                  \
	n = ms_column_add(out, n, MS_COL_##id, region(e, AT_##id), e->member);
	EACH_COLUMN(FINISH)
	return n;
}

/* SPDX-License-Identifier: MIT
 * Encodes events to the columns of an event block.
 */
#include "event_model.h"
#include "varint.h"

/* Offsets in the encoder's memory: the head, then a region per column, large enough for its worst
 * case. */
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
	e->slacks = false;
#define BEGIN(id, member, bytes) e->to.member = region(e, AT_##id);
	EACH_COLUMN(BEGIN)
}

#define INLINE inline __attribute__((always_inline))

/* Holds the state that each event changes. It stays in registers while a run of events is encoded,
 * unless its address is passed to a call. */
struct state {
	struct ms_event_ends to;
	struct now now;
};

/* Writes thread and time. Returns the bits of the op byte for both. */
static inline unsigned put_common(struct ms_event_model *m, struct state *u,
				  const struct ms_event *ev)
{
	unsigned op = OP_SAME_THREAD | OP_SAME_TICK;
	if (ev->thread != u->now.thread) {
		u->to.thread = ms_varint_put(u->to.thread, ev->thread);
		turn_to_thread(m, &u->now, ev->thread);
		op ^= OP_SAME_THREAD;
	}
	if (ev->time_ticks > u->now.time) {
		u->to.time = ms_varint_put(u->to.time, ev->time_ticks - u->now.time);
		u->now.time = ev->time_ticks;
		op ^= OP_SAME_TICK;
	}
	return op;
}

static inline unsigned put_freed(struct ms_event_model *m, struct state *u, uint64_t freed)
{
	uint64_t distance = u->now.number - freed, *first = freed_first(m, &u->now.t);
	bool hit = *first == distance;
	if (!hit) {
		uint64_t step = ms_zigzag(freed - u->now.t.freed);
		bool ago = distance <= step;
		u->to.freed = ms_varint_put(u->to.freed, (ago ? distance : step) << 1 | ago);
		*first = distance;
	}
	note_free(&u->now.t, freed);
	return hit ? OP_FREED : 0;
}

static inline unsigned put_stack(struct ms_event_model *m, struct state *u, uint32_t stack)
{
	uint32_t *first = stack_first(m, &u->now.t), *second = stack_second(m, &u->now.t);
	bool hit = *first == stack;
	if (!hit)
		u->to.stack = ms_varint_put(u->to.stack,
					    *second == stack
						    ? STACK_SECOND
						    : ms_zigzag((uint64_t)stack - u->now.t.stack) +
							      STACK_PLAIN);
	*first = *second = stack;
	return hit ? OP_STACK : 0;
}

/* Writes stack and size of an event that has a size. Returns their bits of the op byte. */
static INLINE unsigned put_sized(struct ms_event_model *m, struct state *u,
				 const struct ms_event *ev)
{
	uint64_t size = ev->size, *first = size_first(m, &u->now.t, ev->stack),
		 *second = size_second(m, ev->stack);
	unsigned op = put_stack(m, u, ev->stack);
	if (*first == size) {
		op |= OP_SIZE;
	} else if (__builtin_expect(size > UINT64_MAX - SIZE_PLAIN && *second != size, 0)) {
		*u->to.size++ = SIZE_HUGE;
		u->to.size = ms_varint_put(u->to.size, size);
	} else {
		u->to.size = ms_varint_put(u->to.size,
					   *second == size ? SIZE_SECOND : size + SIZE_PLAIN);
	}
	*first = *second = size;
	note_alloc(&u->now.t, ev->stack);
	return op;
}

/* Writes an extended event: { kind, length of the rest, stack, address, size, freed }. The rest is
 * below 128 bytes. */
static inline void put_ext(struct state *u, const struct ms_event *ev)
{
	const uint64_t rest[] = {ev->stack, ev->address, ev->size, ev->freed};
	uint8_t *length = u->to.ext + 1;
	*u->to.ext = ev->ext;
	u->to.ext = ms_varints_put(length + 1, rest, 4);
	*length = (uint8_t)(u->to.ext - length - 1);
}

/* Writes an allocation's slack. The column begins with the first slack of the block; earlier
 * allocations get 0. */
static inline void put_slack(struct ms_event_encoder *e, struct state *u, uint32_t slack)
{
	if (__builtin_expect(!e->slacks && !slack, 1))
		return;
	if (!e->slacks) {
		size_t before = (size_t)(u->now.number - e->first_number);
		memset(u->to.slack, 0, before);
		u->to.slack += before;
		e->slacks = true;
	}
	u->to.slack = ms_varint_put(u->to.slack, slack ? slack - 1 : 0);
}

/* Writes an event. `kind` is constant for the usual kinds, which get specialized code. */
static INLINE bool put_event(struct ms_event_encoder *e, struct state *u, const struct ms_event *ev,
			     unsigned kind)
{
	if (ms_event_releases(kind) && ev->freed >= u->now.number)
		return false;
	unsigned op = kind | put_common(&e->m, u, ev);
	if (kind == MS_EV_EXT)
		put_ext(u, ev);
	else if (!kind_has_size(kind) && ev->stack)
		op |= OP_FREE_STACK | put_stack(&e->m, u, ev->stack);
	if (ms_event_releases(kind))
		op |= put_freed(&e->m, u, ev->freed);
	if (kind_has_size(kind))
		op |= put_sized(&e->m, u, ev);
	if (ms_event_allocates(kind)) {
		put_slack(e, u, ev->slack);
		u->now.number++;
	}
	if (kind == MS_EV_FREE_UNKNOWN)
		u->to.unknown = ms_varint_put(u->to.unknown, ev->address);
	*u->to.op++ = (uint8_t)op;
	return true;
}

static struct state take_state(struct ms_event_encoder *e)
{
	return (struct state){e->to, model_take(&e->m)};
}

static void put_state(struct ms_event_encoder *e, const struct state *u)
{
	e->to = u->to;
	model_put(&e->m, &u->now);
}

/* Writes an event of a rare kind. Not inlined, to keep the code for the usual kinds short. */
static __attribute__((noinline)) bool put_rare(struct ms_event_encoder *e,
					       const struct ms_event *ev)
{
	struct state u = take_state(e);
	bool good =
		ev->kind < MS_EV_EXT || (ev->kind == MS_EV_EXT && ev->ext && ev->ext <= EXT_MAX);
	good = good && put_event(e, &u, ev, ev->kind);
	put_state(e, &u);
	return good;
}

size_t ms_event_put_many(struct ms_event_encoder *e, const struct ms_event *v, size_t n,
			 enum ms_fmt *rc)
{
	struct state u = take_state(e);
	size_t room = e->max - e->count, most = n < room ? n : room, put;
	uint64_t numbers = u.now.number < NUMBER_MAX ? NUMBER_MAX - u.now.number : 0;
	const struct ms_event *ev = v, *end = v + (most < numbers ? most : numbers);
	bool good = true;
	for (; good && ev < end; ev += good)
		if (ev->kind == MS_EV_FREE) {
			good = put_event(e, &u, ev, MS_EV_FREE);
		} else if (ev->kind == MS_EV_ALLOC) {
			good = put_event(e, &u, ev, MS_EV_ALLOC);
		} else {
			put_state(e, &u);
			good = put_rare(e, ev);
			u = take_state(e);
		}
	put_state(e, &u);
	put = (size_t)(ev - v);
	e->count += put;
	*rc = put == n ? MS_FMT_OK : put == room ? MS_FMT_FULL : MS_FMT_BAD;
	return put;
}

size_t ms_event_encoder_finish(struct ms_event_encoder *e, struct ms_column *out)
{
	const uint64_t head[] = {e->first_number, e->first_event, e->first_tick, e->count};
	size_t n =
		ms_column_add(out, 0, MS_COL_HEAD, e->memory, ms_varints_put(e->memory, head, 4));
#define FINISH(id, member, bytes)                                                                  \
	n = ms_column_add(out, n, MS_COL_##id, region(e, AT_##id), e->to.member);
	EACH_COLUMN(FINISH)
	return n;
}

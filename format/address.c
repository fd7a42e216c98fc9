/* SPDX-License-Identifier: MIT
 * Addresses of blocks, predicted as an allocator would give them out.
 */
#include "address.h"

#include <string.h>

#include "address_heap.h"
#include "heap_fast.h"
#include "varint.h"

/* The column: varint of HEAD_* bits; varint count of the codes' bytes; a code
 * for each allocation; the distances that codes ask for. The two parts compress better apart. */
#define ADDRESS_FRESH 0u   /* the end of this thread's last fresh block */
#define ADDRESS_SAME 1u    /* where the block was that this realloc releases */
#define ADDRESS_UNKNOWN 2u /* not recorded */
#define ADDRESS_FAR 3u     /* distance (zigzag varint) from the end of the last fresh block, / 16 */
#define ADDRESS_FAR_ODD 4u /* the same, in bytes */
#define ADDRESS_PAST                                                                               \
	5u /* freed some time ago: distance in places of the history (zigzag varint) from          \
	    * the one that this size class took before */
#define ADDRESS_FREED 6u /* + how deep in the free list */
#define ADDRESS_RUN                                                                                \
	(ADDRESS_FREED + MS_ADDRESS_DEPTH) /* + which of the ends where earlier runs stopped */

/* Bits of the first varint. */
#define HEAD_RESET 1u
#define HEAD_RUNS 2u /* written with earlier ends, and with past blocks as the begin of a run */

/* The encoder's memory: head 32 | codes n | distances 10n. */
#define HEAD_BYTES 32

#define RESET_EVENTS (UINT64_C(1) << 20)
/* With the model of the heap: at least, where a reader may start, and at most. It never learns all
 * that was there before, and is wrong four times in ten from then on, where it never was. */
#define HEAP_RESET_MIN (UINT64_C(1) << 24)
#define HEAP_RESET_EVENTS (UINT64_C(1) << 26)
/* It is given up when of so many allocations it did not foresee one in so many; of glibc's heap,
 * where only threads that race can be why, the other model would foresee even less. */
#define HEAP_JUDGED 1000u
#define HEAP_MISSED 4u
#define HEAP_MISSED_SURE 2u

/* Granules of 16 bytes as malloc implementations round. Sizes over 1 KB share classes by the top 3
 * bits below their highest. */
#define granules ms_granules

static inline unsigned class_of(uint64_t size)
{
	uint64_t g = granules(size);
	if (g < 64)
		return (unsigned)g;
	unsigned top = 63 - (unsigned)__builtin_clzll(g);
	return 64 + (top - 6) * 8 + (unsigned)((g >> (top - 3)) & 7);
}

static inline struct ms_address_list *list_of(struct ms_address_model *m, uint32_t thread,
					      uint64_t size)
{
	return &m->lists[(class_of(size) + thread * 211u) % MS_ADDRESS_SLOTS];
}

static inline uint64_t *fresh_of(struct ms_address_model *m, uint32_t thread)
{
	return &m->fresh[thread % MS_EVENT_THREAD_SLOTS];
}

static void model_reset(struct ms_address_model *m, uint64_t first_number)
{
	memset(m->fresh, 0, sizeof m->fresh);
	memset(m->earlier, 0, sizeof m->earlier);
	memset(m->anchor, 0, sizeof m->anchor);
	for (size_t i = 0; i < MS_ADDRESS_SLOTS; i++)
		m->lists[i].top = m->lists[i].count = m->lists[i].last = 0;
	m->first_number = first_number;
	m->freed = 0;
}

/* The thread goes on at `end`, away from where it was: that is remembered, in place `at` of the
 * earlier ends (MS_ADDRESS_RUNS: the oldest is forgotten). */
static inline void turn_to(struct ms_address_model *m, uint32_t thread, unsigned at, uint64_t end)
{
	uint64_t *fresh = fresh_of(m, thread),
		 *earlier = m->earlier[thread % MS_EVENT_THREAD_SLOTS];
	for (unsigned i = at < MS_ADDRESS_RUNS ? at : MS_ADDRESS_RUNS - 1; i; i--)
		earlier[i] = earlier[i - 1];
	earlier[0] = *fresh;
	*fresh = end;
}

/* The newest is at `top - 1`; the oldest is overwritten when the ring is full. */
static inline void list_push(struct ms_address_list *l, uint64_t address)
{
	l->address[l->top++ % MS_ADDRESS_DEPTH] = address;
	l->count += l->count < MS_ADDRESS_DEPTH;
}

static inline uint64_t *list_at(struct ms_address_list *l, uint32_t depth)
{
	return &l->address[(l->top - 1 - depth) % MS_ADDRESS_DEPTH];
}

/* Takes out the entry at `depth`; the newer ones move down. */
static inline uint64_t list_take(struct ms_address_list *l, uint32_t depth)
{
	uint64_t address = *list_at(l, depth);
	for (; depth; depth--)
		*list_at(l, depth) = *list_at(l, depth - 1);
	l->top--;
	l->count--;
	return address;
}

static inline uint64_t *history_at(struct ms_address_model *m, uint32_t place)
{
	return &m->history[place % MS_ADDRESS_HISTORY];
}

static inline bool in_history(const struct ms_address_model *m, uint32_t place)
{
	return place >= 1 && place <= m->freed && m->freed - place < MS_ADDRESS_HISTORY;
}

/* A released block becomes the newest of its class and of the history, unless it is from before the
 * reset. False then. */
static inline bool note_release(struct ms_address_model *m, const struct ms_event *ev,
				uint64_t address, uint64_t size)
{
	if (ev->freed < m->first_number)
		return false;
	list_push(list_of(m, ev->thread, size), address);
	*history_at(m, ++m->freed) = address;
	return true;
}

static inline bool releases(unsigned kind)
{
	return kind == MS_EV_FREE || kind == MS_EV_REALLOC || kind == MS_EV_FREE_INFERRED;
}
static inline bool allocates(unsigned kind)
{
	return kind == MS_EV_ALLOC || kind == MS_EV_REALLOC || kind == MS_EV_REALLOC_UNKNOWN;
}

/* ---- encoder ---- */

void ms_address_encoder_init(struct ms_address_encoder *e, void *memory, size_t max_events)
{
	e->memory = memory;
	e->max = max_events;
	e->since_reset = UINT64_MAX; /* the first block resets */
	e->asked = e->missed = 0;
	e->by_heap = true;
	e->sure = false;
}

/* The heap's model foresaw too little since it began: never again. */
static bool give_up(struct ms_address_encoder *e)
{
	if (!e->by_heap || e->asked < HEAP_JUDGED ||
	    e->missed < e->asked / (e->sure ? HEAP_MISSED_SURE : HEAP_MISSED))
		return false;
	e->by_heap = false;
	memset(e->place, 0, sizeof e->place);
	return true;
}

bool ms_address_reset_due(const struct ms_address_encoder *e)
{
	return !e->by_heap || e->since_reset >= HEAP_RESET_MIN;
}

void ms_address_encoder_begin(struct ms_address_encoder *e, uint64_t first_number, bool reset)
{
	e->code = e->memory + HEAD_BYTES;
	e->far = e->code + e->max;
	e->reset = give_up(e) || reset ||
		   e->since_reset >= (e->by_heap ? HEAP_RESET_EVENTS : RESET_EVENTS);
	if (!e->reset)
		return;
	model_reset(&e->m, first_number);
	if (e->by_heap)
		ms_heap_reset(&e->heap);
	e->since_reset = 0;
}

static void put_far(struct ms_address_encoder *e, uint64_t distance)
{
	bool odd = distance & 15;
	*e->code++ = odd ? ADDRESS_FAR_ODD : ADDRESS_FAR;
	e->far = ms_varint_put(e->far,
			       ms_zigzag(odd ? distance : (uint64_t)((int64_t)distance >> 4)));
}

/* Where the encoder notes the place in the history of an address. What stands there may be about
 * another address, or be old: the history itself is asked. */
static inline uint32_t *place_of(struct ms_address_encoder *e, uint64_t address)
{
	return &e->place[(address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 46];
}
_Static_assert(MS_ADDRESS_PLACES == 1u << 18, "place_of gives 18 bits");

static bool put_past(struct ms_address_encoder *e, struct ms_address_list *l, uint64_t address)
{
	uint32_t place = *place_of(e, address);
	if (!in_history(&e->m, place) || *history_at(&e->m, place) != address)
		return false;
	*e->code++ = ADDRESS_PAST;
	e->far = ms_varint_put(e->far, ms_zigzag((uint64_t)place - l->last));
	l->last = place;
	return true;
}

static void put_address(struct ms_address_encoder *e, const struct ms_event *ev, uint64_t old)
{
	uint64_t address = ev->address;
	if (ev->kind == MS_EV_REALLOC && address == old) {
		*e->code++ = ADDRESS_SAME;
		return;
	}
	if (!address) {
		*e->code++ = ADDRESS_UNKNOWN;
		return;
	}
	struct ms_address_list *l = list_of(&e->m, ev->thread, ev->size);
	uint64_t *fresh = fresh_of(&e->m, ev->thread);
	for (uint32_t depth = 0; depth < l->count; depth++) {
		if (*list_at(l, depth) == address) {
			*e->code++ = (uint8_t)(ADDRESS_FREED + depth);
			list_take(l, depth);
			return;
		}
	}
	uint64_t end = address + granules(ev->size) * 16;
	uint64_t *anchor = &e->m.anchor[ev->thread % MS_EVENT_THREAD_SLOTS];
	if (address == *fresh) {
		*e->code++ = ADDRESS_FRESH;
		*fresh = end;
		return;
	}
	const uint64_t *earlier = e->m.earlier[ev->thread % MS_EVENT_THREAD_SLOTS];
	unsigned at = 0;
	while (at < MS_ADDRESS_RUNS && earlier[at] != address)
		at++;
	if (at < MS_ADDRESS_RUNS)
		*e->code++ = (uint8_t)(ADDRESS_RUN + at);
	else if (!put_past(e, l, address)) {
		put_far(e, address - *anchor);
		*anchor = end;
	}
	turn_to(&e->m, ev->thread, at, end);
}

/* Of a block from before the reset a reader may know nothing. */
static inline bool known(const struct ms_address_model *m, const struct ms_event *ev)
{
	return releases(ev->kind) && ev->freed >= m->first_number;
}

/* Does the event give the block back that it released? A realloc in place does not. */
static inline bool gives_back(const struct ms_event *ev, uint64_t old_address)
{
	return old_address && !(ev->kind == MS_EV_REALLOC && ev->address == old_address);
}

static inline void release_by_heap(struct ms_heap *h, const struct ms_event *ev,
				   uint64_t old_address, uint64_t old_size)
{
	if (!ms_heap_release_to_cache(h, ev->thread, old_address, old_size))
		ms_heap_release(h, ev->thread, old_address, old_size, ev->kind == MS_EV_REALLOC);
}

static inline void put_by_heap(struct ms_address_encoder *e, const struct ms_event *ev,
			       uint64_t old_address, uint64_t old_size)
{
	bool old = known(&e->m, ev), expected;
	if (allocates(ev->kind)) {
		e->asked++;
		if (ev->address && ev->kind != MS_EV_REALLOC &&
		    ms_heap_take_newest(&e->heap, ev, &expected))
			*e->code++ = expected ? MS_HEAP_EXPECTED : MS_HEAP_CACHED_BLOCK;
		else
			e->missed += !ms_address_heap_put(e, ev, old ? old_address : 0, old_size);
	}
	if (old && gives_back(ev, old_address))
		release_by_heap(&e->heap, ev, old_address, old_size);
}

void ms_address_put(struct ms_address_encoder *e, const struct ms_event *ev, uint64_t old_address,
		    uint64_t old_size)
{
	e->since_reset++;
	if (e->by_heap) {
		put_by_heap(e, ev, old_address, old_size);
		return;
	}
	if (allocates(ev->kind))
		put_address(e, ev, old_address);
	if (releases(ev->kind) && !(ev->kind == MS_EV_REALLOC && ev->address == old_address))
		if (note_release(&e->m, ev, old_address, old_size))
			*place_of(e, old_address) = e->m.freed;
}

/* Allocations and frees, which are nearly all; the others by put_by_heap. */
static void put_many_by_heap(struct ms_address_encoder *e, const struct ms_full_event *v, size_t n)
{
	uint8_t *code = e->code;
	uint64_t first = e->m.first_number;
	for (const struct ms_full_event *end = v + n; v < end; v++) {
		const struct ms_event *ev = &v->ev;
		bool expected;
		if (ev->kind == MS_EV_FREE) {
			if (ev->freed >= first && v->old_address)
				release_by_heap(&e->heap, ev, v->old_address, v->old_size);
		} else if (ev->kind == MS_EV_ALLOC && ev->address) {
			e->asked++;
			if (ms_heap_take_newest(&e->heap, ev, &expected)) {
				*code++ = expected ? MS_HEAP_EXPECTED : MS_HEAP_CACHED_BLOCK;
				continue;
			}
			e->code = code;
			e->missed += !ms_address_heap_put(e, ev, 0, 0);
			code = e->code;
		} else {
			e->code = code;
			put_by_heap(e, ev, v->old_address, v->old_size);
			code = e->code;
		}
	}
	e->code = code;
}

void ms_address_put_many(struct ms_address_encoder *e, const struct ms_full_event *v, size_t n)
{
	if (!e->by_heap) {
		for (size_t i = 0; i < n; i++)
			ms_address_put(e, &v[i].ev, v[i].old_address, v[i].old_size);
		return;
	}
	e->since_reset += n;
	put_many_by_heap(e, v, n);
}

struct ms_column ms_address_encoder_finish(struct ms_address_encoder *e)
{
	uint8_t head[2 * MS_VARINT_MAX], *codes = e->memory + HEAD_BYTES, *far = codes + e->max;
	size_t n = (size_t)(e->code - codes), far_size = (size_t)(e->far - far);
	size_t head_size =
		(size_t)(ms_varint_put(ms_varint_put(head, (e->by_heap ? 0 : HEAD_RUNS) |
								   (e->reset ? HEAD_RESET : 0)),
				       n) -
			 head);
	memmove(e->code, far, far_size);
	memcpy(codes - head_size, head, head_size);
	return (struct ms_column){e->by_heap ? MS_COL_HEAP : MS_COL_ADDRESS, codes - head_size,
				  head_size + n + far_size};
}

/* ---- decoder ---- */

void ms_address_decoder_init(struct ms_address_decoder *d)
{
	model_reset(&d->m, 0);
	d->code = d->code_end = d->far = d->far_end = NULL;
	d->next_event = 0;
	d->lost = true;
	d->by_heap = false;
}

/* Splits the column into its parts. False: it is damaged, or not there. */
static bool open_column(struct ms_address_decoder *d, const struct ms_column *column,
			uint64_t *bits)
{
	uint64_t n;
	if (!column)
		return false;
	d->code = column->data;
	d->far_end = column->data + column->size;
	if (!ms_varint_get(&d->code, d->far_end, bits) ||
	    !ms_varint_get(&d->code, d->far_end, &n) || n > (uint64_t)(d->far_end - d->code))
		return false;
	d->code_end = d->far = d->code + n;
	return true;
}

void ms_address_decoder_begin(struct ms_address_decoder *d, const struct ms_event_decoder *b,
			      const struct ms_column *column)
{
	uint64_t bits = 0;
	bool good = open_column(d, column, &bits);
	if (b->first_event != d->next_event || !good)
		d->lost = true;
	d->next_event = b->first_event;
	d->runs = bits & HEAD_RUNS;
	bool by_heap = column && column->id == MS_COL_HEAP;
	if (by_heap != d->by_heap)
		d->lost = true;
	d->by_heap = by_heap;
	if (good && bits & HEAD_RESET) {
		model_reset(&d->m, b->first_number);
		if (by_heap)
			ms_heap_reset(&d->heap);
		d->lost = false;
	}
}

/* The address at a distance in the history; false: there is none. */
static bool get_past(struct ms_address_decoder *d, const struct ms_event *ev, uint64_t step,
		     uint64_t *address)
{
	struct ms_address_list *l = list_of(&d->m, ev->thread, ev->size);
	uint32_t place = l->last + (uint32_t)ms_unzigzag(step);
	if (!in_history(&d->m, place))
		return false;
	l->last = place;
	*address = *history_at(&d->m, place);
	return true;
}

/* An end that is not known: it follows a block of which the reader did not see the allocation. What
 * goes on from there is not known either, until a FAR, whose anchor always is. */
#define NO_END UINT64_MAX

/* The end of the thread's run moves behind the block at `address` (0: not known): on from there
 * with FRESH, else by a turn. */
static void move_end(struct ms_address_decoder *d, const struct ms_event *ev, unsigned code,
		     uint64_t address)
{
	uint64_t end = address ? address + granules(ev->size) * 16 : NO_END;
	if (!d->runs)
		end = address + granules(ev->size) * 16;
	if (code == ADDRESS_FAR || code == ADDRESS_FAR_ODD)
		d->m.anchor[ev->thread % MS_EVENT_THREAD_SLOTS] = end;
	if (code == ADDRESS_FRESH || !d->runs)
		*fresh_of(&d->m, ev->thread) = end;
	else
		turn_to(&d->m, ev->thread,
			code >= ADDRESS_RUN ? code - ADDRESS_RUN : MS_ADDRESS_RUNS, end);
}

static inline uint64_t known_end(uint64_t end)
{
	return end == NO_END ? 0 : end;
}

/* False: the column is damaged. *same: the block stayed where it was, at `old`. */
static bool get_address(struct ms_address_decoder *d, const struct ms_event *ev, uint64_t old,
			uint64_t *address, bool *same)
{
	uint64_t step = 0;
	uint32_t slot = ev->thread % MS_EVENT_THREAD_SLOTS;
	if (d->code == d->code_end)
		return false;
	unsigned v = *d->code++;
	if ((v == ADDRESS_FAR || v == ADDRESS_FAR_ODD || v == ADDRESS_PAST) &&
	    !ms_varint_get(&d->far, d->far_end, &step))
		return false;
	switch (v) {
	case ADDRESS_SAME:
		*same = ev->kind == MS_EV_REALLOC;
		*address = old;
		return true;
	case ADDRESS_UNKNOWN:
		return true;
	case ADDRESS_FRESH:
		*address = known_end(*fresh_of(&d->m, ev->thread));
		move_end(d, ev, v, *address);
		return true;
	case ADDRESS_FAR:
	case ADDRESS_FAR_ODD:
		*address = (d->runs ? d->m.anchor[slot] : d->m.fresh[slot]) +
			   ms_unzigzag(step) * (v == ADDRESS_FAR ? 16 : 1);
		move_end(d, ev, v, *address);
		return true;
	case ADDRESS_PAST:
		if (!get_past(d, ev, step, address))
			return false;
		if (d->runs)
			move_end(d, ev, v, *address);
		return true;
	}
	if (v >= ADDRESS_RUN) {
		if (!d->runs || v >= ADDRESS_RUN + MS_ADDRESS_RUNS)
			return false;
		*address = known_end(d->m.earlier[slot][v - ADDRESS_RUN]);
		move_end(d, ev, v, *address);
		return true;
	}
	struct ms_address_list *l = list_of(&d->m, ev->thread, ev->size);
	if (v - ADDRESS_FREED >= l->count)
		return false;
	*address = list_take(l, v - ADDRESS_FREED);
	return true;
}

static void next_by_heap(struct ms_address_decoder *d, struct ms_event *ev, uint64_t old_address,
			 uint64_t old_size)
{
	bool old = known(&d->m, ev);
	if (allocates(ev->kind)) {
		if (ev->kind != MS_EV_REALLOC && d->code != d->code_end)
			ev->address = ms_heap_next_newest(&d->heap, ev, *d->code);
		if (ev->address) {
			d->code++;
		} else if (!ms_address_heap_get(d, ev, old ? old_address : 0, old_size,
						&ev->address)) {
			d->lost = true;
			ev->address = 0;
			return;
		}
	}
	if (old && gives_back(ev, old_address))
		release_by_heap(&d->heap, ev, old_address, old_size);
}

void ms_address_next(struct ms_address_decoder *d, struct ms_event *ev, uint64_t old_address,
		     uint64_t old_size)
{
	bool same = false;
	d->next_event++;
	if (d->lost)
		return;
	if (d->by_heap) {
		next_by_heap(d, ev, old_address, old_size);
		return;
	}
	if (allocates(ev->kind) && !get_address(d, ev, old_address, &ev->address, &same))
		d->lost = true;
	if (releases(ev->kind) && !same && !d->lost)
		note_release(&d->m, ev, old_address, old_size);
}

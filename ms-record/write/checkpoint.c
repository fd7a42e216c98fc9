/* SPDX-License-Identifier: MIT
 * Keeps the live blocks of a trace being written, and writes checkpoints of them.
 */
#include "checkpoint.h"

#include <stdlib.h>

#include "format/checkpoint.h"
#include "format/event.h"
#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/ranges.h"
#include "libcommon/trace/tracefile.h"
#include "libcommon/base/ready.h"
#include "packed.h"

#define WINDOW (UINT64_C(1) << 15)
#define WORDS (WINDOW / 64)
#define READY UINT64_C(4096) /* number of window slots whose memory is faulted in at a time */
#define GONE_LEAST 16384u
#define SPARES 2u /* windows, of 1 MiB each, kept for further traces */
#ifndef PART
#define PART (UINT32_C(1) << 18) /* blocks per part; most of its 15 MB buffer is never touched */
#endif
#define THREADS_MAX (UINT32_C(1) << 22) /* same as MS_REPLAY_THREADS_MAX */

/* Holds a recent block. A tick is 100 us, so 40 bits last three years. */
struct slot {
	uint64_t size, address;
	uint64_t tick : 40, thread : 24;
	uint32_t stack, slack;
};

struct live_list {
	struct slot *window;
	uint64_t bits[WORDS]; /* bit set of the slots with live blocks */
	uint64_t base;
	bool addresses; /* keep addresses of old blocks */
	bool usable;    /* usable sizes are recorded: some old block has slack */
	struct packed_list old;
	MS_ARRAY(uint64_t) gone; /* numbers of freed old blocks, not removed yet */
	uint64_t blocks;
	uint64_t next_number, tick;
	struct ms_ranges mapped;
	uint64_t *last; /* by thread: number of its latest allocation + 1; 0 = none */
	size_t threads;
};

/* Holds windows of traces that were closed, for the next ones. Used by the writing thread only. */
static struct {
	struct slot *v[SPARES];
	unsigned n;
} kept;

struct live_list *live_list_new(bool addresses)
{
	struct live_list *l = ms_xcalloc(1, sizeof *l);
	l->addresses = addresses;
	l->window = kept.n ? kept.v[--kept.n] : ms_xrealloc(NULL, WINDOW, sizeof *l->window);
	return l;
}

void live_list_free(struct live_list *l)
{
	if (!l)
		return;
	ms_ranges_free(&l->mapped);
	packed_free(&l->old);
	if (kept.n < SPARES)
		kept.v[kept.n++] = l->window;
	else
		free(l->window);
	MS_FREE(l->gone.v, l->last, l);
}

uint64_t live_list_blocks(const struct live_list *l)
{
	return l->blocks;
}

/* ---- old blocks ---- */

/* Moves the live blocks among 64 slots of the window to the list of old blocks. `first`: the
 * allocation number of the first slot. */
static void retire(struct live_list *l, uint64_t first)
{
	uint64_t at = first & (WINDOW - 1);
	for (uint64_t rest = l->bits[at >> 6]; rest; rest &= rest - 1) {
		uint64_t bit = (uint64_t)__builtin_ctzll(rest);
		const struct slot *s = &l->window[at + bit];
		l->usable |= s->slack != 0;
		packed_add(&l->old,
			   &(struct ms_checkpoint_block){.number = first + bit,
							 .size = s->size,
							 .tick = s->tick,
							 .address = l->addresses ? s->address : 0,
							 .stack = s->stack,
							 .thread = s->thread,
							 .slack = s->slack});
	}
	l->bits[at >> 6] = 0;
}

/* Sorts by 11 bits at a time, lowest first. `spare` has room for `n` numbers, too. Returns the
 * array that holds the result: `v` or `spare`. */
static uint64_t *sorted(uint64_t *v, uint64_t *spare, size_t n)
{
	uint64_t all = 0;
	for (size_t i = 0; i < n; i++)
		all |= v[i];
	for (unsigned shift = 0; shift < 64 && all >> shift; shift += 11) {
		size_t at[2048] = {0}, sum = 0;
		for (size_t i = 0; i < n; i++)
			at[v[i] >> shift & 2047]++;
		for (size_t i = 0; i < 2048; i++) {
			size_t count = at[i];
			at[i] = sum;
			sum += count;
		}
		for (size_t i = 0; i < n; i++)
			spare[at[v[i] >> shift & 2047]++] = v[i];
		uint64_t *swap = v;
		v = spare;
		spare = swap;
	}
	return v;
}

/* Removes the blocks listed in `gone` from the old blocks, in one pass through the two lists. */
static void settle(struct live_list *l)
{
	size_t n = l->gone.n;
	if (!n)
		return;
	uint64_t *spare = ms_xrealloc(NULL, n, sizeof *spare);
	size_t were = packed_remove(&l->old, sorted(l->gone.v, spare, n), n);
	l->blocks += n - were; /* n - were blocks were not live, but subtracted by release_old */
	free(spare);
	l->gone.n = 0;
}

/* Notes that an old block was freed. Old blocks are scattered in memory, so they are removed in
 * large sorted batches. */
static void release_old(struct live_list *l, uint64_t number)
{
	*MS_PUSH(&l->gone) = number;
	l->blocks--;
	if (l->gone.n >= GONE_LEAST && l->gone.n >= l->old.blocks / 4)
		settle(l);
}

/* ---- events ---- */

static void release(struct live_list *l, uint64_t number)
{
	uint64_t i = number & (WINDOW - 1), bit = UINT64_C(1) << (i & 63);
	if (number < l->base || !(l->bits[i >> 6] & bit)) {
		release_old(l, number);
		return;
	}
	l->blocks--;
	l->bits[i >> 6] &= ~bit;
}

static void add(struct live_list *l, const struct ms_event *ev)
{
	for (; ev->number - l->base >= WINDOW; l->base += 64)
		retire(l, l->base);
	uint64_t i = ev->number & (WINDOW - 1);
	if (i % READY == 0 && i && i == ev->number)
		ready_memory(&l->window[i], READY * sizeof *l->window);
	l->window[i] = (struct slot){.size = ev->size,
				     .address = ev->address,
				     .tick = ev->time_ticks,
				     .thread = ev->thread,
				     .stack = ev->stack,
				     .slack = ev->slack};
	l->bits[i >> 6] |= UINT64_C(1) << (i & 63);
	l->blocks++;
	l->next_number = ev->number + 1;
	if (ev->thread >= THREADS_MAX)
		return;
	l->last = ms_xgrow(l->last, &l->threads, (size_t)ev->thread + 1, sizeof *l->last);
	l->last[ev->thread] = l->next_number;
}

static void map(struct live_list *l, const struct ms_event *ev)
{
	uint64_t room = UINT64_MAX - ev->address;
	uint64_t end = ev->address + (ev->size < room ? ev->size : room);
	if (ev->ext != MS_EXT_MAP && ev->ext != MS_EXT_UNMAP)
		return;
	ms_ranges_cut(&l->mapped, ev->address, end, NULL, NULL);
	if (ev->ext == MS_EXT_MAP && end > ev->address)
		ms_ranges_add(&l->mapped, ev->address, end, ev->stack);
}

void live_list_event(struct live_list *l, const struct ms_event *ev)
{
	l->tick = ev->time_ticks > l->tick ? ev->time_ticks : l->tick;
	if (ms_event_releases(ev->kind))
		release(l, ev->freed);
	if (ms_event_allocates(ev->kind))
		add(l, ev);
	else if (ev->kind == MS_EV_EXT)
		map(l, ev);
}

/* ---- checkpoints ---- */

/* Moves all blocks of the window to the old blocks. If they are freed later, that is noted in
 * `gone`. */
static void retire_all(struct live_list *l)
{
	for (uint64_t first = l->base; first < l->next_number; first += 64)
		retire(l, first);
	settle(l);
}

void live_list_stacks(struct live_list *l, void (*f)(void *arg, uint64_t number, uint32_t stack),
		      void *arg)
{
	retire_all(l);
	for (struct packed_cursor c = packed_begin(&l->old); packed_next(&c);)
		f(arg, c.block.number, c.block.stack);
}

struct writing {
	const struct live_list *l;
	bool addresses;
	struct ms_trace_writer *t;
	struct ms_err *err;
	struct ms_checkpoint_encoder e;
	struct ms_checkpoint_head head;
	uint8_t *memory;
	size_t threads;
};

static void begin_part(struct writing *w)
{
	size_t threads = w->head.part == 0 ? w->threads : 0;
	ms_checkpoint_begin(&w->e, w->memory, PART, threads, &w->head, w->addresses, w->l->usable);
	for (size_t i = 0; i < threads; i++)
		ms_checkpoint_put_last(&w->e, w->l->last[i] - 1);
}

struct laying {
	uint8_t *at;
	uint64_t before;
};

static void lay_range(void *arg, const struct ms_range *r)
{
	struct laying *y = arg;
	y->at = ms_checkpoint_put_range(
		y->at, y->before,
		&(struct ms_checkpoint_range){r->start, r->end - r->start, r->owner});
	y->before = r->end;
}

/* Returns the column of mapped ranges. The caller frees *memory. */
static struct ms_column mapped_column(const struct live_list *l, uint8_t **memory)
{
	size_t room = l->mapped.n * MS_RANGES_CHUNK;
	*memory = room ? ms_xrealloc(NULL, room, MS_CHECKPOINT_RANGE_BYTES) : NULL;
	struct laying y = {*memory, 0};
	ms_ranges_each(&l->mapped, lay_range, &y);
	return (struct ms_column){MS_LIVE_MAPPED, *memory, (size_t)(y.at - *memory)};
}

static int end_part(struct writing *w)
{
	struct ms_column columns[MS_CHECKPOINT_COLUMNS + 1];
	uint64_t ns = w->head.tick * MS_TRACE_TICK_NS;
	size_t n = ms_checkpoint_finish(&w->e, columns);
	uint8_t *mapped = NULL;
	if (w->head.part++ == 0 && w->l->mapped.n)
		columns[n++] = mapped_column(w->l, &mapped);
	int rc = ms_trace_write(w->t, MS_BLOCK_CHECKPOINT, ns, ns, columns, n, w->err);
	free(mapped);
	return rc;
}

static int put_block(struct writing *w, const struct ms_checkpoint_block *b)
{
	enum ms_fmt rc = ms_checkpoint_put(&w->e, b);
	if (rc == MS_FMT_FULL) {
		if (end_part(w) != 0)
			return -1;
		begin_part(w);
		rc = ms_checkpoint_put(&w->e, b);
	}
	return rc == MS_FMT_OK ? 0
			       : ms_err_set(w->err, "a live block cannot be encoded in the trace "
						    "format (please report it)");
}

int checkpoint_write(struct live_list *l, uint64_t event, bool addresses, struct ms_trace_writer *t,
		     struct ms_err *err)
{
	struct writing w = {
		.l = l, .addresses = addresses, .t = t, .err = err, .threads = l->threads};
	int rc = 0;
	retire_all(l);
	while (w.threads && !l->last[w.threads - 1])
		w.threads--;
	w.head = (struct ms_checkpoint_head){
		.event = event,
		.number = l->next_number,
		.tick = l->tick,
		.live_bytes = l->old.bytes,
		.live_blocks = l->blocks,
		.parts = l->blocks ? (uint32_t)((l->blocks + PART - 1) / PART) : 1};
	w.memory = ms_xrealloc(NULL, MS_CHECKPOINT_MEMORY(PART, w.threads), 1);
	begin_part(&w);
	for (struct packed_cursor c = packed_begin(&l->old); rc == 0 && packed_next(&c);)
		rc = put_block(&w, &c.block);
	if (rc == 0)
		rc = end_part(&w);
	free(w.memory);
	return rc;
}

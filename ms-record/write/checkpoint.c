/* SPDX-License-Identifier: MIT
 * The live blocks of a trace being written, and checkpoints of them.
 */
#include "checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "format/checkpoint.h"
#include "format/event.h"
#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/ranges.h"
#include "libcommon/trace/tracefile.h"
#include "ms-record/base/ready.h"

#define WINDOW (UINT64_C(1) << 15)
#define GROUPS (WINDOW / 64)
#define READY UINT64_C(4096) /* slots: the window is made ready by so many */
#define GONE_LEAST 65536u
#ifndef PART
#define PART (UINT32_C(1) << 18) /* blocks: 15 MB to encode them in, most of it never touched */
#endif
#define THREADS_MAX (UINT32_C(1) << 22) /* as in libcommon/replay/replay_private.h */

/* A tick is 100 us, so that 40 bits last for three years. */
struct slot {
	uint64_t size, address;
	uint64_t tick : 40, thread : 24;
	uint32_t stack, slack;
};
_Static_assert(sizeof(struct slot) == 32, "memory for each live block");

struct group {
	uint64_t key;       /* number / 64 */
	uint64_t had, live; /* slot n is the n-th set bit of `had` */
	struct slot *slots;
};

struct live_list {
	struct slot *window;
	uint64_t *bits; /* a word for each 64 slots */
	uint64_t base;
	MS_ARRAY(struct group) old; /* in order of key */
	MS_ARRAY(uint64_t)
	gone; /* numbers of old blocks that were freed, not yet taken out of their groups */
	size_t empty;
	uint64_t blocks;
	uint64_t next_number, tick;
	struct ms_ranges mapped;
	uint64_t *last; /* by thread: number of its latest allocation, UINT64_MAX = none */
	size_t threads;
};

struct live_list *live_list_new(void)
{
	struct live_list *l = ms_xrealloc(NULL, 1, sizeof *l);
	*l = (struct live_list){0};
	l->window = ms_xrealloc(NULL, WINDOW, sizeof *l->window);
	l->bits = memset(ms_xrealloc(NULL, GROUPS, sizeof *l->bits), 0, GROUPS * sizeof *l->bits);
	return l;
}

void live_list_free(struct live_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->old.n; i++)
		free(l->old.v[i].slots);
	MS_FREE(l->old.v, l->gone.v, l->window, l->bits, l->last);
	ms_ranges_free(&l->mapped);
	free(l);
}

uint64_t live_list_blocks(const struct live_list *l)
{
	return l->blocks;
}

/* ---- old groups ---- */

static void retire(struct live_list *l, size_t word)
{
	uint64_t live = l->bits[word];
	const struct slot *from = &l->window[word * 64];
	struct slot *to = ms_xrealloc(NULL, (size_t)__builtin_popcountll(live), sizeof *to);
	*MS_PUSH(&l->old) = (struct group){l->base >> 6, live, live, to};
	for (uint64_t rest = live; rest; rest &= rest - 1)
		*to++ = from[__builtin_ctzll(rest)];
	l->bits[word] = 0;
}

static void advance(struct live_list *l, uint64_t number)
{
	for (; number - l->base >= WINDOW; l->base += 64) {
		size_t word = (size_t)(l->base & (WINDOW - 1)) >> 6;
		if (l->bits[word])
			retire(l, word);
	}
}

static void drop_empty(struct live_list *l)
{
	size_t n = 0;
	for (size_t i = 0; i < l->old.n; i++)
		if (l->old.v[i].live)
			l->old.v[n++] = l->old.v[i];
	l->old.n = n;
	l->empty = 0;
}

/* Gives back the slots of freed blocks once only a quarter is live. */
static void shrink(struct group *g)
{
	size_t n = 0;
	for (uint64_t rest = g->live; rest; rest &= rest - 1)
		g->slots[n++] = g->slots[__builtin_popcountll(g->had & ((rest & -rest) - 1))];
	g->had = g->live;
	g->slots = ms_xrealloc(g->slots, n, sizeof *g->slots);
}

static void take_out(struct live_list *l, struct group *g, uint64_t bit)
{
	g->live &= ~bit;
	if (!g->live) {
		free(g->slots);
		g->slots = NULL;
		l->empty++;
	} else if (__builtin_popcountll(g->live) * 4 <= __builtin_popcountll(g->had)) {
		shrink(g);
	}
}

/* Sorts by 11 bits at a time, the lowest first; `spare` has as much room. Returns the one of both
 * that the result is in. */
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

/* Takes what is gone out of the groups, in one walk through both. */
static void settle(struct live_list *l)
{
	size_t n = l->gone.n, g = 0;
	uint64_t *spare = ms_xrealloc(NULL, n, sizeof *spare);
	const uint64_t *gone = sorted(l->gone.v, spare, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t bit = UINT64_C(1) << (gone[i] & 63);
		while (g < l->old.n && l->old.v[g].key < gone[i] >> 6)
			g++;
		if (g < l->old.n && l->old.v[g].key == gone[i] >> 6 && l->old.v[g].live & bit)
			take_out(l, &l->old.v[g], bit);
		else
			l->blocks++; /* it was not there */
	}
	free(spare);
	l->gone.n = 0;
	if (l->empty > 64 && l->empty * 2 > l->old.n)
		drop_empty(l);
}

/* An old block's place is far off in memory: so they are taken out many at a time, in order. */
static void release_old(struct live_list *l, uint64_t number)
{
	*MS_PUSH(&l->gone) = number;
	l->blocks--;
	if (l->gone.n >= GONE_LEAST && l->gone.n >= l->old.n / 2)
		settle(l);
}

/* ---- events ---- */

static void release(struct live_list *l, uint64_t number)
{
	if (number < l->base) {
		release_old(l, number);
		return;
	}
	uint64_t i = number & (WINDOW - 1), bit = UINT64_C(1) << (i & 63);
	l->blocks -= (l->bits[i >> 6] & bit) != 0;
	l->bits[i >> 6] &= ~bit;
}

static void more_threads(struct live_list *l, size_t count)
{
	size_t room = l->threads ? l->threads * 2 : 16;
	while (room < count)
		room *= 2;
	l->last = ms_xrealloc(l->last, room, sizeof *l->last);
	memset(l->last + l->threads, 0xff, (room - l->threads) * sizeof *l->last);
	l->threads = room;
}

static void add(struct live_list *l, const struct ms_event *ev)
{
	if (ev->number - l->base >= WINDOW)
		advance(l, ev->number);
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
	if (ev->thread >= l->threads && ev->thread < THREADS_MAX)
		more_threads(l, (size_t)ev->thread + 1);
	if (ev->thread < THREADS_MAX)
		l->last[ev->thread] = ev->number;
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
	if (ev->kind == MS_EV_FREE || ev->kind == MS_EV_REALLOC || ev->kind == MS_EV_FREE_INFERRED)
		release(l, ev->freed);
	if (ev->kind == MS_EV_ALLOC || ev->kind == MS_EV_REALLOC ||
	    ev->kind == MS_EV_REALLOC_UNKNOWN)
		add(l, ev);
	else if (ev->kind == MS_EV_EXT)
		map(l, ev);
}

/* ---- checkpoints ---- */

/* Calls `f` for every live block in order of number, until it returns other than 0. */
static int each(const struct live_list *l, int (*f)(void *, uint64_t number, const struct slot *),
		void *arg)
{
	int rc = 0;
	for (size_t i = 0; i < l->old.n; i++) {
		const struct group *g = &l->old.v[i];
		for (uint64_t rest = g->live; rest && rc == 0; rest &= rest - 1) {
			uint64_t bit = rest & -rest;
			rc = f(arg, g->key * 64 + (uint64_t)__builtin_ctzll(rest),
			       &g->slots[__builtin_popcountll(g->had & (bit - 1))]);
		}
	}
	for (uint64_t number = l->base; number < l->base + WINDOW; number += 64) {
		uint64_t at = number & (WINDOW - 1);
		for (uint64_t rest = l->bits[at >> 6]; rest && rc == 0; rest &= rest - 1) {
			uint64_t bit = (uint64_t)__builtin_ctzll(rest);
			rc = f(arg, number + bit, &l->window[at + bit]);
		}
	}
	return rc;
}

struct naming {
	void (*f)(void *arg, uint64_t number, uint32_t stack);
	void *arg;
};

static int name_stack(void *arg, uint64_t number, const struct slot *s)
{
	const struct naming *n = arg;
	n->f(n->arg, number, s->stack);
	return 0;
}

void live_list_stacks(struct live_list *l, void (*f)(void *arg, uint64_t number, uint32_t stack),
		      void *arg)
{
	settle(l);
	each(l, name_stack, &(struct naming){f, arg});
}

struct writing {
	const struct live_list *l;
	struct checkpoint_options opt;
	struct ms_trace_writer *t;
	struct ms_err *err;
	struct ms_checkpoint_encoder e;
	struct ms_checkpoint_head head;
	uint8_t *memory;
	size_t threads;
};

static int sum_size(void *arg, uint64_t number, const struct slot *s)
{
	(void)number;
	*(uint64_t *)arg += s->size;
	return 0;
}

static void begin_part(struct writing *w)
{
	size_t threads = w->head.part == 0 ? w->threads : 0;
	ms_checkpoint_begin(&w->e, w->memory, PART, threads, &w->head, w->opt.addresses,
			    w->opt.usable);
	for (size_t i = 0; i < threads; i++)
		ms_checkpoint_put_last(&w->e, w->l->last[i]);
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

/* The column of what is mapped, in memory to be freed. */
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

static int put_block(void *arg, uint64_t number, const struct slot *s)
{
	struct writing *w = arg;
	struct ms_checkpoint_block b = {.number = number,
					.size = s->size,
					.tick = s->tick,
					.address = s->address,
					.stack = s->stack,
					.thread = s->thread,
					.slack = s->slack};
	enum ms_fmt rc = ms_checkpoint_put(&w->e, &b);
	if (rc == MS_FMT_FULL) {
		if (end_part(w) != 0)
			return -1;
		begin_part(w);
		rc = ms_checkpoint_put(&w->e, &b);
	}
	return rc == MS_FMT_OK ? 0 : ms_err_set(w->err, "a live block cannot be encoded");
}

int checkpoint_write(struct live_list *l, uint64_t event, struct checkpoint_options opt,
		     struct ms_trace_writer *t, struct ms_err *err)
{
	struct writing w = {.l = l, .opt = opt, .t = t, .err = err, .threads = l->threads};
	settle(l);
	while (w.threads && l->last[w.threads - 1] == UINT64_MAX)
		w.threads--;
	w.head = (struct ms_checkpoint_head){
		.event = event,
		.number = l->next_number,
		.tick = l->tick,
		.live_blocks = l->blocks,
		.parts = l->blocks ? (uint32_t)((l->blocks + PART - 1) / PART) : 1};
	each(l, sum_size, &w.head.live_bytes);
	w.memory = ms_xrealloc(NULL, MS_CHECKPOINT_MEMORY(PART, w.threads), 1);
	begin_part(&w);
	int rc = each(l, put_block, &w);
	if (rc == 0)
		rc = end_part(&w);
	free(w.memory);
	return rc;
}

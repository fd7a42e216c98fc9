/* SPDX-License-Identifier: MIT
 * Joins the trace of a run with a core dump of it.
 */
#include "dump_join.h"

#include <stdlib.h>
#include <string.h>

#include "dump_trace.h"
#include "format/address.h"
#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/order.h"
#include "libcommon/replay/blocks.h"
#include "libcommon/trace/recording.h"
#include "ms-record/code/modules.h"

#define BIT(n) (UINT64_C(1) << (n))

/* ---- live blocks ---- */

/* Holds the state of reading the events. */
struct reading {
	struct ms_blocks live; /* owner: index in `slots` */
	struct dump_known *slots;
	size_t n, cap;
	MS_ARRAY(uint32_t) unused; /* indexes of slots whose blocks were freed */
	struct ms_event_decoder *events;
	struct ms_address_decoder addresses;
	uint8_t *memory;
	size_t room;
	uint64_t scale; /* ticks of ours in one of the trace's */
	struct dump_join *to;
};

static void give(struct reading *r, const struct ms_event *e)
{
	bool reuse = r->unused.n;
	if (r->n >= UINT32_MAX - 1 || !e->address)
		return;
	uint32_t i = reuse ? r->unused.v[--r->unused.n] : (uint32_t)r->n;
	struct dump_known *k = reuse ? &r->slots[i] : MS_APPEND(r->slots, r->n, r->cap);
	*k = (struct dump_known){.address = e->address,
				 .size = e->size,
				 .number = e->number,
				 .tick = e->time_ticks * r->scale,
				 .stack = e->stack,
				 .thread = e->thread,
				 .slack = e->slack};
	ms_blocks_add(&r->live, e->number, 0, 0, i);
}

static void take(struct reading *r, uint64_t number)
{
	struct ms_live_block was;
	if (ms_blocks_take(&r->live, number, &was))
		*MS_PUSH(&r->unused) = was.owner;
}

static void read_events(struct reading *r, const struct ms_block *b)
{
	struct ms_event e;
	if (ms_event_decoder_init(r->events, b->columns, b->column_count) != MS_FMT_OK)
		return;
	size_t room = MS_ADDRESS_DECODER_MEMORY(r->events->count);
	if (room > r->room)
		r->memory = ms_xrealloc(r->memory, r->room = room, 1);
	ms_address_decoder_begin(&r->addresses, r->events, b->columns, b->column_count, r->memory);
	while (ms_event_next(r->events, &e) == MS_FMT_OK) {
		ms_address_next(&r->addresses, &e);
		if (ms_event_releases(e.kind))
			take(r, e.freed);
		if (ms_event_allocates(e.kind))
			give(r, &e);
	}
}

static void keep(void *arg, uint64_t number, const struct ms_live_block *b)
{
	const struct reading *r = arg;
	(void)number;
	*MS_PUSH(r->to) = r->slots[b->owner];
}

MS_COMPARE(by_address, struct dump_known,
	   MS_ORDER(x->address, y->address) ?: MS_ORDER(x->number, y->number))

static int read_blocks(struct dump_join *j, struct ms_err *err)
{
	struct reading r = {.events = ms_xcalloc(1, sizeof *r.events), .to = j};
	struct ms_trace *t = ms_trace_open(j->path, err);
	struct ms_block b;
	enum ms_trace_next next = MS_NEXT_ERROR;
	ms_blocks_init(&r.live);
	r.scale = j->rec->head->tick_ns / MS_TRACE_TICK_NS;
	while (t && (next = ms_trace_next(t, BIT(MS_BLOCK_EVENTS), 0, &b, err)) != MS_NEXT_EOF &&
	       next != MS_NEXT_ERROR)
		if (next == MS_NEXT_BLOCK)
			read_events(&r, &b);
	ms_blocks_each(&r.live, keep, &r);
	MS_SORT(j->v, j->n, by_address);
	if (t)
		ms_trace_close(t);
	ms_blocks_free(&r.live);
	MS_FREE(r.slots, r.unused.v, r.events, r.memory);
	return next == MS_NEXT_ERROR ? -1 : 0;
}

int dump_join_open(struct dump_join *j, const char *path, struct ms_err *err)
{
	*j = (struct dump_join){.path = path};
	j->rec = ms_recording_open_present(path, err);
	if (!j->rec && !err->text[0])
		ms_err_set(err, "cannot read '%s': it is not a file", path);
	if (!j->rec)
		return -1;
	if (!(j->rec->head->hint & MS_FEATURE_ADDRESSES))
		return ms_err_set(err,
				  "cannot join '%s': it has no addresses of blocks: record with "
				  "--with=addresses",
				  path);
	if (j->rec->info.number[MS_INFO_SAMPLE_BYTES])
		return ms_err_set(
			err, "cannot join '%s': it is sampled, so that it lacks most blocks", path);
	return read_blocks(j, err);
}

void dump_join_free(struct dump_join *j)
{
	if (j->rec)
		ms_recording_close(j->rec);
	free(j->v);
}

/* ---- descriptions ---- */

static const char *text_of(const struct ms_row *m, unsigned field)
{
	return ms_has(m, field) && m->text[field - 2] ? m->text[field - 2] : "";
}

/* Adds the modules as ones that were closed; those that the dump has are opened again. */
static void add_modules(const struct dump_join *j, struct modules *all)
{
	for (size_t i = 0; i < j->rec->modules.n; i++) {
		const struct ms_row *m = &j->rec->modules.v[i];
		struct module to = {.kind = (uint32_t)m->number[MS_MODULE_KIND],
				    .start = m->number[MS_MODULE_START],
				    .end = m->number[MS_MODULE_END],
				    .bias = m->number[MS_MODULE_BIAS],
				    .path = ms_xstrdup(text_of(m, MS_MODULE_PATH))};
		*MS_PUSH(&all->all) = to;
	}
}

static void add_threads(const struct dump_join *j, struct threads *all)
{
	for (size_t i = 0; i < j->rec->threads.n; i++) {
		const struct ms_row *t = &j->rec->threads.v[i];
		bool ended = ms_has(t, MS_THREAD_END) || ms_has(t, MS_THREAD_OF);
		*MS_PUSH(&all->all) = (struct thread){.tid = (uint32_t)t->number[MS_THREAD_TID],
						      .gone = ended,
						      .last_number = UINT64_MAX};
		if (!ended)
			*MS_PUSH(&all->alive) = (struct alive){all->all.v[i].tid, (uint32_t)i};
	}
}

static void add_stacks(const struct dump_join *j, struct dump_trace *t)
{
	struct stacks *all = &t->s->stacks;
	for (size_t i = 1; i < j->rec->frames.n; i++)
		*MS_PUSH(&all->frames) = j->rec->frames.v[i];
	for (size_t i = 1; i < j->rec->nodes.n; i++)
		*MS_PUSH(&all->nodes) = j->rec->nodes.v[i];
	t->frames_sent = (uint32_t)all->frames.n;
	t->nodes_sent = (uint32_t)all->nodes.n;
}

int dump_join_copy(const struct dump_join *j, struct dump_trace *t, struct ms_err *err)
{
	const uint64_t types = BIT(MS_BLOCK_MODULES) | BIT(MS_BLOCK_THREADS) |
			       BIT(MS_BLOCK_STACKS) | BIT(MS_BLOCK_SYMBOLS);
	struct ms_trace *from = ms_trace_open(j->path, err);
	struct ms_block b;
	enum ms_trace_next next = MS_NEXT_ERROR;
	int rc = 0;
	while (from && !rc && (next = ms_trace_next(from, types, 0, &b, err)) != MS_NEXT_EOF &&
	       next != MS_NEXT_ERROR)
		if (next == MS_NEXT_BLOCK)
			rc = ms_trace_write(t->out->trace, b.type, b.first_ns, b.last_ns, b.columns,
					    b.column_count, err);
	if (from)
		ms_trace_close(from);
	if (rc || next == MS_NEXT_ERROR)
		return -1;
	add_modules(j, &t->s->modules);
	add_threads(j, &t->s->threads);
	add_stacks(j, t);
	return 0;
}

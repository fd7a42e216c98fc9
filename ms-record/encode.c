/* SPDX-License-Identifier: MIT
 * From a batch to blocks of a trace.
 */
#include "encode.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "format/address.h"
#include "format/trace.h"
#include "libcommon/arena.h"
#include "libcommon/err.h"
#include "libcommon/tracefile.h"
#include "writer.h"

#define STACKS_MAX 65536u

/* A checkpoint follows when there are this many events since the last one, ten times as many as
 * blocks that it would hold, and the file grew by fifty times what it would take, so that all of
 * them are a fiftieth of the file at most. */
#define CHECKPOINT_EVENTS 262144u
#define CHECKPOINT_EVENTS_PER_BLOCK 10u
#define CHECKPOINT_SHARE 50u

struct encoder {
	struct ms_event_encoder events;
	struct ms_stacks_encoder stacks;
	uint8_t *event_memory, *stacks_memory, *address_memory;
};

struct encoder *encoder_new(void)
{
	struct encoder *e = ms_xrealloc(NULL, 1, sizeof *e);
	e->event_memory = ms_xrealloc(NULL, MS_EVENT_MEMORY(BATCH_EVENTS), 1);
	e->stacks_memory = ms_xrealloc(NULL, MS_STACKS_MEMORY(STACKS_MAX, STACKS_MAX), 1);
	e->address_memory = ms_xrealloc(NULL, MS_ADDRESS_MEMORY(BATCH_EVENTS), 1);
	ms_event_encoder_init(&e->events, e->event_memory, BATCH_EVENTS);
	ms_stacks_encoder_init(&e->stacks, e->stacks_memory, STACKS_MAX, STACKS_MAX);
	return e;
}

void encoder_free(struct encoder *e)
{
	free(e->event_memory);
	free(e->stacks_memory);
	free(e->address_memory);
	free(e);
}

static int write_records(struct ms_trace_writer *t, uint16_t type, const struct batch *b,
			 const struct ms_record_writer *w, struct ms_err *err)
{
	if (!w->size)
		return 0;
	struct ms_column c = ms_record_column(w);
	return ms_trace_write(t, type, b->first_ns, b->last_ns, &c, 1, err);
}

static int write_stacks(struct encoder *e, const struct batch *b, struct ms_trace_writer *t,
			struct ms_err *err)
{
	struct ms_column columns[MS_STACKS_COLUMNS];
	size_t f = 0, n = 0;
	/* A node comes after its frame, so frames go first when they do not fit one block. */
	while (f < b->frames.n || n < b->nodes.n) {
		ms_stacks_encoder_begin(&e->stacks, b->first_frame + (uint32_t)f,
					b->first_node + (uint32_t)n);
		while (f < b->frames.n &&
		       ms_stacks_put_frame(&e->stacks, &b->frames.v[f]) == MS_FMT_OK)
			f++;
		while (f == b->frames.n && n < b->nodes.n &&
		       ms_stacks_put_node(&e->stacks, &b->nodes.v[n]) == MS_FMT_OK)
			n++;
		size_t c = ms_stacks_encoder_finish(&e->stacks, columns);
		if (c &&
		    ms_trace_write(t, MS_BLOCK_STACKS, b->first_ns, b->last_ns, columns, c, err))
			return -1;
	}
	return 0;
}

/* ---- checkpoints ---- */

static bool checkpoint_due(const struct output *o, const struct ms_trace_writer *t)
{
	const struct checkpoints *c = &o->checkpoints;
	uint64_t blocks = live_list_blocks(c->live);
	uint64_t expected = blocks * c->bytes_per_1000 / 1000 + 256;
	return c->events >= CHECKPOINT_EVENTS &&
	       c->events / CHECKPOINT_EVENTS_PER_BLOCK >= blocks &&
	       (ms_trace_writer_bytes(t) - c->bytes) / CHECKPOINT_SHARE >= expected;
}

/* Writes one before the events of `b`, if it is time. */
static int write_checkpoint(const struct batch *b, struct ms_trace_writer *t, struct ms_err *err)
{
	struct checkpoints *c = &b->out->checkpoints;
	c->made = false;
	if (!c->live) {
		c->live = live_list_new();
		c->bytes_per_1000 = 1500; /* a guess for the first one */
	}
	if (!checkpoint_due(b->out, t))
		return 0;
	uint64_t before = ms_trace_writer_bytes(t), blocks = live_list_blocks(c->live);
	struct checkpoint_options opt = {.usable = c->usable};
	if (checkpoint_write(c->live, b->first_event, opt, t, err) != 0)
		return -1;
	c->bytes = ms_trace_writer_bytes(t);
	c->bytes_per_1000 = (c->bytes - before) * 1000 / (blocks + 1);
	c->events = 0;
	c->made = true;
	return 0;
}

/* ---- events ---- */

/* The address encoder lives as long as its trace: what it predicts goes on from block to block. At
 * a checkpoint it starts anew, for readers that start there. */
static struct ms_address_encoder *begin_addresses(struct encoder *e, const struct batch *b)
{
	struct output *o = b->out;
	if (!o->addresses)
		return NULL;
	bool first = !o->address;
	if (first) {
		o->address = ms_xrealloc(NULL, 1, sizeof *o->address);
		ms_address_encoder_init(o->address, e->address_memory, BATCH_EVENTS);
	}
	ms_address_encoder_begin(o->address, b->first_number, first || o->checkpoints.made);
	return o->address;
}

static int write_events(struct encoder *e, const struct batch *b, struct ms_trace_writer *t,
			struct ms_err *err)
{
	if (!b->events.n)
		return 0;
	if (write_checkpoint(b, t, err) != 0)
		return -1;
	struct checkpoints *c = &b->out->checkpoints;
	struct ms_column columns[MS_EVENT_COLUMNS + 1];
	struct ms_address_encoder *a = begin_addresses(e, b);
	ms_event_encoder_begin(&e->events, b->first_number, b->first_event,
			       b->events.v[0].ev.time_ticks);
	for (size_t i = 0; i < b->events.n; i++) {
		const struct batch_event *v = &b->events.v[i];
		if (ms_event_put(&e->events, &v->ev) != MS_FMT_OK)
			return ms_err_set(err, "event %zu of a block cannot be encoded", i);
		if (a)
			ms_address_put(a, &v->ev, v->old_address, v->old_size);
		live_list_event(c->live, &v->ev);
		c->usable |= v->ev.slack != 0;
	}
	size_t n = ms_event_encoder_finish(&e->events, columns);
	if (a) {
		columns[n] = ms_address_encoder_finish(a);
		n += columns[n].size != 0;
	}
	c->events += b->events.n;
	return ms_trace_write(t, MS_BLOCK_EVENTS, b->first_ns, b->last_ns, columns, n, err);
}

/* ---- the end ---- */

/* The end record with the place of the index in it. */
static int write_end(struct batch *b, struct ms_trace_writer *t, struct ms_err *err)
{
	struct ms_err ignored = {0};
	struct ms_record_reader r;
	struct ms_record rec;
	struct ms_field f;
	uint64_t index = 0;
	if (!b->end.size)
		return 0;
	/* On a full disk the end may still fit. */
	if (ms_trace_write_index(t, b->last_ns, &index, &ignored) != 0)
		index = 0;
	ms_record_reader_init(&r, b->end.data, b->end.size);
	if (!index || ms_record_next(&r, &rec) != MS_FMT_OK)
		return write_records(t, MS_BLOCK_END, b, &b->end, err);
	struct ms_record_writer whole = {0};
	batch_record(&whole, b->end.size);
	while (ms_record_field(&rec, &f) == MS_FMT_OK)
		if (f.is_bytes)
			ms_record_bytes(&whole, f.id, f.data, f.size);
		else
			ms_record_number(&whole, f.id, f.value);
	ms_record_number(&whole, MS_END_INDEX, index);
	ms_record_end(&whole);
	int rc = write_records(t, MS_BLOCK_END, b, &whole, err);
	free(whole.data);
	return rc;
}

int encode_batch(struct encoder *e, struct batch *b, struct ms_trace_writer *t, struct ms_err *err)
{
	if (write_records(t, MS_BLOCK_INFO, b, &b->info, err) ||
	    write_records(t, MS_BLOCK_MODULES, b, &b->modules, err) ||
	    write_records(t, MS_BLOCK_THREADS, b, &b->threads, err) ||
	    write_records(t, MS_BLOCK_SAMPLES, b, &b->samples, err) ||
	    write_records(t, MS_BLOCK_LOSSES, b, &b->losses, err) || write_stacks(e, b, t, err) ||
	    write_events(e, b, t, err) || write_records(t, MS_BLOCK_MARKS, b, &b->marks, err) ||
	    write_end(b, t, err))
		return -1;
	return 0;
}

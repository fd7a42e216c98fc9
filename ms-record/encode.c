/* SPDX-License-Identifier: MIT
 * From a batch to blocks of a trace.
 */
#include "encode.h"

#include <stdlib.h>
#include <string.h>

#include "format/address.h"
#include "format/trace.h"
#include "libcommon/arena.h"
#include "libcommon/tracefile.h"
#include "writer.h"

#define STACKS_MAX 65536u

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

/* The address encoder lives as long as its trace: what it predicts goes on from block to block. */
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
	ms_address_encoder_begin(o->address, b->first_number, first);
	return o->address;
}

static int write_events(struct encoder *e, const struct batch *b, struct ms_trace_writer *t,
			struct ms_err *err)
{
	if (!b->events.n)
		return 0;
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
	}
	size_t n = ms_event_encoder_finish(&e->events, columns);
	if (a) {
		columns[n] = ms_address_encoder_finish(a);
		n += columns[n].size != 0;
	}
	return ms_trace_write(t, MS_BLOCK_EVENTS, b->first_ns, b->last_ns, columns, n, err);
}

int encode_batch(struct encoder *e, struct batch *b, struct ms_trace_writer *t, struct ms_err *err)
{
	if (write_records(t, MS_BLOCK_INFO, b, &b->info, err) ||
	    write_records(t, MS_BLOCK_MODULES, b, &b->modules, err) ||
	    write_records(t, MS_BLOCK_THREADS, b, &b->threads, err) ||
	    write_records(t, MS_BLOCK_SAMPLES, b, &b->samples, err) ||
	    write_records(t, MS_BLOCK_LOSSES, b, &b->losses, err) || write_stacks(e, b, t, err) ||
	    write_events(e, b, t, err) || write_records(t, MS_BLOCK_MARKS, b, &b->marks, err) ||
	    write_records(t, MS_BLOCK_END, b, &b->end, err))
		return -1;
	return 0;
}

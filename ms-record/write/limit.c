/* SPDX-License-Identifier: MIT
 * Implements --max-size, the limit of the total size of a run's traces.
 */
#include "limit.h"

#include "format/record.h"
#include "format/trace.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/tracefile.h"
#include "ms-record/base/wake.h"
#include "rewrite.h"
#include "output.h"

#define RESERVE 8192u       /* bytes reserved for the end block and the records of losses */
#define RESERVE_A_BLOCK 48u /* bytes of a block's record in the index */

static uint64_t used(const struct limit *l)
{
	return __atomic_load_n(&l->used, __ATOMIC_RELAXED);
}

static uint64_t left(const struct limit *l, uint64_t kept_back)
{
	uint64_t n = used(l) + kept_back;
	return n < l->max ? l->max - n : 0;
}

uint64_t limit_left(const struct limit *l)
{
	return left(l, 0);
}

static void reserve(struct output *o, uint64_t bytes)
{
	o->limit->reserved += bytes - o->reserve;
	o->reserve = bytes;
}

/* Counts the bytes that `o` has grown by, and updates the bytes reserved for its end. */
void limit_grown(struct output *o)
{
	if (!o->limit)
		return;
	uint64_t now = ms_trace_writer_bytes(o->trace);
	__atomic_add_fetch(&o->limit->used, now - o->counted, __ATOMIC_RELAXED);
	o->counted = now;
	reserve(o, RESERVE + ms_trace_writer_next(o->trace) * RESERVE_A_BLOCK);
}

void limit_begin(struct output *o)
{
	limit_grown(o);
	if (o->limit && o->limit->keep && !o->kept)
		o->kept = kept_new();
}

void limit_end(struct output *o)
{
	if (!o->limit || !o->trace)
		return;
	limit_grown(o);
	reserve(o, 0);
}

void limit_give_back(struct limit *l, uint64_t bytes)
{
	__atomic_sub_fetch(&l->used, bytes, __ATOMIC_RELAXED);
}

uint64_t limit_room(const struct output *o)
{
	return o->limit ? left(o->limit, o->limit->reserved) : UINT64_MAX;
}

/* Writes a block if it fits, with `kept_back` bytes reserved. Returns 0, 1 if it does not fit,
 * or -1. */
static int try_write(struct output *o, uint16_t type, const uint64_t ns[2],
		     const struct ms_column *columns, size_t n, uint64_t kept_back,
		     struct ms_err *err)
{
	struct ms_err refused = {0};
	ms_trace_writer_limit(o->trace,
			      ms_trace_writer_bytes(o->trace) + left(o->limit, kept_back));
	if (ms_trace_write(o->trace, type, ns[0], ns[1], columns, n, &refused) != 0) {
		if (ms_trace_writer_full(o->trace))
			return 1;
		*err = refused;
		return -1;
	}
	limit_grown(o);
	later_block(o, type, ns, columns, n);
	return 0;
}

uint64_t limit_half(const struct output *o)
{
	uint64_t own = ms_trace_writer_bytes(o->trace), others = used(o->limit) - own;
	others += o->limit->reserved;
	return others < o->limit->max ? (o->limit->max - others) / 2 : 1;
}

void limit_moved(struct output *o)
{
	limit_grown(o);
	__atomic_add_fetch(&o->limit->rewritten, 1, __ATOMIC_RELEASE);
	wake_event(o->limit->event);
}

void limit_reach(struct output *o)
{
	__atomic_store_n(&o->limit->reached, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&o->full, 1, __ATOMIC_RELEASE);
	wake_event(o->limit->event);
}

int limit_write(struct output *o, uint16_t type, const uint64_t ns[2],
		const struct ms_column *columns, size_t n, struct ms_err *err)
{
	if (!o->limit)
		return ms_trace_write(o->trace, type, ns[0], ns[1], columns, n, err);
	if (o->kept)
		kept_block(o->kept, type, ns, columns);
	if (__atomic_load_n(&o->limit->reached, __ATOMIC_RELAXED))
		__atomic_store_n(&o->full, 1, __ATOMIC_RELEASE);
	if (o->full)
		return 1;
	int rc = try_write(o, type, ns, columns, n, o->limit->reserved + RESERVE_A_BLOCK, err);
	if (rc <= 0)
		return rc;
	if (!o->kept || !rewrite_trace(o))
		limit_reach(o);
	return 1;
}

static int write_loss(struct output *o, uint64_t last_ns, struct ms_err *err)
{
	uint8_t room[128];
	struct ms_record_writer w;
	uint64_t ns[2] = {o->written_ns, last_ns};
	ms_record_writer_init(&w, room, sizeof room);
	ms_record_begin(&w);
	ms_record_number(&w, MS_LOSS_FROM, o->written_ns);
	ms_record_number(&w, MS_LOSS_TO, last_ns);
	ms_record_number(&w, MS_LOSS_COUNT, o->discarded);
	ms_record_number(&w, MS_LOSS_REASON, MS_LOST_LIMIT);
	ms_record_end(&w);
	struct ms_column c = ms_record_column(&w);
	return try_write(o, MS_BLOCK_LOSSES, ns, &c, 1, o->limit->reserved - o->reserve, err) < 0
		       ? -1
		       : 0;
}

int limit_close(struct output *o, uint64_t last_ns, struct ms_err *err)
{
	if (!o->limit)
		return 0;
	if (o->full && o->discarded && write_loss(o, last_ns, err) != 0)
		return -1;
	ms_trace_writer_limit(o->trace, ms_trace_writer_bytes(o->trace) +
						left(o->limit, o->limit->reserved - o->reserve));
	return 0;
}

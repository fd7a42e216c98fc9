/* SPDX-License-Identifier: MIT
 * Replays a trace: reads records, stacks, symbols and events from its blocks.
 */
#include "recording.h"

#include "libcommon/base/err.h"
#include "libcommon/base/order.h"
#include "recording_private.h"
#include "libcommon/replay/replay_growth.h"
#include "libcommon/replay/replay_mapped.h"
#include "format/trace.h"

#include <stdlib.h>
#include <string.h>

#define GAP_MAX (UINT32_C(1) << 24) /* most frames or nodes lost at one damaged place */
/* Number of events decoded before they are applied; a batch fits the first-level cache. */
#define BATCH 256u

/* ---- stacks ---- */

static bool take_stacks(struct ms_recording *t, const struct ms_block *b)
{
	struct ms_stacks_decoder d;
	if (ms_stacks_decoder_init(&d, b->columns, b->column_count) != MS_FMT_OK)
		return false;
	/* Numbers continue from the last block, or from a higher number after a lost block. */
	if (d.first_frame < t->frames.n || d.first_frame - t->frames.n > GAP_MAX ||
	    d.first_node < t->nodes.n || d.first_node - t->nodes.n > GAP_MAX)
		return false;
	while (t->frames.n < d.first_frame)
		*MS_PUSH(&t->frames) = (struct ms_frame){0};
	while (t->nodes.n < d.first_node)
		*MS_PUSH(&t->nodes) = (struct ms_node){0};
	struct ms_frame f;
	struct ms_node n;
	enum ms_fmt fc, nc;
	while ((fc = ms_stacks_next_frame(&d, &f)) == MS_FMT_OK)
		*MS_PUSH(&t->frames) = f;
	while ((nc = ms_stacks_next_node(&d, &n)) == MS_FMT_OK) {
		bool known = n.frame < t->frames.n && n.parent < t->nodes.n;
		*MS_PUSH(&t->nodes) = known ? n : (struct ms_node){0};
	}
	ms_replay_nodes(&t->replay, t->nodes.n);
	return fc == MS_FMT_END && nc == MS_FMT_END;
}

/* ---- reading ---- */

bool ms_recording_take(struct ms_recording *t, const struct ms_block *b)
{
	if (b->type == MS_BLOCK_SUMS)
		return !t->skims || ms_sums_take(t, b);
	ms_sums_note(t, b);
	if (b->last_ns > t->last_ns && b->last_ns <= INT64_MAX && b->type != MS_BLOCK_SYMBOLS)
		t->last_ns = b->last_ns;
	if (t->skims && MS_TYPE_BIT(b->type) & MS_EVENT_TYPES)
		return true;
	if (b->type == MS_BLOCK_STACKS)
		return take_stacks(t, b);
	if (b->type == MS_BLOCK_CHECKPOINT)
		return ms_recording_take_checkpoint(t, b);
	if (b->type != MS_BLOCK_EVENTS)
		return ms_recording_take_records(t, b);
	if (t->ahead) /* the read-ahead thread decodes the events */
		return true;
	if (!t->decoder) {
		t->decoder = ms_xrealloc(NULL, 1, sizeof *t->decoder);
		t->batch = ms_xrealloc(NULL, BATCH, sizeof *t->batch);
	}
	if (ms_event_decoder_init(t->decoder, b->columns, b->column_count) != MS_FMT_OK)
		return false;
	t->in_block = true;
	if (t->decoder->first_event > t->replay.position)
		t->replay.position = t->decoder->first_event;
	return true;
}

static uint64_t columns_of(const struct ms_recording *t, uint64_t want)
{
	bool slack = t->replay.beside && t->replay.beside->asked_usable;
	return slack ? want | MS_COLUMN_BIT(MS_LIVE_SLACK) : want; /* slacks of live blocks, in
								      checkpoints */
}

/* Processes the result of ms_trace_next. Returns 1 to continue, 0 at the end, or -1 on failure. */
static int take_next(struct ms_recording *t, enum ms_trace_next next, const struct ms_block *b)
{
	switch (next) {
	case MS_NEXT_BLOCK:
		if (t->on_block)
			t->on_block(t->on_block_arg);
		if (!ms_recording_take(t, b))
			t->bad_blocks++;
		return 1;
	case MS_NEXT_DAMAGED:
		return 1;
	case MS_NEXT_EOF:
		t->state = ms_trace_state(t->file);
		return 0;
	default:
		return -1;
	}
}

int ms_recording_next_block(struct ms_recording *t, uint64_t types, uint64_t want,
			    struct ms_err *err)
{
	struct ms_block b;
	return take_next(t, ms_trace_next(t->file, types, columns_of(t, want), &b, err), &b);
}

/* Decodes the next events of a block into the batch. Returns false if there are none. */
static bool decode_batch(struct ms_recording *t)
{
	enum ms_fmt rc;
	size_t n = ms_event_next_many(t->decoder, t->batch, BATCH, &rc);
	t->in_block = rc == MS_FMT_OK;
	t->bad_blocks += rc != MS_FMT_OK && rc != MS_FMT_END;
	t->batch_at = 0;
	t->batch_end = n;
	return n != 0;
}

/* Reads the next events into t->batch. Returns 1 if done, 0 at the end, or -1 on failure. */
static int next_batch(struct ms_recording *t, struct ms_err *err)
{
	for (;;) {
		int rc = 1;
		if (t->ahead || ms_ahead_start(t, columns_of(t, MS_ALL_COLUMNS))) {
			enum ms_trace_next next;
			struct ms_block b;
			if (ms_ahead_next(t, &next, &b, err))
				return 1;
			rc = take_next(t, next, &b);
		} else if (t->in_block && decode_batch(t)) {
			return 1;
		} else {
			rc = ms_recording_next_block(
				t, t->parts ? MS_TYPE_BIT(MS_BLOCK_EVENTS) : MS_ALL_TYPES,
				MS_ALL_COLUMNS, err);
		}
		if (rc <= 0)
			return rc;
	}
}

/* Returns the number of events in the batch before a stop and up to tick `until`. Times in a block
 * never decrease. Events later than tick_limit are included, so that they are counted as
 * invalid. */
static size_t due(const struct ms_recording *t, uint64_t until)
{
	size_t n = t->batch_end - t->batch_at;
	const struct ms_event *ev = t->batch + t->batch_at;
	uint64_t left = t->stop_event - t->replay.position;
	if (t->replay.position >= t->stop_event)
		return 0;
	n = n < left ? n : (size_t)left;
	if (n && ev[n - 1].time_ticks <= until && ev[n - 1].time_ticks < t->stop_tick)
		return n;
	for (size_t i = 0; i < n; i++) {
		uint64_t tick = ev[i].time_ticks;
		if (tick <= t->replay.tick_limit && (tick >= t->stop_tick || tick > until))
			return i;
	}
	return n;
}

const struct ms_verdict_scan *ms_recording_end_scan(const struct ms_recording *t)
{
	const struct ms_verdict_scan *s = NULL;
	for (size_t i = 0; i < t->verdicts.n; i++)
		if (t->verdicts.v[i].is_scan && !strcmp(t->verdicts.v[i].scan.label, "end"))
			s = &t->verdicts.v[i].scan;
	return s;
}

const struct ms_verdict_scan *ms_recording_scan(const struct ms_recording *t, uint64_t number)
{
	for (size_t i = 0; i < t->verdicts.n; i++)
		if (t->verdicts.v[i].is_scan && t->verdicts.v[i].scan.scan == number)
			return &t->verdicts.v[i].scan;
	return NULL;
}

bool ms_recording_is_polled(const struct ms_recording *t)
{
	return t->info.number[MS_INFO_OPTIONS] & MS_OPTION_POLL;
}

bool ms_recording_is_loss(const struct ms_row *loss)
{
	uint64_t why = loss->number[MS_LOSS_REASON];
	return why != MS_LOST_PAUSED && why != MS_LOST_LIMIT;
}

uint64_t ms_recording_lost(const struct ms_recording *t)
{
	uint64_t n = 0, said = t->end.number[MS_END_LOST];
	for (size_t i = 0; i < t->losses.n; i++)
		if (ms_recording_is_loss(&t->losses.v[i]))
			n += t->losses.v[i].number[MS_LOSS_COUNT];
	return said > n ? said : n;
}

void ms_recording_finish(struct ms_recording *t)
{
	const struct ms_verdict_scan *scan = ms_recording_end_scan(t);
	if (scan && scan->state == MS_SCAN_DONE && scan->number)
		t->replay.judged = scan->number;
	t->replay.growth->exits = ms_recording_exited(t);
	ms_replay_finish(&t->replay, ms_recording_reached(t) / t->head->tick_ns);
}

/* Finishes the replay after the last event, or at a stop. Returns 0, or -1 with `err` set. */
static int finish(struct ms_recording *t, struct ms_err *err)
{
	uint64_t end;
	int rc = t->stopped && !t->parts;
	if (rc)
		ms_trace_sparse(t->file, &end);
	while (rc > 0)
		rc = ms_recording_next_block(t, MS_ALL_TYPES & ~MS_EVENT_TYPES, MS_ALL_COLUMNS,
					     err);
	if (rc < 0)
		return rc;
	ms_recording_finish(t);
	return 0;
}

/* Applies the events of the batch up to tick `until`; reads a batch first if it is empty. Returns 1
 * if done, 0 at the end, or -1 on failure. */
static int apply(struct ms_recording *t, uint64_t until, struct ms_err *err)
{
	int rc = t->batch_at == t->batch_end ? next_batch(t, err) : 1;
	if (rc <= 0)
		return rc;
	size_t n = due(t, until);
	if (t->on_events)
		t->on_events(t->on_events_arg, t->batch + t->batch_at, n);
	ms_replay_events(&t->replay, t->batch + t->batch_at, n);
	t->batch_at += n;
	return 1;
}

int ms_recording_run(struct ms_recording *t, uint64_t until_ns, uint64_t *next_ns,
		     struct ms_err *err)
{
	do {
		int rc = apply(t, until_ns / t->head->tick_ns, err);
		if (rc <= 0)
			return rc < 0 ? rc : finish(t, err);
	} while (t->batch_at == t->batch_end);
	uint64_t tick = t->batch[t->batch_at].time_ticks;
	t->stopped = tick >= t->stop_tick || t->replay.position >= t->stop_event;
	if (t->stopped)
		return finish(t, err);
	*next_ns = tick * t->head->tick_ns;
	return 1;
}

int ms_recording_step(struct ms_recording *t, struct ms_err *err)
{
	int rc = t->stopped ? 0 : apply(t, MS_NEVER, err);
	if (rc <= 0)
		return rc;
	t->stopped = t->batch_at != t->batch_end;
	return !t->stopped;
}

struct ms_recording *ms_recording_begin(struct ms_trace *file, const char *path)
{
	if (!file)
		return NULL;
	struct ms_recording *t = ms_xcalloc(1, sizeof *t);
	t->file = file;
	t->head = ms_trace_header(file);
	t->path = path;
	t->stop_tick = t->stop_event = t->stop_ns = MS_NEVER;
	ms_replay_init(&t->replay);
	*MS_PUSH(&t->frames) = (struct ms_frame){0};
	*MS_PUSH(&t->nodes) = (struct ms_node){0};
	ms_replay_tick(&t->replay, t->head->tick_ns);
	t->replay.tick_limit = INT64_MAX / t->head->tick_ns;
	return t;
}

/* Reads blocks to the end of the trace or, with `info`, only until the info block was read, which
 * precedes the first event block. */
static struct ms_recording *read_blocks(struct ms_recording *t, uint64_t types, uint64_t want,
					bool info, struct ms_err *err)
{
	int rc = 1;
	while (t && rc > 0 && !(info && (t->has_info || t->in_block)))
		rc = ms_recording_next_block(t, types, want, err);
	if (rc >= 0)
		return t;
	ms_recording_close(t);
	return NULL;
}

struct ms_recording *ms_recording_open(const char *path, struct ms_err *err)
{
	return read_blocks(ms_recording_begin(ms_trace_open(path, err), path), MS_ALL_TYPES,
			   MS_ALL_COLUMNS, true, err);
}

struct ms_recording *ms_recording_open_fd(int fd, const char *name, const void *bytes, size_t n,
					  struct ms_err *err)
{
	return read_blocks(ms_recording_begin(ms_trace_open_fd(fd, name, bytes, n, err), name),
			   MS_ALL_TYPES, MS_ALL_COLUMNS, true, err);
}

struct ms_recording *ms_recording_glance(const char *path, struct ms_err *err)
{
	const uint64_t types = MS_TYPE_BIT(MS_BLOCK_INFO) | MS_TYPE_BIT(MS_BLOCK_MARKS) |
			       MS_TYPE_BIT(MS_BLOCK_END) | MS_TYPE_BIT(MS_BLOCK_EVENTS);
	return read_blocks(ms_recording_begin(ms_trace_open(path, err), path), types,
			   MS_COLUMN_BIT(MS_RECORDS_COLUMN) | MS_COLUMN_BIT(MS_COL_HEAD), false,
			   err);
}

void ms_recording_park(struct ms_recording *t)
{
	if (t->in_block || t->ahead || t->batch_at != t->batch_end)
		return;
	ms_trace_park(t->file);
	MS_FREE(t->decoder, t->batch);
	t->decoder = NULL;
	t->batch = NULL;
}

void ms_recording_close(struct ms_recording *t)
{
	if (!t)
		return;
	ms_ahead_stop(t);
	ms_replay_free(&t->replay);
	for (size_t i = 0; i < t->functions.n; i++)
		free(t->functions.v[i].v);
	free(t->functions.v);
	MS_FREE(t->decoder, t->batch, t->args.v, t->allocators.v, t->hooks_missing.v,
		t->allocators_missed.v, t->left.v, t->modules.v, t->threads.v, t->samples.v,
		t->marks.v, t->losses.v, t->before.v, t->verdicts.v, t->moments.v, t->resident.v,
		t->retention.scans.v, t->retention.roots.v, t->retention.sets.v,
		t->retention.rows.v, t->frames.v, t->nodes.v, t->strings.v, t->places.v,
		t->variables.v, t->chains, t->states.v, t->index.v);
	ms_arena_free(&t->arena);
	ms_trace_close(t->file);
	free(t);
}

uint64_t ms_recording_offset(const struct ms_recording *t)
{
	return t->ahead ? t->offset : ms_trace_offset(t->file);
}

uint64_t ms_recording_length(const struct ms_recording *t)
{
	uint64_t events = t->replay.last_tick * t->head->tick_ns;
	uint64_t last = t->last_ns > events ? t->last_ns : events;
	if (t->has_end && ms_has(&t->end, MS_END_TIME) && t->end.number[MS_END_TIME] >= events &&
	    t->end.number[MS_END_TIME] <= INT64_MAX)
		return t->end.number[MS_END_TIME];
	return last;
}

bool ms_recording_exited(const struct ms_recording *t)
{
	bool whole = !t->stopped && ms_recording_reached(t) == ms_recording_length(t);
	return t->has_end && whole && ms_has(&t->end, MS_END_REASON) &&
	       t->end.number[MS_END_REASON] == MS_ENDED_EXIT;
}

bool ms_recording_damaged(const struct ms_recording *t)
{
	uint64_t places = 0, bytes = 0;
	if (!t->ahead) /* damage ends reading ahead, so while `ahead` is set there was none */
		bytes = ms_trace_damaged_bytes(t->file, &places);
	return bytes || places || t->bad_blocks;
}

bool ms_recording_complete(const struct ms_recording *t)
{
	return !ms_recording_damaged(t) && !t->replay.bad_events && t->state != MS_TRACE_NO_END &&
	       !ms_has(&t->info, MS_INFO_CORE_LACKS);
}

const char *ms_recording_state(const struct ms_recording *t)
{
	if (ms_recording_damaged(t) || t->replay.bad_events)
		return "damaged";
	return t->state == MS_TRACE_ENDED     ? "complete"
	       : t->state == MS_TRACE_GROWING ? "growing"
					      : "no end";
}

const char *ms_source_function(const struct ms_recording *t, const struct ms_frame *f)
{
	uint64_t function = f->address >> MS_SOURCE_LINE_BITS;
	const struct ms_functions none = {0}, *all = f->module <= t->functions.n
							     ? &t->functions.v[f->module - 1]
							     : &none;
	size_t n = MS_COUNT_UP_TO(all->v, all->n, number, function);
	return n && all->v[n - 1].number == function ? all->v[n - 1].name : NULL;
}

uint32_t ms_source_line(const struct ms_frame *f)
{
	return (uint32_t)(f->address & ((1u << MS_SOURCE_LINE_BITS) - 1));
}

/* SPDX-License-Identifier: MIT
 * Reads a part of a trace: from a checkpoint up to a stop.
 */
#include "recording_private.h"

#include "libcommon/base/err.h"
#include "libcommon/replay/replay_mapped.h"
#include "sums.h"

#include <string.h>

/* ---- checkpoints ---- */

static bool begin_checkpoint(struct ms_recording *t, const struct ms_checkpoint_head *h)
{
	bool anew = !ms_recording_damaged(t); /* in a damaged trace, damage explains missing events
						 before the checkpoint */
	if (h->part != 0 || !ms_replay_restore(&t->replay, h, anew))
		return false;
	t->part_head = *h;
	t->skipped |= anew;
	t->next_part = 1;
	return true;
}

static bool take_ranges(struct ms_recording *t, struct ms_checkpoint_decoder *d)
{
	struct ms_checkpoint_range r;
	enum ms_fmt rc;
	while ((rc = ms_checkpoint_next_range(d, &r)) == MS_FMT_OK)
		if (t->replay.beside)
			ms_beside_restore_range(&t->replay, &r);
	return rc == MS_FMT_END;
}

static bool take_part(struct ms_recording *t, struct ms_checkpoint_decoder *d)
{
	struct ms_checkpoint_block b;
	enum ms_fmt rc;
	uint64_t last;
	while ((rc = ms_checkpoint_next(d, &b)) == MS_FMT_OK)
		if (!ms_replay_restore_block(&t->replay, &b))
			return false;
	if (rc == MS_FMT_END && d->head.part == 0)
		for (uint32_t i = 0; (rc = ms_checkpoint_next_last(d, &last)) == MS_FMT_OK; i++)
			ms_replay_restore_last(&t->replay, i, last);
	return rc == MS_FMT_END && take_ranges(t, d);
}

bool ms_recording_take_checkpoint(struct ms_recording *t, const struct ms_block *b)
{
	struct ms_checkpoint_decoder d;
	if (ms_checkpoint_decoder_init(&d, b->columns, b->column_count) != MS_FMT_OK)
		return false;
	const struct ms_checkpoint_head *h = &d.head;
	if (!t->next_part) {
		if (h->event <= t->replay.position)
			return true;
		if (!begin_checkpoint(t, h))
			return false;
	} else if (h->part != t->next_part || h->event != t->part_head.event ||
		   h->parts != t->part_head.parts) {
		t->next_part = 0;
		return false;
	} else {
		t->next_part++;
	}
	bool good = take_part(t, &d);
	if (good && t->next_part < h->parts)
		return true;
	t->next_part = 0;
	return ms_replay_restored(&t->replay, &t->part_head, t->skipped) && good;
}

/* ---- all but events ---- */

/* Reads the block of an index entry. Returns false if it does not match the entry, or I/O
 * failed. */
static bool read_entry(struct ms_recording *t, const struct ms_index_entry *e, struct ms_err *err)
{
	bool skim = t->skims && MS_TYPE_BIT(e->type) & MS_EVENT_TYPES;
	uint64_t want = skim                       ? MS_COLUMN_BIT(MS_COL_HEAD)
			: e->type == MS_BLOCK_SUMS ? 1 /* all */
						   : MS_ALL_COLUMNS;
	return ms_trace_seek(t->file, e->offset) &&
	       ms_recording_next_block(t, MS_TYPE_BIT(e->type), want, err) == 1 &&
	       ms_trace_offset(t->file) == e->offset + e->bytes && !ms_recording_damaged(t);
}

/* Reads all blocks listed in t->index, except events and checkpoints; these too if sums are used. */
static bool read_parts(struct ms_recording *t, struct ms_err *err)
{
	const uint64_t types = t->skims ? MS_ALL_TYPES | MS_TYPE_BIT(MS_BLOCK_SUMS)
					: MS_ALL_TYPES & ~MS_EVENT_TYPES;
	for (size_t i = 0; i < t->index.n; i++) {
		const struct ms_index_entry *e = &t->index.v[i];
		uint64_t bit = e->type < 64 ? MS_TYPE_BIT(e->type) : 0;
		if (bit & types && !read_entry(t, e, err))
			return false;
	}
	return t->has_info && !ms_recording_damaged(t);
}

static bool has_block(const struct ms_trace_index *x, unsigned type)
{
	for (size_t i = x->n; i-- > 0;)
		if (x->v[i].type == type)
			return true;
	return false;
}

/* Opens a trace and reads its parts; with `sums` only if it has sums. */
static struct ms_recording *open_parts(const char *path, bool ended, bool sums, struct ms_err *err)
{
	uint64_t end = 0;
	struct ms_trace *file = strcmp(path, "-") == 0 ? NULL : ms_trace_open(path, err);
	if (file && !ms_trace_sparse(file, ended ? &end : NULL)) {
		ms_trace_close(file);
		return NULL;
	}
	struct ms_recording *t = ms_recording_begin(file, path);
	if (!t)
		return NULL;
	t->parts = true;
	t->skims = sums;
	if (ended)
		t->state = MS_TRACE_ENDED;
	if (ms_trace_find_blocks(t->file, end, &t->index, err) > 0 &&
	    (!sums || has_block(&t->index, MS_BLOCK_SUMS)) && read_parts(t, err) &&
	    (!ended || t->has_end))
		return t;
	ms_recording_close(t);
	return NULL;
}

struct ms_recording *ms_recording_open_parts(const char *path, struct ms_err *err)
{
	return open_parts(path, true, false, err);
}

struct ms_recording *ms_recording_open_present(const char *path, struct ms_err *err)
{
	return open_parts(path, false, false, err);
}

struct ms_recording *ms_sums_open(const char *path)
{
	struct ms_err ignored = {0};
	struct ms_recording *t = open_parts(path, true, true, &ignored);
	if (t && !ms_sums_fit(t)) {
		ms_recording_close(t);
		return NULL;
	}
	if (t)
		t->parts = false; /* nothing is missing */
	return t;
}

/* ---- from a checkpoint on ---- */

/* Returns the first part of the checkpoint that entry `i` belongs to. */
static size_t first_part(const struct ms_trace_index *x, size_t i)
{
	while (i && x->v[i - 1].type == MS_BLOCK_CHECKPOINT)
		i--;
	return i;
}

/* Applies the checkpoint that begins at index entry `i`. Returns the number of the entry after the
 * checkpoint; 0 = the checkpoint is unusable. */
static size_t take_checkpoint(struct ms_recording *t, size_t i, struct ms_err *err)
{
	const struct ms_trace_index *x = &t->index;
	do {
		if (!read_entry(t, &x->v[i++], err))
			return 0;
	} while (t->next_part && i < x->n && x->v[i].type == MS_BLOCK_CHECKPOINT);
	return t->next_part || !t->skipped || i == x->n ? 0 : i;
}

bool ms_recording_start_at(struct ms_recording *t, uint64_t tick, struct ms_err *err)
{
	const struct ms_trace_index *x = &t->index;
	size_t from = 0;
	for (size_t i = 0; i < x->n; i++)
		if (x->v[i].type == MS_BLOCK_CHECKPOINT && x->v[i].tick <= tick)
			from = i;
	if (from) {
		from = take_checkpoint(t, first_part(x, from), err);
		if (!from || t->part_head.tick > tick)
			return false;
	}
	return ms_trace_seek(t->file, from ? x->v[from].offset : ms_trace_first(t->file));
}

void ms_recording_stop_at(struct ms_recording *t, uint64_t ns, uint64_t tick, uint64_t event)
{
	t->stop_ns = ns;
	t->stop_tick = tick;
	t->stop_event = event;
}

uint64_t ms_recording_reached(const struct ms_recording *t)
{
	uint64_t length = ms_recording_length(t);
	return t->stop_ns < length ? t->stop_ns : length;
}

/* SPDX-License-Identifier: MIT
 * libmemscope: traces, event by event.
 *
 * Events are decoded here and not replayed. Size, address and call stack of live blocks are stored,
 * so that frees can be reported with them.
 */
#include "memscope-read.h"
#include "public.h"

#include "libcommon/replay/blocks.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/recording_private.h"
#include "format/address.h"

#include <string.h>

struct memscope_trace {
	struct ms_recording *rec;
	char *path;
	struct ms_blocks live; /* `tick` is the address, `owner` the call stack */
	uint64_t next_number;
	struct ms_address_decoder address;
	void *address_memory;
	bool begun; /* an event block has been started and not finished */
	bool ended;
	uint64_t bad;    /* invalid events */
	uint32_t thread; /* index of the event read last, which may be one made for labels */
};

struct memscope_trace *memscope_trace_open(const char *path, char *error)
{
	struct ms_err err = {0};
	struct memscope_trace *t = ms_xcalloc(1, sizeof *t);
	t->path = strdup(path); /* a copy, because the recording borrows the path */
	ms_blocks_init(&t->live);
	if (t->path)
		t->rec = ms_recording_begin(ms_trace_open(t->path, &err), t->path);
	if (t->rec)
		return t;
	ms_public_error(error, &err);
	memscope_trace_close(t);
	return NULL;
}

void memscope_trace_close(struct memscope_trace *t)
{
	if (!t)
		return;
	ms_recording_close(t->rec);
	ms_blocks_free(&t->live);
	MS_FREE(t->address_memory, t->path, t);
}

/* ---- events ---- */

static bool frees(const struct ms_event *ev)
{
	return ev->kind == MS_EV_FREE || ev->kind == MS_EV_REALLOC ||
	       ev->kind == MS_EV_FREE_INFERRED;
}

static bool makes(const struct ms_event *ev)
{
	return ev->kind == MS_EV_ALLOC || ev->kind == MS_EV_REALLOC ||
	       ev->kind == MS_EV_REALLOC_UNKNOWN;
}

static void put_freed(struct memscope_trace *t, const struct ms_event *ev,
		      struct memscope_event *out)
{
	struct ms_live_block old;
	out->old_number = ev->freed;
	out->old_size = out->old_address = MEMSCOPE_UNKNOWN;
	if (!ms_blocks_take(&t->live, ev->freed, &old))
		return;
	out->old_size = old.size;
	out->old_address = old.tick ? old.tick : MEMSCOPE_UNKNOWN;
	out->old_stack = old.owner;
}

static bool put_extended(const struct ms_event *ev, struct memscope_event *out)
{
	if (ev->kind == MS_EV_EXT && ev->ext == MS_EXT_MAP)
		out->kind = MEMSCOPE_MAP;
	else if (ev->kind == MS_EV_EXT && ev->ext == MS_EXT_UNMAP)
		out->kind = MEMSCOPE_UNMAP;
	else
		return false;
	out->size = ev->size;
	out->address = ev->address;
	return true;
}

/* Converts an event. Returns false if it is invalid, or of a kind that the interface does not
 * report. */
static bool convert(struct memscope_trace *t, struct ms_event *ev, struct memscope_event *out)
{
	static const enum memscope_event_kind kinds[] = {
		[MS_EV_ALLOC] = MEMSCOPE_ALLOC,
		[MS_EV_FREE] = MEMSCOPE_FREE,
		[MS_EV_REALLOC] = MEMSCOPE_REALLOC,
		[MS_EV_FAILED] = MEMSCOPE_FAILED,
		[MS_EV_FREE_UNKNOWN] = MEMSCOPE_FREE_UNKNOWN,
		[MS_EV_REALLOC_UNKNOWN] = MEMSCOPE_ALLOC,
		[MS_EV_FREE_INFERRED] = MEMSCOPE_FREE,
	};
	uint64_t tick_ns = t->rec->head->tick_ns;
	t->thread = ev->thread;
	if (ev->time_ticks > t->rec->replay.tick_limit) {
		t->bad++;
		return false;
	}
	*out = (struct memscope_event){.time_ns = ev->time_ticks * tick_ns,
				       .thread = (uint32_t)ms_thread_of(t->rec, ev->thread),
				       .stack = ev->stack,
				       .number = MEMSCOPE_UNKNOWN,
				       .size = MEMSCOPE_UNKNOWN,
				       .address = MEMSCOPE_UNKNOWN,
				       .old_number = MEMSCOPE_UNKNOWN,
				       .old_size = MEMSCOPE_UNKNOWN,
				       .old_address = MEMSCOPE_UNKNOWN,
				       .inferred = ev->kind == MS_EV_FREE_INFERRED};
	if (frees(ev))
		put_freed(t, ev, out);
	ms_address_next(&t->address, ev);
	if (ev->kind >= MS_EV_EXT)
		return put_extended(ev, out);
	out->kind = kinds[ev->kind];
	out->address = ev->address ? ev->address : MEMSCOPE_UNKNOWN;
	if (ev->kind == MS_EV_FAILED || makes(ev))
		out->size = ev->size;
	if (!makes(ev))
		return true;
	if (ev->number < t->next_number) {
		t->bad++;
		return false;
	}
	out->number = ev->number;
	t->next_number = ev->number + 1;
	ms_blocks_add(&t->live, ev->number, ev->size, ev->address, ev->stack);
	return true;
}

/* Reads the next block: event blocks are prepared for decoding, others are applied at once. Returns
 * 1, 0 at the end, or -1 on failure. */
static int next_block(struct memscope_trace *t, struct ms_err *err)
{
	struct ms_block b;
	uint64_t types = MS_ALL_TYPES & ~MS_TYPE_BIT(MS_BLOCK_CHECKPOINT);
	switch (ms_trace_next(t->rec->file, types, 1, &b, err)) {
	case MS_NEXT_BLOCK:
		if (!ms_recording_take(t->rec, &b)) {
			t->rec->bad_blocks++;
			return 1;
		}
		if (b.type != MS_BLOCK_EVENTS)
			return 1;
		t->address_memory =
			ms_xrealloc(t->address_memory,
				    MS_ADDRESS_DECODER_MEMORY(t->rec->decoder->count) + 1, 1);
		ms_address_decoder_begin(&t->address, t->rec->decoder, b.columns, b.column_count,
					 t->address_memory);
		t->begun = true;
		return 1;
	case MS_NEXT_DAMAGED:
		return 1;
	case MS_NEXT_EOF:
		t->rec->state = ms_trace_state(t->rec->file);
		t->ended = true;
		return 0;
	default:
		return -1;
	}
}

int memscope_trace_next(struct memscope_trace *t, struct memscope_event *ev, char *error)
{
	struct ms_err err = {0};
	struct ms_event raw;
	for (int rc = 1; rc > 0;) {
		while (t->begun) {
			enum ms_fmt fmt = ms_event_next(t->rec->decoder, &raw);
			t->begun = fmt == MS_FMT_OK;
			t->rec->bad_blocks += fmt != MS_FMT_OK && fmt != MS_FMT_END;
			if (t->begun && convert(t, &raw, ev))
				return 1;
		}
		rc = next_block(t, &err);
		if (rc == 0)
			return 0;
	}
	ms_public_error(error, &err);
	return -1;
}

/* ---- call stacks ---- */

static const char *string(const struct ms_recording *r, uint32_t number)
{
	return number && number <= r->strings.n ? r->strings.v[number - 1] : NULL;
}

static struct memscope_frame frame_of(const struct ms_recording *r, const struct ms_frame *f)
{
	static const unsigned notes = MS_FRAME_CUT | MS_FRAME_TRUNCATED | MS_FRAME_NOT_TAKEN |
				      MS_FRAME_BEFORE | MS_FRAME_HEAP | MS_FRAME_NOT_READ;
	const struct ms_row *m =
		f->module && f->module <= r->modules.n ? &r->modules.v[f->module - 1] : NULL;
	struct memscope_frame out = {.address = f->address,
				     .offset = MEMSCOPE_UNKNOWN,
				     .is_address = !(f->flags & notes)};
	if (m && out.is_address && m->number[MS_MODULE_KIND] == MS_SYMBOLS_SOURCE)
		return (struct memscope_frame){.address = MEMSCOPE_UNKNOWN,
					       .offset = MEMSCOPE_UNKNOWN,
					       .function = ms_source_function(r, f),
					       .file = m->text[MS_MODULE_PATH - 2],
					       .line = ms_source_line(f)};
	if (m && out.is_address) {
		out.module = m->text[MS_MODULE_PATH - 2];
		out.offset = f->address - m->number[MS_MODULE_BIAS];
	}
	return out;
}

static void put_frame(size_t *n, struct memscope_frame *out, size_t max,
		      const struct memscope_frame *f)
{
	if (*n < max)
		out[*n] = *f;
	++*n;
}

/* Adds a frame, and the functions inlined into it according to the symbols. */
static void put_frames(const struct ms_recording *r, uint32_t number, size_t *n,
		       struct memscope_frame *out, size_t max)
{
	struct memscope_frame f = frame_of(r, &r->frames.v[number]);
	const struct ms_chain *c = number < r->chain_count ? &r->chains[number] : NULL;
	if (!c || !c->count || !f.is_address) {
		put_frame(n, out, max, &f);
		return;
	}
	for (uint32_t i = 0; i < c->count; i++) {
		const struct ms_place *p = &r->places.v[c->first + i];
		f.function = string(r, p->function);
		f.file = string(r, p->file);
		f.line = p->line;
		f.inlined = i + 1 < c->count;
		put_frame(n, out, max, &f);
	}
}

size_t memscope_trace_stack(struct memscope_trace *t, uint32_t stack, struct memscope_frame *out,
			    size_t max)
{
	const struct ms_recording *r = t->rec;
	size_t n = 0;
	for (uint32_t node = stack; node && node < r->nodes.n && r->nodes.v[node].frame;
	     node = r->nodes.v[node].parent)
		put_frames(r, r->nodes.v[node].frame, &n, out, max);
	return n;
}

/* ---- what else the trace says ---- */

const char *memscope_trace_label(struct memscope_trace *t)
{
	return ms_label_of(t->rec, t->thread);
}

static uint64_t field(const struct ms_fields *f, unsigned id)
{
	return ms_has(f, id) ? f->number[id] : MEMSCOPE_UNKNOWN;
}

void memscope_trace_info(struct memscope_trace *t, struct memscope_trace_info *out)
{
	const struct ms_recording *r = t->rec;
	uint64_t length = r->has_end ? field(&r->end, MS_END_TIME) : r->last_ns;
	*out = (struct memscope_trace_info){
		.pid = field(&r->info, MS_INFO_PID),
		.exe = ms_has(&r->info, MS_INFO_EXE) ? r->info.text[MS_INFO_EXE] : NULL,
		.started_ns = field(&r->info, MS_INFO_START_WALL),
		.duration_ns = length,
		.exit_status = field(&r->end, MS_END_STATUS),
		.exit_signal = field(&r->end, MS_END_SIGNAL)};
	if (t->ended)
		out->state = t->bad ? "damaged" : ms_recording_state(r);
}

static uint64_t row_field(const struct ms_row *r, unsigned id)
{
	return ms_has(r, id) ? r->number[id] : MEMSCOPE_UNKNOWN;
}

int memscope_trace_sample(struct memscope_trace *t, size_t i, struct memscope_sample *out)
{
	if (i >= t->rec->samples.n)
		return 0;
	const struct ms_row *r = &t->rec->samples.v[i];
	*out = (struct memscope_sample){.time_ns = row_field(r, MS_SAMPLE_TIME),
					.rss_bytes = row_field(r, MS_SAMPLE_RSS),
					.heap_bytes = row_field(r, MS_SAMPLE_HEAP),
					.vsz_bytes = row_field(r, MS_SAMPLE_VSZ),
					.pss_bytes = row_field(r, MS_SAMPLE_PSS),
					.private_bytes = row_field(r, MS_SAMPLE_PRIVATE),
					.shared_bytes = MEMSCOPE_UNKNOWN,
					.swap_bytes = row_field(r, MS_SAMPLE_SWAP),
					.minor_faults = row_field(r, MS_SAMPLE_MINFLT),
					.major_faults = row_field(r, MS_SAMPLE_MAJFLT),
					.user_ns = row_field(r, MS_SAMPLE_UTIME),
					.system_ns = row_field(r, MS_SAMPLE_STIME),
					.threads = row_field(r, MS_SAMPLE_THREADS)};
	return 1;
}

int memscope_trace_mark(struct memscope_trace *t, size_t i, uint64_t *time_ns, const char **name)
{
	if (i >= t->rec->marks.n)
		return 0;
	const struct ms_row *r = &t->rec->marks.v[i];
	*time_ns = row_field(r, MS_MARK_TIME);
	*name = r->text[MS_MARK_NAME - 2] ? r->text[MS_MARK_NAME - 2] : "";
	return 1;
}

/* SPDX-License-Identifier: MIT
 * Cuts a part out of a trace, as a new trace (--trace-out).
 *
 * The input is read block by block. Descriptions (stacks, modules, threads, samples, marks,
 * symbols) are copied, so that numbers that refer to such records stay valid. Events before the
 * span only change the live blocks; the span begins with a checkpoint of the live blocks. Without
 * conditions on events, the events of the span keep their numbers; with such conditions, the kept
 * blocks are renumbered.
 */
#include "cut.h"

#include "cut_keep.h"
#include "cut_live.h"
#include "cut_verdicts.h"
#include "cut_write.h"
#include "options.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/trace.h"
#include "libcommon/snapshot/anonymize.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/base/progress.h"
#include "libcommon/base/ranges.h"
#include "libcommon/trace/recording.h"
#include "libcommon/base/span.h"
#include "libcommon/base/units.h"

#define BIT(n) (UINT64_C(1) << (n))
#define CUT_FIELDS                                                                                 \
	(BIT(MS_INFO_CUT) | BIT(MS_INFO_CUT_FROM) | BIT(MS_INFO_CUT_EVENT) | BIT(MS_INFO_CUT_TO) | \
	 BIT(MS_INFO_CUT_SOME))
#define THREADS_MAX (UINT32_C(1) << 22)
#define NEVER UINT64_MAX

/* Lists the fields of the end block that do not apply to the cut: totals, offsets, and the
 * successor. */
#define END_SKIPPED                                                                                \
	(BIT(MS_END_EVENTS) | BIT(MS_END_ALLOCATIONS) | BIT(MS_END_INDEX) |                        \
	 BIT(MS_END_SUCCESSOR) | BIT(MS_END_FREES) | BIT(MS_END_REALLOCATIONS) |                   \
	 BIT(MS_END_FAILED) | BIT(MS_END_ALLOCATED_BYTES) | BIT(MS_END_TEMPORARY) |                \
	 BIT(MS_END_PEAK_BYTES) | BIT(MS_END_PEAK_BLOCKS) | BIT(MS_END_PEAK_TIME) |                \
	 BIT(MS_END_UNFREED_BYTES) | BIT(MS_END_UNFREED_BLOCKS))

struct cut {
	const struct options *o;
	struct ms_err *err;
	struct ms_recording *facts; /* the trace's records except events */
	struct ms_trace *in;
	struct cut_writer out;
	struct keep keep;
	struct cut_verdicts verdicts; /* used if there are conditions */
	struct ms_span_end ends[2];
	bool incomplete;

	/* input */
	uint64_t size;             /* file size in bytes; 0 = not known */
	uint64_t position, number; /* numbers of the next event and the next allocation */
	uint64_t tick;             /* time of the previous event */
	bool begun, over;          /* the span has begun; the span has ended */
	struct ms_event_decoder *decoder;

	/* State while reading. `live` has all live blocks before the span, and afterwards only the
	 * kept ones; it stays empty if every block is kept. */
	struct cut_live live;
	MS_ARRAY(uint64_t) last; /* number of each thread's latest allocation */
	struct ms_ranges ranges;
	bool restoring; /* reading a checkpoint that replaces this state */
};

/* ---- live blocks ---- */

static void set_last(struct cut *c, uint32_t thread, uint64_t number)
{
	while (c->last.n <= thread && thread < THREADS_MAX)
		*MS_PUSH(&c->last) = NEVER;
	if (thread < THREADS_MAX)
		c->last.v[thread] = number;
}

static bool releases(const struct ms_event *ev)
{
	return ev->kind == MS_EV_FREE || ev->kind == MS_EV_REALLOC ||
	       ev->kind == MS_EV_FREE_INFERRED;
}

static bool allocates(const struct ms_event *ev)
{
	return ev->kind == MS_EV_ALLOC || ev->kind == MS_EV_REALLOC ||
	       ev->kind == MS_EV_REALLOC_UNKNOWN;
}

static void map(struct cut *c, const struct ms_event *ev)
{
	uint64_t end = ev->size < UINT64_MAX - ev->address ? ev->address + ev->size : UINT64_MAX;
	if (ev->kind != MS_EV_EXT || (ev->ext != MS_EXT_MAP && ev->ext != MS_EXT_UNMAP))
		return;
	ms_ranges_cut(&c->ranges, ev->address, end, NULL, NULL);
	if (ev->ext == MS_EXT_MAP && end > ev->address)
		ms_ranges_add(&c->ranges, ev->address, end, ev->stack);
}

static void before_span(struct cut *c, const struct ms_event *ev)
{
	struct cut_live_block gone;
	map(c, ev);
	if (releases(ev))
		cut_live_take(&c->live, ev->freed, &gone);
	if (!allocates(ev))
		return;
	set_last(c, ev->thread, ev->number);
	if (!keep_block(&c->keep, ev->number, ev->size, ev->stack, ev->thread))
		return;
	cut_live_add(&c->live, ev->number)->b = (struct ms_checkpoint_block){
		.number = ev->number,
		.size = ev->size,
		.tick = ev->time_ticks,
		.stack = ev->stack,
		.thread = ev->thread,
		.slack = ev->slack,
	};
}

/* ---- the span ---- */

/* Gives each live block its number in the cut. */
static void number_live(struct cut *c)
{
	struct cut_live_block **all = cut_live_sorted(&c->live);
	for (size_t i = 0; i < c->live.n; i++)
		all[i]->as = c->keep.some ? i : all[i]->b.number;
	free(all);
	c->out.number = c->keep.some ? c->live.n : c->number;
}

static int begin_span(struct cut *c)
{
	if (c->begun)
		return 0;
	c->begun = true;
	c->out.event = c->position;
	number_live(c);
	/* no checkpoint is needed before the first event of a file */
	if (c->position && cut_checkpoint(&c->out, c->tick, &c->live, c->last.v,
					  c->keep.some ? 0 : c->last.n, &c->ranges) != 0)
		return -1;
	ms_ranges_free(&c->ranges);
	if (c->keep.some)
		cut_verdicts_begin(&c->verdicts, c->facts, c->position);
	else
		cut_live_clear(&c->live);
	return 0;
}

/* Writes an event with its original number. After a gap in the file, numbers continue with the
 * number of the next event. */
static int write_all(struct cut *c, const struct ms_event *ev)
{
	if (c->out.event != c->position || (allocates(ev) && c->out.number != ev->number)) {
		if (cut_flush(&c->out) != 0)
			return -1;
		c->out.event = c->position;
		c->out.number = allocates(ev) ? ev->number : c->number;
	}
	return cut_event(&c->out, ev);
}

/* Tells whether the event releases a kept block, and replaces the block's number by that in the
 * cut. */
static bool take_kept(struct cut *c, struct ms_event *ev)
{
	struct cut_live_block gone;
	bool was = releases(ev) && cut_live_take(&c->live, ev->freed, &gone);
	ev->freed = was ? gone.as : 0;
	return was;
}

/* Writes an event if its block is kept. A realloc of which only one block is kept becomes a free or
 * an allocation. */
static int write_some(struct cut *c, struct ms_event ev)
{
	bool was = take_kept(c, &ev);
	bool sized = allocates(&ev) || ev.kind == MS_EV_FAILED;
	uint64_t number = allocates(&ev) ? ev.number : NEVER; /* a failed call made no block */
	bool stays = sized && keep_block(&c->keep, number, ev.size, ev.stack, ev.thread);
	if (!was && !stays)
		return 0;
	if (ev.kind == MS_EV_REALLOC && !stays)
		ev = (struct ms_event){.kind = MS_EV_FREE,
				       .time_ticks = ev.time_ticks,
				       .thread = ev.thread,
				       .stack = ev.stack,
				       .freed = ev.freed};
	else if (ev.kind == MS_EV_REALLOC && !was)
		ev.kind = MS_EV_ALLOC;
	if (allocates(&ev)) {
		struct cut_live_block *b = cut_live_add(&c->live, ev.number);
		b->as = c->out.number;
		b->b.size = ev.size;
		b->b.stack = ev.stack;
	}
	return cut_event(&c->out, &ev);
}

static bool reached(const struct cut *c, const struct ms_span_end *end, const struct ms_event *ev)
{
	return end->given && (ev->time_ticks >= end->tick || c->position >= end->event);
}

static int take_event(struct cut *c, const struct ms_event *ev)
{
	bool from = !c->ends[0].given || reached(c, &c->ends[0], ev);
	c->over |= reached(c, &c->ends[1], ev);
	if ((from || c->over) && begin_span(c) != 0)
		return -1;
	if (c->over)
		return 0;
	int rc = 0;
	if (c->begun && c->keep.some && c->verdicts.next <= c->position)
		rc = cut_verdicts_write(&c->verdicts, &c->out, c->position, &c->live);
	if (rc != 0)
		return rc;
	if (!c->begun)
		before_span(c, ev);
	else
		rc = c->keep.some ? write_some(c, *ev) : write_all(c, ev);
	c->tick = ev->time_ticks;
	c->position++;
	if (allocates(ev))
		c->number = ev->number + 1;
	return rc;
}

static int take_events(struct cut *c, const struct ms_block *b)
{
	struct ms_event ev;
	int rc = 0;
	if (c->over)
		return 0;
	if (ms_event_decoder_init(c->decoder, b->columns, b->column_count) != MS_FMT_OK) {
		c->incomplete = true;
		return 0;
	}
	c->position = c->decoder->first_event;
	c->number = c->decoder->first_number;
	enum ms_fmt next = MS_FMT_OK;
	while (rc == 0 && !c->over && (next = ms_event_next(c->decoder, &ev)) == MS_FMT_OK)
		rc = take_event(c, &ev);
	c->incomplete |= next == MS_FMT_BAD;
	return rc;
}

/* ---- checkpoints of the input, used if earlier events are missing ---- */

static void restore_part(struct cut *c, struct ms_checkpoint_decoder *d)
{
	struct ms_checkpoint_block b;
	struct ms_checkpoint_range r;
	uint64_t last;
	while (ms_checkpoint_next(d, &b) == MS_FMT_OK)
		if (keep_block(&c->keep, b.number, b.size, b.stack, b.thread))
			cut_live_add(&c->live, b.number)->b = b;
	for (uint32_t i = 0; d->head.part == 0 && i < THREADS_MAX; i++) {
		if (ms_checkpoint_next_last(d, &last) != MS_FMT_OK)
			break;
		set_last(c, i, last);
	}
	while (ms_checkpoint_next_range(d, &r) == MS_FMT_OK) {
		ms_ranges_cut(&c->ranges, r.address, r.address + r.bytes, NULL, NULL);
		ms_ranges_add(&c->ranges, r.address, r.address + r.bytes, r.stack);
	}
}

static void take_checkpoint(struct cut *c, const struct ms_block *b)
{
	struct ms_checkpoint_decoder d;
	if (c->begun || ms_checkpoint_decoder_init(&d, b->columns, b->column_count) != MS_FMT_OK)
		return;
	if (d.head.part == 0) {
		c->restoring = d.head.event > c->position;
		if (!c->restoring)
			return;
		cut_live_clear(&c->live);
		ms_ranges_free(&c->ranges);
		c->position = d.head.event;
		c->number = d.head.number;
		c->tick = d.head.tick;
	}
	if (c->restoring)
		restore_part(c, &d);
}

/* ---- records ---- */

static const char *cut_text(struct cut *c)
{
	const struct ms_fields *i = &c->facts->info;
	struct ms_arena *a = c->o->arena;
	const char *name = basename(c->o->input);
	const char *options = "";
	if (ms_has(i, MS_INFO_CUT) && i->text[MS_INFO_CUT])
		name = ms_arena_printf(a, "%s, then", i->text[MS_INFO_CUT]);
	else
		name = ms_arena_printf(a, "%s by", name);
	if (c->o->from)
		options = ms_arena_printf(a, " --from %s", c->o->from);
	if (c->o->to)
		options = ms_arena_printf(a, "%s --to %s", options, c->o->to);
	if (c->o->filter[0])
		options = ms_arena_printf(a, "%s %s", options, c->o->filter);
	return ms_arena_printf(a, "%s%s", name, options[0] ? options : " no options");
}

static void put_limit(struct ms_record_writer *w, const struct ms_fields *old, unsigned field,
		      const struct ms_span_end *end)
{
	if (end->given)
		ms_record_number(w, field, end->ns);
	else if (ms_has(old, field))
		ms_record_number(w, field, old->number[field]);
}

/* Writes the info record: adds fields that mark the trace as a cut, and omits options that do not
 * apply to a cut. */
static int write_info(struct cut *c, const struct ms_block *b, struct ms_record record)
{
	const struct ms_fields *old = &c->facts->info;
	uint8_t memory[8192];
	struct ms_record_writer w;
	uint64_t skip = CUT_FIELDS, options = old->number[MS_INFO_OPTIONS];
	ms_record_writer_init(&w, memory, sizeof memory);
	ms_record_begin(&w);
	const char *text = cut_text(c);
	ms_record_bytes(&w, MS_INFO_CUT, text, strnlen(text, 4096));
	put_limit(&w, old, MS_INFO_CUT_FROM, &c->ends[0]);
	if (c->ends[0].given ? c->ends[0].event != NEVER : ms_has(old, MS_INFO_CUT_EVENT))
		ms_record_number(&w, MS_INFO_CUT_EVENT,
				 c->ends[0].given ? c->ends[0].event
						  : old->number[MS_INFO_CUT_EVENT]);
	put_limit(&w, old, MS_INFO_CUT_TO, &c->ends[1]);
	if (c->keep.some || ms_has(old, MS_INFO_CUT_SOME))
		ms_record_number(&w, MS_INFO_CUT_SOME, 1);
	if (c->keep.some && ms_has(old, MS_INFO_OPTIONS)) {
		skip |= BIT(MS_INFO_OPTIONS);
		ms_record_number(&w, MS_INFO_OPTIONS, options & ~(uint64_t)MS_OPTION_MMAP);
	}
	ms_record_end(&w);
	return cut_record(&c->out, MS_BLOCK_INFO, b, record, skip, &w);
}

static struct ms_record first_record(const struct ms_block *b)
{
	const struct ms_column *column = ms_block_column(b, MS_RECORDS_COLUMN);
	struct ms_record_reader r;
	struct ms_record record = {0};
	ms_record_reader_init(&r, column ? column->data : NULL, column ? column->size : 0);
	if (ms_record_next(&r, &record) != MS_FMT_OK)
		record = (struct ms_record){0};
	return record;
}

/* Writes the marks. In a cut with conditions, event numbers differ, so marks have only their times.
 */
static int write_marks(struct cut *c, const struct ms_block *b)
{
	const struct ms_column *column = ms_block_column(b, MS_RECORDS_COLUMN);
	struct ms_record_reader r;
	struct ms_record record;
	struct ms_record_writer none;
	int rc = 0;
	if (!c->keep.some)
		return cut_copy(&c->out, b);
	ms_record_writer_init(&none, NULL, 0);
	ms_record_reader_init(&r, column ? column->data : NULL, column ? column->size : 0);
	while (rc == 0 && ms_record_next(&r, &record) == MS_FMT_OK)
		rc = cut_record(&c->out, MS_BLOCK_MARKS, b, record, BIT(MS_MARK_EVENT), &none);
	return rc;
}

/* Writes the end block of the input; if the input has no end block, writes one with the time of the
 * last record. */
static int write_end(struct cut *c)
{
	const struct ms_fields *end = &c->facts->end;
	uint8_t memory[65536];
	struct ms_record_writer w;
	uint64_t index, ns = ms_recording_length(c->facts);
	struct ms_block b = {.first_ns = ns, .last_ns = ns};
	if (ms_trace_write_index(c->out.w, ns, &index, c->err) != 0)
		return -1;
	ms_record_writer_init(&w, memory, sizeof memory);
	ms_record_begin(&w);
	for (unsigned i = 1; c->facts->has_end && i < MS_FIELDS; i++)
		if (ms_has(end, i) && !end->text[i] && !(END_SKIPPED >> i & 1))
			ms_record_number(&w, i, end->number[i]);
	for (size_t i = 0; i < c->facts->allocators.n; i++)
		ms_record_string(&w, MS_END_ALLOCATOR, c->facts->allocators.v[i]);
	if (!c->facts->has_end) {
		ms_record_number(&w, MS_END_TIME, ns);
		ms_record_number(&w, MS_END_REASON, MS_ENDED_STOP);
	}
	ms_record_number(&w, MS_END_EVENTS, c->out.count);
	ms_record_number(&w, MS_END_ALLOCATIONS, c->out.number);
	if (index)
		ms_record_number(&w, MS_END_INDEX, index);
	if (!ms_record_end(&w))
		return cut_damaged(&c->out, "a record is too long");
	return cut_record(&c->out, MS_BLOCK_END, &b, (struct ms_record){0}, 0, &w);
}

/* ---- blocks ---- */

static int take_stacks(struct cut *c, const struct ms_block *b)
{
	struct ms_stacks_decoder d;
	if (ms_stacks_decoder_init(&d, b->columns, b->column_count) == MS_FMT_OK)
		keep_stacks(&c->keep, d);
	return cut_copy(&c->out, b);
}

static int take_block(struct cut *c, const struct ms_block *b)
{
	switch (b->type) {
	case MS_BLOCK_INFO:
		return write_info(c, b, first_record(b));
	case MS_BLOCK_EVENTS:
		return take_events(c, b);
	case MS_BLOCK_CHECKPOINT:
		take_checkpoint(c, b);
		return 0;
	case MS_BLOCK_STACKS:
		return take_stacks(c, b);
	case MS_BLOCK_MARKS:
		return write_marks(c, b);
	case MS_BLOCK_MODULES:
	case MS_BLOCK_THREADS:
	case MS_BLOCK_SAMPLES:
	case MS_BLOCK_LOSSES:
	case MS_BLOCK_BEFORE:
	case MS_BLOCK_SYMBOLS:
		return cut_copy(&c->out, b);
	case MS_BLOCK_VERDICTS: /* verdicts are per stack, so valid only if all blocks are kept;
				   else cut_verdicts.c writes new ones */
	case MS_BLOCK_RESIDENT:
	case MS_BLOCK_RETENTION: /* both are valid only if all blocks are kept */
		return c->keep.some ? 0 : cut_copy(&c->out, b);
	default: /* the end and the index are rewritten; other types are unknown */
		return 0;
	}
}

/* Finishes the span after its last event, including a scan after that event. */
static int end_span(struct cut *c)
{
	if (begin_span(c) != 0)
		return -1;
	return c->keep.some && !c->over
		       ? cut_verdicts_write(&c->verdicts, &c->out, c->position, &c->live)
		       : 0;
}

static int read_blocks(struct cut *c)
{
	struct ms_block b;
	int rc = 0;
	while (rc == 0) {
		ms_progress("cutting the trace", NULL, ms_trace_offset(c->in), c->size, NULL);
		switch (ms_trace_next(c->in, 0, 1, &b, c->err)) {
		case MS_NEXT_BLOCK:
			rc = take_block(c, &b);
			break;
		case MS_NEXT_DAMAGED:
			c->incomplete = true;
			break;
		case MS_NEXT_EOF:
			c->incomplete |= ms_trace_state(c->in) == MS_TRACE_NO_END;
			return end_span(c) || cut_flush(&c->out) ? -1 : 0;
		default:
			rc = -1;
		}
	}
	return rc;
}

/* ---- the whole cut ---- */

static bool is_database(const char *path)
{
	static const char magic[] = "SQLite format 3";
	char head[sizeof magic];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof head);
	if (fd >= 0)
		close(fd);
	return n == (ssize_t)sizeof head && memcmp(head, magic, sizeof magic) == 0;
}

/* Returns the name of the option that makes a cut of the trace necessary. */
static const char *asking(const struct options *o)
{
	return born_asked(o) ?: "trace-out";
}

/* Reads the records of the trace; if it has no end block, up to the end of the file. */
static int read_facts(struct cut *c)
{
	struct ms_err why = {0};
	uint64_t next;
	struct stat st = {0};
	const char *path = c->o->input;
	if (strcmp(path, "-") == 0)
		return ms_err_set(c->err,
				  "option '--%s' reads the trace more than once, which a pipe does "
				  "not allow: give the file itself",
				  asking(c->o));
	if (born_asked(c->o) && is_database(path))
		return ms_err_set(c->err,
				  "option '--%s' needs the trace: the snapshot '%s' lacks the "
				  "times of individual blocks",
				  asking(c->o), path);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return ms_err_set(c->err, "option '--%s' takes one trace: '%s' is a folder",
				  asking(c->o), path);
	c->size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	c->facts = ms_recording_open_parts(path, &why);
	if (c->facts)
		return 0;
	c->facts = ms_recording_open(path, c->err);
	int rc = c->facts ? 1 : -1;
	while (rc > 0)
		rc = ms_recording_run(c->facts, UINT64_MAX, &next, c->err);
	return rc;
}

static int write_cut(struct cut *c, int fd)
{
	c->in = ms_trace_open(c->o->input, c->err);
	if (!c->in || cut_writer_open(&c->out, fd, ms_trace_header(c->in), c->err) != 0)
		return -1;
	if (read_blocks(c) != 0)
		return -1;
	return c->incomplete ? 0 : write_end(c);
}

static int write_file(struct cut *c)
{
	if (!c->o->trace_out)
		return write_cut(c, c->o->cut_fd);
	struct ms_file f;
	if (strcmp(c->o->trace_out, "-") == 0) {
		if (isatty(STDOUT_FILENO))
			return ms_err_set(c->err, "a trace cannot be written to a terminal: give "
						  "'--trace-out' a file");
		return write_cut(c, STDOUT_FILENO);
	}
	if (ms_file_begin(&f, c->o->trace_out, c->err) != 0)
		return -1;
	return ms_file_end(&f, write_cut(c, f.fd), c->err);
}

/* If the input is itself a cut, refuses points outside its span. */
static int check_span(const struct cut *c)
{
	const struct ms_fields *i = &c->facts->info;
	uint64_t from = i->number[MS_INFO_CUT_FROM], to = i->number[MS_INFO_CUT_TO];
	char text[MS_UNIT_BUF];
	if (ms_has(i, MS_INFO_CUT_FROM) && c->ends[0].given && c->ends[0].ns < from)
		return ms_err_set(c->err,
				  "no point '%s' in '%s', which begins %s into the recording",
				  c->o->from, c->o->input, ms_format_duration(text, from));
	if (ms_has(i, MS_INFO_CUT_TO) && c->ends[1].given && c->ends[1].ns > to)
		return ms_err_set(c->err, "no point '%s' in '%s', which ends %s into the recording",
				  c->o->to, c->o->input, ms_format_duration(text, to));
	return 0;
}

int cut_trace(const struct options *o, bool *incomplete, struct ms_err *err)
{
	struct cut c = {.o = o, .err = err};
	c.out.names = o->anonymize ? ms_anonymizer_new() : NULL;
	c.out.input = strcmp(o->input, "-") ? o->input : "standard input";
	c.decoder = ms_xrealloc(NULL, 1, sizeof *c.decoder);
	int rc = read_facts(&c);
	if (rc == 0)
		rc = ms_span_find(o->input, o->from, o->to, c.ends, err);
	if (rc == 0)
		rc = check_span(&c);
	if (rc == 0)
		rc = keep_prepare(&c.keep, o, c.facts, err);
	if (rc == 0)
		rc = write_file(&c);
	*incomplete = c.incomplete;
	ms_recording_close(c.facts);
	ms_trace_close(c.in);
	ms_anonymizer_free(c.out.names);
	cut_writer_free(&c.out);
	keep_free(&c.keep);
	cut_live_clear(&c.live);
	ms_ranges_free(&c.ranges);
	MS_FREE(c.last.v, c.decoder);
	return rc;
}

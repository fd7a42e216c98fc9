/* SPDX-License-Identifier: MIT
 * Writes the cut: copied blocks, changed records, the checkpoint, and events.
 */
#include "cut_write.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/snapshot/anonymize.h"
#include "format/trace.h"

#define LEVEL 3
#define EVENTS_MAX 65536u /* maximum events per block */

int cut_writer_open(struct cut_writer *c, int fd, const struct ms_trace_head *head,
		    struct ms_err *err)
{
	struct ms_trace_head h = *head;
	*c = (struct cut_writer){
		.tick_ns = head->tick_ns, .names = c->names, .input = c->input, .err = err};
	h.hint &= ~MS_FEATURE_ADDRESSES;
	c->w = ms_trace_writer_new(fd, &h, LEVEL, err);
	c->events = ms_xrealloc(NULL, 1, sizeof *c->events);
	c->memory = ms_xrealloc(NULL, MS_EVENT_MEMORY(EVENTS_MAX), 1);
	ms_event_encoder_init(c->events, c->memory, EVENTS_MAX);
	return c->w ? 0 : -1;
}

void cut_writer_free(struct cut_writer *c)
{
	ms_trace_writer_free(c->w);
	MS_FREE(c->events, c->memory);
}

/* ---- names, with --anonymize ---- */

#define KEPT (-1)
#define LEFT_OUT (-2)

/* Lists the names to replace or keep. All other fields with bytes are omitted: environment,
 * build-ids, boot id, successor. */
static const struct {
	uint16_t block;
	uint32_t field;
	int kind; /* how the name is replaced; KEPT = not replaced */
} names[] = {
	{MS_BLOCK_INFO, MS_INFO_EXE, MS_NAME_MODULE},
	{MS_BLOCK_INFO, MS_INFO_ARG, MS_NAME_ARGUMENT},
	{MS_BLOCK_INFO, MS_INFO_HOST, MS_NAME_HOST},
	{MS_BLOCK_INFO, MS_INFO_KERNEL, MS_NAME_KERNEL},
	{MS_BLOCK_INFO, MS_INFO_RECORDER, KEPT},
	{MS_BLOCK_INFO, MS_INFO_CLOCK, KEPT},
	{MS_BLOCK_INFO, MS_INFO_CWD, MS_NAME_PATH},
	{MS_BLOCK_INFO, MS_INFO_SESSION, KEPT},
	{MS_BLOCK_INFO, MS_INFO_CUT, MS_NAME_REMARK},
	{MS_BLOCK_INFO, MS_INFO_CORE, MS_NAME_PATH},
	{MS_BLOCK_INFO, MS_INFO_CORE_LACKS, MS_NAME_REMARK},
	{MS_BLOCK_INFO, MS_INFO_CORE_TRACE, MS_NAME_PATH},
	{MS_BLOCK_MODULES, MS_MODULE_PATH, MS_NAME_MODULE},
	{MS_BLOCK_MODULES, MS_MODULE_FUNCTION, MS_NAME_FUNCTION},
	{MS_BLOCK_THREADS, MS_THREAD_NAME, MS_NAME_THREAD},
	{MS_BLOCK_MARKS, MS_MARK_NAME, MS_NAME_MARK},
	{MS_BLOCK_VERDICTS, MS_VERDICT_LABEL, MS_NAME_POINT},
	{MS_BLOCK_RESIDENT, MS_RESIDENT_LABEL, MS_NAME_POINT},
	{MS_BLOCK_RESIDENT, MS_RESIDENT_FILE, MS_NAME_MODULE},
	{MS_BLOCK_RETENTION, MS_RETENTION_NAME, MS_NAME_FUNCTION},
	{MS_BLOCK_RETENTION, MS_RETENTION_TYPE, MS_NAME_FUNCTION},
	{MS_BLOCK_END, MS_END_ALLOCATOR, MS_NAME_ALLOCATOR},
};

/* Returns the kind of name in a field, which decides how it is anonymized; KEPT or LEFT_OUT
 * otherwise. */
static int kind_of(struct cut_writer *c, uint16_t block, const struct ms_field *f)
{
	if (block == MS_BLOCK_SYMBOLS && f->id == MS_SYM_STRING)
		return c->files[++c->strings] ? MS_NAME_FILE : MS_NAME_FUNCTION;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].block == block && names[i].field == f->id)
			return names[i].kind;
	return LEFT_OUT;
}

/* Sets *text to the replacement for a field of a block of type `block`. Returns false if the field
 * is omitted, like every unknown field that contains bytes. */
static bool other_name(struct cut_writer *c, uint16_t block, const struct ms_field *f,
		       const char **text, uint64_t *size)
{
	int kind = kind_of(c, block, f);
	*text = (const char *)f->data;
	*size = f->size;
	if (kind >= 0) {
		*text = ms_anonymous(c->names, (enum ms_name)kind, *text, f->size);
		*size = strlen(*text);
	}
	return kind != LEFT_OUT;
}

/* Returns the maximum size that `n` bytes of records can have after anonymizing: a name of one
 * letter may be replaced by one as long as "libc-p4000000000.trace". */
static uint64_t names_room(uint64_t n)
{
	enum { LONGEST = 40 };
	return n * LONGEST + 1024;
}

/* Returns which strings of a symbols block are file names, by string number from 1. The caller
 * frees the array. */
static bool *files_of(const struct ms_column *column)
{
	struct ms_record_reader r;
	struct ms_record rec;
	struct ms_field f;
	size_t n = 0;
	ms_record_reader_init(&r, column->data, column->size);
	while (ms_record_next(&r, &rec) == MS_FMT_OK)
		while (ms_record_field(&rec, &f) == MS_FMT_OK)
			n += f.id == MS_SYM_STRING && f.is_bytes;
	bool *files = ms_xcalloc(n + 1, sizeof *files);
	ms_record_reader_init(&r, column->data, column->size);
	while (ms_record_next(&r, &rec) == MS_FMT_OK)
		while (ms_record_field(&rec, &f) == MS_FMT_OK)
			if (f.id == MS_SYM_FILE && !f.is_bytes && f.value <= n)
				files[f.value] = true;
	return files;
}

/* ---- records ---- */

static void copy_bytes(struct cut_writer *c, uint16_t type, struct ms_record_writer *w,
		       const struct ms_field *f)
{
	const char *text;
	uint64_t size;
	if (!c->names)
		ms_record_bytes(w, f->id, f->data, f->size);
	else if (other_name(c, type, f, &text, &size))
		ms_record_bytes(w, f->id, text, size);
}

static void copy_fields(struct cut_writer *c, uint16_t type, struct ms_record_writer *w,
			struct ms_record record, uint64_t skip)
{
	struct ms_field f;
	while (ms_record_field(&record, &f) == MS_FMT_OK) {
		if (f.id < 64 && (skip >> f.id & 1))
			continue;
		if (f.is_bytes)
			copy_bytes(c, type, w, &f);
		else
			ms_record_number(w, f.id, f.value);
	}
}

/* Returns the anonymized records of a block, in malloc'ed memory. NULL = damaged. */
static uint8_t *other_names(struct cut_writer *c, const struct ms_block *b,
			    const struct ms_column *column, uint64_t *size)
{
	struct ms_record_writer w;
	struct ms_record_reader r;
	struct ms_record record;
	enum ms_fmt next;
	bool good = true;
	size_t room = names_room(column->size);
	uint8_t *out = ms_xrealloc(NULL, room, 1);
	c->files = b->type == MS_BLOCK_SYMBOLS ? files_of(column) : NULL;
	c->strings = 0;
	ms_record_writer_init(&w, out, room);
	ms_record_reader_init(&r, column->data, column->size);
	while ((next = ms_record_next(&r, &record)) == MS_FMT_OK) {
		ms_record_begin(&w);
		copy_fields(c, b->type, &w, record, 0);
		good &= ms_record_end(&w);
	}
	free(c->files);
	*size = w.size;
	if (good && next == MS_FMT_END)
		return out;
	free(out);
	return NULL;
}

int cut_damaged(const struct cut_writer *c, const char *what)
{
	return ms_err_set(c->err, "cannot filter '%s': it is damaged (%s)", c->input, what);
}

int cut_copy(struct cut_writer *c, const struct ms_block *b)
{
	const struct ms_column *column = ms_block_column(b, MS_RECORDS_COLUMN);
	if (!c->names || b->type == MS_BLOCK_STACKS || !column)
		return ms_trace_write(c->w, b->type, b->first_ns, b->last_ns, b->columns,
				      b->column_count, c->err);
	uint64_t size;
	uint8_t *records = other_names(c, b, column, &size);
	if (!records)
		return cut_damaged(c, "a record that holds names or paths cannot be read");
	struct ms_column other = {.id = MS_RECORDS_COLUMN, .data = records, .size = size};
	int rc = ms_trace_write(c->w, b->type, b->first_ns, b->last_ns, &other, 1, c->err);
	free(records);
	return rc;
}

int cut_record(struct cut_writer *c, uint16_t type, const struct ms_block *b,
	       struct ms_record record, uint64_t skip, const struct ms_record_writer *more)
{
	struct ms_record_writer w;
	struct ms_record_reader reader;
	struct ms_record added;
	size_t room = (size_t)(record.end - record.at) * 2 + more->size + 1024;
	if (c->names)
		room = names_room(room);
	void *memory = ms_xrealloc(NULL, room, 1);
	ms_record_writer_init(&w, memory, room);
	ms_record_begin(&w);
	copy_fields(c, type, &w, record, skip);
	ms_record_reader_init(&reader, more->data, more->size);
	while (ms_record_next(&reader, &added) == MS_FMT_OK)
		copy_fields(c, type, &w, added, 0);
	int rc = 0;
	if (!ms_record_end(&w))
		rc = cut_damaged(c, "a record is too long");
	struct ms_column column = ms_record_column(&w);
	if (rc == 0)
		rc = ms_trace_write(c->w, type, b->first_ns, b->last_ns, &column, 1, c->err);
	free(memory);
	return rc;
}

/* ---- the checkpoint ---- */

struct ranges_out {
	uint8_t *at;
	uint64_t end;
};

static void put_range(void *arg, const struct ms_range *r)
{
	struct ranges_out *o = arg;
	struct ms_checkpoint_range range = {r->start, r->end - r->start, r->owner};
	o->at = ms_checkpoint_put_range(o->at, o->end, &range);
	o->end = r->end;
}

static size_t put_ranges(struct ms_column *out, size_t n, const struct ms_ranges *ranges,
			 uint8_t **memory)
{
	struct ranges_out o = {0};
	if (!ranges->n)
		return n;
	o.at = *memory = ms_xrealloc(NULL, ranges->n * MS_RANGES_CHUNK, MS_CHECKPOINT_RANGE_BYTES);
	ms_ranges_each(ranges, put_range, &o);
	out[n] = (struct ms_column){MS_LIVE_MAPPED, *memory, (size_t)(o.at - *memory)};
	return n + 1;
}

struct checkpoint {
	struct ms_checkpoint_head head;
	struct cut_live_block *const *blocks;
	size_t n;
	const uint64_t *last;
	size_t threads;
	const struct ms_ranges *ranges;
	bool usable;
};

static int put_part(struct cut_writer *c, const struct checkpoint *k, size_t from, size_t n)
{
	struct ms_checkpoint_encoder e;
	struct ms_column columns[MS_CHECKPOINT_COLUMNS + 1];
	uint8_t *mapped = NULL;
	size_t threads = k->head.part == 0 ? k->threads : 0;
	void *memory = ms_xrealloc(NULL, MS_CHECKPOINT_MEMORY(n, threads), 1);
	int rc = 0;
	ms_checkpoint_begin(&e, memory, n, threads, &k->head, false, k->usable);
	for (size_t i = 0; i < threads; i++)
		ms_checkpoint_put_last(&e, k->last[i]);
	for (size_t i = from; i < from + n && rc == 0; i++) {
		struct ms_checkpoint_block b = k->blocks[i]->b;
		b.number = k->blocks[i]->as;
		if (ms_checkpoint_put(&e, &b) != MS_FMT_OK)
			rc = cut_damaged(c, "its allocations are out of order");
	}
	size_t count = ms_checkpoint_finish(&e, columns);
	if (k->head.part == 0)
		count = put_ranges(columns, count, k->ranges, &mapped);
	uint64_t ns = k->head.tick * c->tick_ns;
	if (rc == 0)
		rc = ms_trace_write(c->w, MS_BLOCK_CHECKPOINT, ns, ns, columns, count, c->err);
	MS_FREE(mapped, memory);
	return rc;
}

int cut_checkpoint(struct cut_writer *c, uint64_t tick, const struct cut_live *live,
		   const uint64_t *last, size_t threads, const struct ms_ranges *ranges)
{
	struct cut_live_block **blocks = cut_live_sorted(live);
	struct checkpoint k = {.head = {.event = c->event, .number = c->number, .tick = tick},
			       .blocks = blocks,
			       .n = live->n,
			       .last = last,
			       .threads = threads,
			       .ranges = ranges};
	int rc = 0;
	k.head.live_blocks = live->n;
	for (size_t i = 0; i < live->n; i++) {
		k.head.live_bytes += blocks[i]->b.size;
		k.usable |= blocks[i]->b.slack != 0;
	}
	k.head.parts = (uint32_t)((live->n + MS_CHECKPOINT_PART - 1) / MS_CHECKPOINT_PART);
	k.head.parts += !k.head.parts;
	for (size_t from = 0; rc == 0 && k.head.part < k.head.parts; k.head.part++) {
		size_t n = live->n - from;
		n = n < MS_CHECKPOINT_PART ? n : MS_CHECKPOINT_PART;
		k.head.count = (uint32_t)n;
		rc = put_part(c, &k, from, n);
		from += n;
	}
	free(blocks);
	return rc;
}

/* ---- events ---- */

int cut_flush(struct cut_writer *c)
{
	struct ms_column columns[MS_EVENT_COLUMNS];
	if (!c->open)
		return 0;
	c->open = false;
	size_t n = ms_event_encoder_finish(c->events, columns);
	return ms_trace_write(c->w, MS_BLOCK_EVENTS, c->first_tick * c->tick_ns,
			      c->last_tick * c->tick_ns, columns, n, c->err);
}

int cut_event(struct cut_writer *c, const struct ms_event *ev)
{
	if (c->open && c->events->count == EVENTS_MAX && cut_flush(c) != 0)
		return -1;
	if (!c->open) {
		ms_event_encoder_begin(c->events, c->number, c->event, ev->time_ticks);
		c->first_tick = ev->time_ticks;
		c->open = true;
	}
	if (ms_event_put(c->events, ev) != MS_FMT_OK)
		return cut_damaged(c, "an invalid event");
	c->last_tick = ev->time_ticks;
	c->number = ms_event_next_number(c->events);
	c->event++;
	c->count++;
	return 0;
}

/* SPDX-License-Identifier: MIT
 * Prints every block, record and event of a trace as text: for the golden tests, and to see what is
 * in a file.
 *
 *   trace-dump [-b] TRACE|-        -b: blocks only, with the sizes of their columns
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/address.h"
#include "format/checkpoint.h"
#include "format/event.h"
#include "format/record.h"
#include "format/stacks.h"
#include "format/trace.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/tracefile.h"

static const char *const types[] = {"?",        "info",       "events", "stacks",   "modules",
				    "threads",  "samples",    "marks",  "losses",   "end",
				    "symbols",  "checkpoint", "index",  "verdicts", "before",
				    "resident", "retention"};
static const char *const kinds[] = {"alloc",         "free",         "realloc",
				    "failed",        "free-unknown", "realloc-unknown",
				    "free-inferred", "ext"};

static struct ms_address_decoder addresses;
static struct ms_event_decoder events;

static void print_event(struct ms_event *ev)
{
	bool releases = ev->kind == MS_EV_FREE || ev->kind == MS_EV_REALLOC ||
			ev->kind == MS_EV_FREE_INFERRED;
	ms_address_next(&addresses, ev);
	printf("  %" PRIu64 " thread %u %s", ev->time_ticks, ev->thread, kinds[ev->kind]);
	bool made = ev->kind == MS_EV_ALLOC || ev->kind == MS_EV_REALLOC ||
		    ev->kind == MS_EV_REALLOC_UNKNOWN;
	if (made)
		printf(" #%" PRIu64, ev->number);
	if (releases)
		printf(" frees #%" PRIu64, ev->freed);
	if (made || ev->kind == MS_EV_FAILED)
		printf(" size %" PRIu64, ev->size);
	if (ev->stack)
		printf(" stack %u", ev->stack);
	if (ev->address)
		printf(" at 0x%" PRIx64, ev->address);
	if (ev->slack)
		printf(" slack %u", ev->slack - 1);
	if (ev->kind == MS_EV_EXT)
		printf(" %u size %" PRIu64 " value %" PRIu64, ev->ext, ev->size, ev->freed);
	putchar('\n');
}

static void dump_events(const struct ms_block *b)
{
	struct ms_event ev;
	enum ms_fmt r = ms_event_decoder_init(&events, b->columns, b->column_count);
	if (r == MS_FMT_OK) {
		printf("  from allocation #%" PRIu64 ", event %" PRIu64 ", tick %" PRIu64
		       ": %" PRIu64 " events\n",
		       events.first_number, events.first_event, events.first_tick, events.count);
		void *memory = calloc(events.count + 1, MS_ADDRESS_DECODER_MEMORY(1));
		if (!memory)
			exit(2);
		ms_address_decoder_begin(&addresses, &events, b->columns, b->column_count, memory);
		while ((r = ms_event_next(&events, &ev)) == MS_FMT_OK)
			print_event(&ev);
		free(memory);
	}
	if (r == MS_FMT_BAD)
		puts("  bad");
}

static void dump_stacks(const struct ms_block *b)
{
	struct ms_stacks_decoder d;
	struct ms_frame f;
	struct ms_node n;
	enum ms_fmt r = ms_stacks_decoder_init(&d, b->columns, b->column_count);
	for (uint32_t i = 0; r == MS_FMT_OK && (r = ms_stacks_next_frame(&d, &f)) == MS_FMT_OK; i++)
		printf("  frame %u module %u 0x%" PRIx64 " flags %u\n", d.first_frame + i, f.module,
		       f.address, f.flags);
	if (r != MS_FMT_BAD)
		r = MS_FMT_OK;
	for (uint32_t i = 0; r == MS_FMT_OK && (r = ms_stacks_next_node(&d, &n)) == MS_FMT_OK; i++)
		printf("  node %u parent %u frame %u\n", d.first_node + i, n.parent, n.frame);
	if (r == MS_FMT_BAD)
		puts("  bad");
}

static void dump_checkpoint(const struct ms_block *b)
{
	struct ms_checkpoint_decoder d;
	struct ms_checkpoint_block v;
	uint64_t number;
	enum ms_fmt r = ms_checkpoint_decoder_init(&d, b->columns, b->column_count), last = r;
	if (r == MS_FMT_OK)
		printf("  before event %" PRIu64 ", allocation #%" PRIu64 ", tick %" PRIu64
		       ": %" PRIu64 " bytes in %" PRIu64 " blocks; part %u of %u: %u blocks\n",
		       d.head.event, d.head.number, d.head.tick, d.head.live_bytes,
		       d.head.live_blocks, d.head.part + 1, d.head.parts, d.head.count);
	while (r == MS_FMT_OK && (r = ms_checkpoint_next(&d, &v)) == MS_FMT_OK) {
		printf("  #%" PRIu64 " size %" PRIu64 " stack %u thread %u tick %" PRIu64, v.number,
		       v.size, v.stack, v.thread, v.tick);
		if (v.address)
			printf(" at 0x%" PRIx64, v.address);
		if (v.slack)
			printf(" slack %u", v.slack - 1);
		putchar('\n');
	}
	for (uint32_t i = 0;
	     last == MS_FMT_OK && (last = ms_checkpoint_next_last(&d, &number)) == MS_FMT_OK; i++)
		if (number != UINT64_MAX)
			printf("  last of thread %u #%" PRIu64 "\n", i, number);
	struct ms_checkpoint_range range;
	enum ms_fmt mapped = last == MS_FMT_END ? MS_FMT_OK : last;
	while (mapped == MS_FMT_OK && (mapped = ms_checkpoint_next_range(&d, &range)) == MS_FMT_OK)
		printf("  mapped 0x%" PRIx64 " size %" PRIu64 " stack %u\n", range.address,
		       range.bytes, range.stack);
	if (r == MS_FMT_BAD || last == MS_FMT_BAD || mapped == MS_FMT_BAD)
		puts("  bad");
}

static void print_bytes(const struct ms_field *f)
{
	putchar('"');
	for (size_t i = 0; i < f->size; i++)
		if (f->data[i] < ' ' || f->data[i] > '~' || f->data[i] == '"' || f->data[i] == '\\')
			printf("\\x%02x", f->data[i]);
		else
			putchar(f->data[i]);
	putchar('"');
}

static void dump_records(const struct ms_column *c)
{
	struct ms_record_reader r;
	struct ms_record rec;
	struct ms_field f;
	enum ms_fmt got, field = MS_FMT_END;
	ms_record_reader_init(&r, c->data, c->size);
	while ((got = ms_record_next(&r, &rec)) == MS_FMT_OK) {
		putchar(' ');
		while ((field = ms_record_field(&rec, &f)) == MS_FMT_OK) {
			printf(" %u=", f.id);
			if (f.is_bytes)
				print_bytes(&f);
			else
				printf("%" PRIu64, f.value);
		}
		puts(field == MS_FMT_BAD ? " bad" : "");
	}
	if (got == MS_FMT_BAD)
		puts("  bad");
}

static void dump_block(const struct ms_block *b, bool brief)
{
	printf("block %u %s", b->number,
	       b->type < sizeof types / sizeof *types ? types[b->type] : "?");
	printf(" (%u) %" PRIu64 "..%" PRIu64 " ns\n", b->type, b->first_ns, b->last_ns);
	if (brief) {
		printf("  at %" PRIu64 ", %" PRIu64 " bytes:", b->offset, b->bytes);
		for (size_t i = 0; i < b->column_count; i++)
			printf(" %u=%zu", b->columns[i].id, b->columns[i].size);
		putchar('\n');
	} else if (b->type == MS_BLOCK_EVENTS) {
		dump_events(b);
	} else if (b->type == MS_BLOCK_STACKS) {
		dump_stacks(b);
	} else if (b->type == MS_BLOCK_CHECKPOINT) {
		dump_checkpoint(b);
	} else if (ms_block_column(b, MS_RECORDS_COLUMN)) {
		dump_records(ms_block_column(b, MS_RECORDS_COLUMN));
	}
}

int main(int argc, char **argv)
{
	static const char *const states[] = {"growing", "ended", "no end"};
	bool brief = argc > 1 && strcmp(argv[1], "-b") == 0;
	struct ms_err err = {0};
	struct ms_block b;
	enum ms_trace_next r;
	if (argc != 2 + brief) {
		fprintf(stderr, "usage: trace-dump [-b] TRACE|-\n");
		return 2;
	}
	struct ms_trace *t = ms_trace_open(argv[1 + brief], &err);
	if (!t) {
		fprintf(stderr, "trace-dump: %s\n", err.text);
		return 2;
	}
	const struct ms_trace_head *h = ms_trace_header(t);
	printf("trace %u.%u machine %u tick %u ns need 0x%" PRIx64 " hint 0x%" PRIx64 "\n",
	       h->major, h->minor, h->machine, h->tick_ns, h->need, h->hint);
	while ((r = ms_trace_next(t, 0, 0, &b, &err)) == MS_NEXT_BLOCK || r == MS_NEXT_DAMAGED)
		if (r == MS_NEXT_DAMAGED)
			printf("damaged: %" PRIu64 " bytes at %" PRIu64 "\n", b.bytes, b.offset);
		else
			dump_block(&b, brief);
	if (r == MS_NEXT_ERROR)
		fprintf(stderr, "trace-dump: %s\n", err.text);
	else
		printf("%s\n", states[ms_trace_state(t)]);
	ms_trace_close(t);
	return r == MS_NEXT_EOF ? 0 : 2;
}

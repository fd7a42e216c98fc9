/* SPDX-License-Identifier: MIT
 * Writes small traces, the same bytes on every machine with the same zstd: what tests/golden/v2 was
 * made with, and what other tests cut, flip and follow.
 *
 *   trace-golden KIND FILE
 *
 *   KIND: full      every kind of block
 *         plain     no addresses
 *         future    unknown blocks, columns, fields
 *         extended  extended events, usable sizes
 *         moments   a checkpoint, an index
 *         verdicts  two leak scans
 *         roots     the same, with what retains the indirect blocks, and where the last one stands
 *         retention two leak scans, and what keeps the blocks of the last one reachable
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../unit/stream.h"
#include "format/address.h"
#include "format/checkpoint.h"
#include "format/record.h"
#include "format/retention.h"
#include "format/stacks.h"
#include "format/trace.h"
#include "format/verdict.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/tracefile.h"

#define EVENTS 300

static struct ms_err err;
static struct ms_trace_writer *writer;
static uint8_t text[4096];
static struct ms_record_writer records = {.data = text, .room = sizeof text};

static void put_block(uint16_t type, const struct ms_column *c, size_t n)
{
	if (ms_trace_write(writer, type, 1000, 2000, c, n, &err) != 0)
		fprintf(stderr, "trace-golden: %s\n", err.text);
}

static void put_records(uint16_t type)
{
	struct ms_column c = ms_record_column(&records);
	put_block(type, &c, 1);
	ms_record_writer_init(&records, text, sizeof text);
}

static void put_info(bool future)
{
	ms_record_begin(&records);
	ms_record_number(&records, MS_INFO_PID, 4711);
	ms_record_string(&records, MS_INFO_EXE, "/usr/bin/example");
	ms_record_string(&records, MS_INFO_ARG, "example");
	ms_record_string(&records, MS_INFO_ARG, "--of=\"this\"");
	if (future) {
		ms_record_string(&records, 1000000, "a field of a later version");
		ms_record_number(&records, 1000001, UINT64_MAX);
	}
	ms_record_number(&records, MS_INFO_START_WALL, UINT64_C(1760000000000000000));
	ms_record_end(&records);
	put_records(MS_BLOCK_INFO);
}

static void put_small_blocks(void)
{
	ms_record_begin(&records);
	ms_record_number(&records, MS_MODULE_ID, 1);
	ms_record_string(&records, MS_MODULE_PATH, "/usr/bin/example");
	ms_record_bytes(&records, MS_MODULE_BUILD_ID, "\x01\x02\xff", 3);
	ms_record_number(&records, MS_MODULE_START, UINT64_C(0x555555554000));
	ms_record_end(&records);
	put_records(MS_BLOCK_MODULES);
	ms_record_begin(&records);
	ms_record_number(&records, MS_THREAD_INDEX, 0);
	ms_record_number(&records, MS_THREAD_TID, 4711);
	ms_record_end(&records);
	put_records(MS_BLOCK_THREADS);
	for (unsigned i = 0; i < 3; i++) {
		ms_record_begin(&records);
		ms_record_number(&records, MS_SAMPLE_TIME, i * UINT64_C(100000000));
		ms_record_number(&records, MS_SAMPLE_RSS, 1000000 * (i + 1));
		ms_record_end(&records);
	}
	put_records(MS_BLOCK_SAMPLES);
	ms_record_begin(&records);
	ms_record_number(&records, MS_MARK_TIME, 150000000);
	ms_record_string(&records, MS_MARK_NAME, "half way");
	ms_record_end(&records);
	put_records(MS_BLOCK_MARKS);
	ms_record_begin(&records);
	ms_record_number(&records, MS_LOSS_COUNT, 3);
	ms_record_number(&records, MS_LOSS_REASON, MS_LOST_OVERFLOW);
	ms_record_end(&records);
	put_records(MS_BLOCK_LOSSES);
}

static void put_stacks(void)
{
	static uint8_t memory[MS_STACKS_MEMORY(64, 64)];
	static struct ms_stacks_encoder e;
	struct ms_column c[MS_STACKS_COLUMNS];
	ms_stacks_encoder_init(&e, memory, 64, 64);
	ms_stacks_encoder_begin(&e, 1, 1);
	for (uint32_t i = 0; i < 20; i++)
		ms_stacks_put_frame(
			&e, &(struct ms_frame){UINT64_C(0x555555554000) + i * 1234567 % 4096, i % 3,
					       i == 19 ? MS_FRAME_CUT : 0});
	for (uint32_t i = 0; i < 30; i++)
		ms_stacks_put_node(&e, &(struct ms_node){i / 2, 1 + i % 20});
	put_block(MS_BLOCK_STACKS, c, ms_stacks_encoder_finish(&e, c));
}

/* Writes what is live in the stream, with stacks and times made up, in two parts. */
static void put_checkpoint(const struct stream *s, uint64_t event)
{
	static uint8_t memory[MS_CHECKPOINT_MEMORY(EVENTS, 4)];
	struct ms_checkpoint_encoder e;
	struct ms_column c[MS_CHECKPOINT_COLUMNS];
	struct ms_checkpoint_head h = {.event = event,
				       .number = s->number,
				       .tick = s->time,
				       .live_blocks = s->n,
				       .parts = 2};
	for (size_t i = 0; i < s->n; i++)
		h.live_bytes += s->live[i].size;
	for (; h.part < 2; h.part++) {
		size_t from = h.part ? s->n / 2 : 0, to = h.part ? s->n : s->n / 2;
		ms_checkpoint_begin(&e, memory, EVENTS, h.part ? 0 : 4, &h, true, true);
		for (unsigned i = 0; i < 4 && !h.part; i++)
			ms_checkpoint_put_last(&e, i == 2 ? UINT64_MAX : s->number - 1 - i);
		for (size_t i = from; i < to; i++) {
			const struct stream_block *b = &s->live[i];
			ms_checkpoint_put(&e, &(struct ms_checkpoint_block){
						      .number = b->number,
						      .size = b->size,
						      .tick = b->number / 10,
						      .address = b->address,
						      .stack = (uint32_t)(b->number * 7 % 30),
						      .thread = b->thread,
						      .slack = 1 + (uint32_t)(b->number % 16)});
		}
		put_block(MS_BLOCK_CHECKPOINT, c, ms_checkpoint_finish(&e, c));
	}
}

static void put_verdicts(bool with_roots)
{
	static const struct ms_verdict_root roots[] = {{7, 1, 1}, {29, 1, UINT64_C(1) << 33}};
	struct ms_verdict_scan asked = {.scan = 1,
					.time_ns = 1200,
					.event = EVENTS,
					.state = MS_SCAN_TIME,
					.pause_ns = 40000000,
					.took_ns = 41000000,
					.wide = true,
					.label = "request",
					.label_size = 7};
	struct ms_verdict_scan end = {.scan = 2,
				      .time_ns = 1900,
				      .event = UINT64_C(3) * EVENTS,
				      .state = MS_SCAN_DONE,
				      .pause_ns = 3000000,
				      .took_ns = 3500000,
				      .read_bytes = UINT64_C(5) << 32,
				      .label = "end",
				      .label_size = 3,
				      .number = with_roots ? 2 * EVENTS : 0};
	ms_verdict_put_scan(&records, &asked);
	ms_verdict_put_site(&records,
			    &(struct ms_verdict_site){1, 3, {[3] = 2}, {[3] = 96}, 0, 0, NULL, 0});
	ms_verdict_put_scan(&records, &end);
	ms_verdict_put_site(&records, &(struct ms_verdict_site){.scan = 2, .blocks = {0, 0, 1}});
	ms_verdict_put_site(
		&records,
		&(struct ms_verdict_site){
			2, 7, {2, 1, 0, 0}, {32, 16, 0, 0}, 6, UINT64_C(1) << 40, NULL, 0});
	ms_verdict_put_site(
		&records,
		&(struct ms_verdict_site){
			2, 29, {1, 2, 3, 4}, {8, 9, 10, 11}, 1, 8, roots, with_roots ? 2 : 0});
	put_records(MS_BLOCK_VERDICTS);
}

static void put_roots(void)
{
	static const struct ms_retention_root roots[] = {
		{2, 1, MS_KEEPER_VARIABLE, 1, 0x4010, 56, 0, 0, 0, "_ZN3Bus8instanceE", 17, "", 0},
		{2, 2, MS_KEEPER_VARIABLE, 1, 0x4048, 8, 0, 0, 1, "g_names", 7, "list<int>", 9},
		{2, 3, MS_KEEPER_SECTION, 1, 0x4100, 512, 0, 0, 0, ".bss", 4, "", 0},
		{2, 4, MS_KEEPER_FRAME, 0, 0, 96, 1, 3, 0, "", 0, "", 0},
		{2, 5, MS_KEEPER_MAPPING, 0, 0, 8 << 20, 0, 7, 0, "", 0, "", 0}};
	static const uint64_t both[] = {1, 3};
	for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
		ms_retention_put_root(&records, &roots[i]);
	ms_retention_put_set(&records, &(struct ms_retention_set){2, 1, false, both, 2});
	ms_retention_put_set(&records, &(struct ms_retention_set){2, 2, true, both, 1});
}

static void put_retention(void)
{
	static const struct ms_retention_step path[] = {
		{7, 2, false}, {0, 3, true}, {29, 1, false}};
	ms_retention_put_head(&records,
			      &(struct ms_retention_head){.scan = 1, .state = MS_SCAN_TIME});
	ms_retention_put_head(&records, &(struct ms_retention_head){2, MS_SCAN_DONE, 1010, 1000, 10,
								    9, 17, 5000, 6});
	put_roots();
	const struct ms_retention_row rows[] = {
		{.row = 1, .root = 1, .retained_bytes = 600, .retained_blocks = 5},
		{.row = 2,
		 .parent = 1,
		 .stack = 7,
		 .bytes = 400,
		 .blocks = 3,
		 .retained_bytes = 600,
		 .retained_blocks = 5,
		 .depth = 3,
		 .type = "_ZTV7Session",
		 .type_size = 12},
		{.row = 3,
		 .parent = 2,
		 .stack = 29,
		 .bytes = 200,
		 .blocks = 2,
		 .retained_bytes = 200,
		 .retained_blocks = 2,
		 .offset = 40,
		 .path_root = 1,
		 .path = path,
		 .path_count = 3,
		 .path_blocks = 2,
		 .path_cut = true},
		{.row = 4, .set = 2, .retained_bytes = 300, .retained_blocks = 3},
		{.row = 5,
		 .parent = 4,
		 .flags = MS_KEPT_MAPPING,
		 .bytes = 300,
		 .blocks = 3,
		 .retained_bytes = 300,
		 .retained_blocks = 3,
		 .mapped_bytes = 8 << 20,
		 .offset = MS_RETENTION_NO_OFFSET},
		{.row = 6,
		 .flags = MS_KEPT_REST,
		 .bytes = 100,
		 .blocks = 1,
		 .retained_bytes = 100,
		 .retained_blocks = 1}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct ms_retention_row r = rows[i];
		r.scan = 2;
		ms_retention_put_row(&records, &r);
	}
	put_records(MS_BLOCK_RETENTION);
}

static void put_events(bool with_addresses, bool future, bool extended, bool moments)
{
	static uint8_t memory[MS_EVENT_MEMORY(EVENTS)];
	static _Alignas(8) uint8_t address_memory[MS_ADDRESS_MEMORY(EVENTS)];
	static struct ms_event_encoder e;
	static struct ms_address_encoder a;
	struct stream s = {.seed = 42,
			   .threads = 4,
			   .no_addresses = !with_addresses,
			   .ext = extended,
			   .usable = extended};
	struct ms_column c[MS_EVENT_COLUMNS + 2];
	ms_event_encoder_init(&e, memory, EVENTS);
	ms_address_encoder_init(&a, address_memory, EVENTS);
	for (unsigned block = 0; block < 3; block++) {
		if (moments && block == 2)
			put_checkpoint(&s, block * EVENTS);
		ms_event_encoder_begin(&e, s.number, block * EVENTS, s.time);
		ms_address_encoder_begin(&a, s.number);
		for (unsigned i = 0; i < EVENTS; i++) {
			struct ms_event ev;
			stream_next(&s, &ev);
			ms_event_put(&e, &ev);
			ms_address_put_many(&a, &ev, 1);
		}
		size_t n = ms_event_encoder_finish(&e, c);
		if (with_addresses)
			c[n++] = ms_address_encoder_finish(&a);
		if (future)
			c[n++] = (struct ms_column){
				40, (const uint8_t *)"a column of a later version", 27};
		put_block(MS_BLOCK_EVENTS, c, n);
		if (future)
			put_block(999,
				  &(struct ms_column){
					  7, (const uint8_t *)"a block of a later version", 26},
				  1);
	}
	stream_end(&s);
}

static uint64_t index_offset;

static void put_end(void)
{
	ms_record_begin(&records);
	if (index_offset)
		ms_record_number(&records, MS_END_INDEX, index_offset);
	ms_record_number(&records, MS_END_TIME, 200000000);
	ms_record_number(&records, MS_END_STATUS, 0);
	ms_record_number(&records, MS_END_EVENTS, 3 * EVENTS);
	ms_record_end(&records);
	put_records(MS_BLOCK_END);
}

static void put_symbols(void)
{
	ms_record_begin(&records);
	ms_record_string(&records, MS_SYM_STRING, "main");
	ms_record_end(&records);
	ms_record_begin(&records);
	ms_record_number(&records, MS_SYM_FRAME, 1);
	ms_record_number(&records, MS_SYM_FUNCTION, 1);
	ms_record_number(&records, MS_SYM_LINE, 12);
	ms_record_end(&records);
	put_records(MS_BLOCK_SYMBOLS);
	put_end();
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	bool future = strcmp(argv[1], "future") == 0, plain = strcmp(argv[1], "plain") == 0,
	     moments = strcmp(argv[1], "moments") == 0;
	struct ms_trace_head h = {.major = MS_TRACE_MAJOR,
				  .minor = future ? 7 : MS_TRACE_MINOR,
				  .hint = (plain ? 0 : MS_FEATURE_ADDRESSES) |
					  (future ? UINT64_C(1) << 50 : 0),
				  .machine = 62,
				  .address_bytes = 8,
				  .tick_ns = MS_TRACE_TICK_NS};
	int fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	writer = fd < 0 ? NULL : ms_trace_writer_new(fd, &h, 3, &err);
	if (!writer)
		return perror(argv[2]), 2;
	put_info(future);
	put_stacks();
	put_small_blocks();
	put_events(!plain, future, strcmp(argv[1], "extended") == 0, moments);
	if (moments)
		ms_trace_write_index(writer, 2000, &index_offset, &err);
	bool roots = strcmp(argv[1], "roots") == 0, retention = strcmp(argv[1], "retention") == 0;
	if (roots || retention || strcmp(argv[1], "verdicts") == 0)
		put_verdicts(roots);
	if (retention)
		put_retention();
	put_end();
	if (!plain)
		put_symbols();
	ms_trace_writer_free(writer);
	return err.text[0] || close(fd) != 0 ? 2 : 0;
}

/* SPDX-License-Identifier: MIT
 * Fuzzes the trace reader on a file in memory, and every decoder behind it. By the first byte,
 * checksums are made to fit before, or the fuzzer would hardly get past them.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "mend.h"
#include "mutate_trace.h"
#include "format/address.h"
#include "format/record.h"
#include "format/stacks.h"
#include "format/trace.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/tracefile.h"

#define LARGEST ((size_t)64 << 10)

static struct ms_event_decoder events;
static struct ms_address_decoder addresses;

static void decode(const struct ms_block *b)
{
	struct ms_event ev;
	struct ms_stacks_decoder stacks;
	struct ms_frame frame;
	struct ms_node node;
	struct ms_record_reader r;
	struct ms_record rec;
	struct ms_field f;
	if (b->type == MS_BLOCK_EVENTS) {
		if (ms_event_decoder_init(&events, b->columns, b->column_count) != MS_FMT_OK)
			return;
		void *blocks = calloc(events.count + 1, MS_ADDRESS_DECODER_MEMORY(1));
		if (!blocks)
			abort();
		ms_address_decoder_begin(&addresses, &events, b->columns, b->column_count, blocks);
		while (ms_event_next(&events, &ev) == MS_FMT_OK)
			ms_address_next(&addresses, &ev);
		free(blocks);
	} else if (b->type == MS_BLOCK_STACKS) {
		if (ms_stacks_decoder_init(&stacks, b->columns, b->column_count) != MS_FMT_OK)
			return;
		while (ms_stacks_next_frame(&stacks, &frame) == MS_FMT_OK)
			;
		while (ms_stacks_next_node(&stacks, &node) == MS_FMT_OK)
			;
	} else if (ms_block_column(b, MS_RECORDS_COLUMN)) {
		const struct ms_column *c = ms_block_column(b, MS_RECORDS_COLUMN);
		ms_record_reader_init(&r, c->data, c->size);
		while (ms_record_next(&r, &rec) == MS_FMT_OK)
			while (ms_record_field(&rec, &f) == MS_FMT_OK)
				;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static uint8_t copy[LARGEST];
	struct ms_err err = {0};
	struct ms_block b;
	enum ms_trace_next r;
	if (n < 1 || n - 1 > LARGEST)
		return 0;
	memcpy(copy, data + 1, n - 1);
	if (data[0] & 1)
		fuzz_mend(copy, n - 1);
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || pwrite(fd, copy, n - 1, 0) != (ssize_t)(n - 1))
		abort();
	struct ms_trace *t = ms_trace_open_fd(fd, "fuzz", NULL, 0, &err);
	if (!t) {
		if (!err.text[0])
			abort();
		close(fd);
		return 0;
	}
	uint64_t at = ms_trace_offset(t);
	while ((r = ms_trace_next(t, 0, 0, &b, &err)) == MS_NEXT_BLOCK || r == MS_NEXT_DAMAGED) {
		/* In order, nothing twice. */
		if (b.offset < at || b.offset + b.bytes > ms_trace_offset(t) ||
		    ms_trace_offset(t) > n - 1)
			abort();
		at = ms_trace_offset(t);
		if (r == MS_NEXT_BLOCK)
			decode(&b);
	}
	if (r != MS_NEXT_EOF || ms_trace_state(t) == MS_TRACE_GROWING)
		abort();
	ms_trace_close(t);
	return 0;
}

/* The first byte is an option of ours. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	if (size < 1 || fuzz_random(&seed, 8) == 0)
		return LLVMFuzzerMutate(data, size, max);
	size_t now = 1 + mutate_trace(data + 1, size - 1, max - 1, &seed);
	if (now > MS_FILE_HEADER_SIZE)
		fuzz_put32(data + 1 + 44, ms_crc32c(0, data + 1, 44));
	return now;
}

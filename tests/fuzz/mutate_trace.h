/* SPDX-License-Identifier: MIT
 * A mutator of traces: blocks are dropped, doubled, changed in their type or in one column, which is
 * unpacked for that, and sealed again.
 */
#pragma once

#include <zstd.h>

#include "format/block.h"
#include "mutate.h"

#define MUTATED_MOST ((size_t)128 << 10)

/* Holds one block with a good directory: what it says, and its columns, unpacked, in a row. */
struct mutated_block {
	struct ms_block_head head;
	struct ms_column_entry columns[MS_BLOCK_COLUMNS_MAX];
	uint8_t raw[MUTATED_MOST];
};

static inline bool unpack_block(struct mutated_block *b, const uint8_t *data, size_t size)
{
	size_t at = 0;
	if (size < MS_BLOCK_HEADER_SIZE || ms_block_header_get(data, &b->head) != MS_FMT_OK ||
	    b->head.payload > size - MS_BLOCK_HEADER_SIZE)
		return false;
	const uint8_t *payload = data + MS_BLOCK_HEADER_SIZE;
	if (ms_block_directory_get(payload, &b->head, b->columns) != MS_FMT_OK ||
	    b->head.raw > MUTATED_MOST)
		return false;
	for (unsigned i = 0; i < b->head.columns; i++) {
		struct ms_column_entry *e = &b->columns[i];
		const uint8_t *from = payload + e->offset;
		if (e->codec == MS_CODEC_RAW)
			memcpy(b->raw + at, from, e->raw);
		else if (ZSTD_decompress(b->raw + at, e->raw, from, e->stored) != e->raw)
			return false;
		e->codec = MS_CODEC_RAW;
		e->stored = e->raw;
		at += e->raw;
	}
	return true;
}

/* Writes it to `out`; 0 = there is no room. */
static inline size_t pack_block(struct mutated_block *b, uint8_t *out, size_t room)
{
	size_t directory = b->head.columns * MS_COLUMN_ENTRY_SIZE, raw = 0;
	for (unsigned i = 0; i < b->head.columns; i++)
		raw += b->columns[i].stored;
	size_t size = MS_BLOCK_HEADER_SIZE + directory + raw;
	if (size > room)
		return 0;
	uint8_t *payload = out + MS_BLOCK_HEADER_SIZE;
	for (unsigned i = 0; i < b->head.columns; i++)
		ms_column_entry_put(payload + i * MS_COLUMN_ENTRY_SIZE, &b->columns[i]);
	memcpy(payload + directory, b->raw, raw);
	b->head.payload = (uint32_t)(directory + raw);
	b->head.raw = (uint32_t)raw;
	b->head.checksum = ms_crc32c(0, payload, b->head.payload);
	ms_block_header_put(out, &b->head);
	return size;
}

static inline void mutate_columns(struct mutated_block *b, unsigned *seed)
{
	unsigned n = b->head.columns, k = n ? (unsigned)fuzz_random(seed, n) : 0;
	size_t raw = 0, before = 0;
	for (unsigned i = 0; i < n; i++) {
		before += i < k ? b->columns[i].raw : 0;
		raw += b->columns[i].raw;
	}
	size_t size = n ? b->columns[k].raw : 0, tail = raw - before - size;
	switch (n ? fuzz_random(seed, 10) : 1) {
	case 0:
		b->columns[k].id = (uint16_t)fuzz_random(seed, 16);
		return;
	case 1:
		b->head.type = (uint16_t)fuzz_random(seed, 18);
		return;
	case 2:
		b->head.first_ns = fuzz_number(seed, b->head.last_ns);
		return;
	case 3:
		b->head.last_ns = fuzz_number(seed, b->head.first_ns);
		return;
	}
	memmove(b->raw + MUTATED_MOST - tail, b->raw + before + size, tail);
	size_t now = fuzz_column(b->raw + before, size, MUTATED_MOST - tail - before, seed);
	memmove(b->raw + before + now, b->raw + MUTATED_MOST - tail, tail);
	b->columns[k].raw = b->columns[k].stored = (uint32_t)now;
}

/* Mutates a block of a file with whole blocks; a file without any is left to libFuzzer. */
static inline size_t mutate_trace(uint8_t *data, size_t size, size_t max, unsigned *seed)
{
	static struct mutated_block b;
	static uint8_t block[MUTATED_MOST];
	size_t starts[256], n = 0;
	for (size_t at = MS_FILE_HEADER_SIZE; at < size && n < 256; at++)
		if ((at = ms_block_scan(data, size, at)) < size)
			starts[n++] = at;
	size_t i = n ? fuzz_random(seed, n) : 0, at = n ? starts[i] : 0;
	if (!n || !unpack_block(&b, data + at, size - at))
		return LLVMFuzzerMutate(data, size, max);
	size_t was = MS_BLOCK_HEADER_SIZE + b.head.payload, now = 0;
	size_t how = fuzz_random(seed, 8);
	if (how > 0) {
		mutate_columns(&b, seed);
		now = pack_block(&b, block, sizeof block);
	}
	size_t cut = how == 1 ? 0 : was; /* 1: a changed copy in front of it; 0: without it */
	if (size - cut + now > max)
		return size;
	memmove(data + at + now, data + at + cut, size - at - cut);
	memcpy(data + at, block, now);
	return size - cut + now;
}

/* SPDX-License-Identifier: MIT
 * Structure-aware mutators: they change a field, a part or the order of parts, and mend the lengths
 * and checksums around it, so that a parser comes to what lies behind its first checks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "format/varint.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
/* libFuzzer's own mutations; replay.c has simple ones. Returns the new size, at most `max`. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

/* A number below `n`, which is above 0. */
static inline size_t fuzz_random(unsigned *seed, size_t n)
{
	*seed = *seed * 1103515245u + 12345u;
	return (*seed >> 8) % n;
}

/* One of the numbers that lengths and counts are wrong at; `near` is what would be right. */
static inline uint64_t fuzz_number(unsigned *seed, uint64_t near)
{
	static const uint64_t odd[] = {0,
				       1,
				       127,
				       128,
				       65535,
				       0x7fffffff,
				       0xffffffff,
				       UINT64_C(1) << 32,
				       UINT64_C(1) << 63,
				       UINT64_MAX};
	size_t i = fuzz_random(seed, sizeof odd / sizeof *odd + 3);
	return i < sizeof odd / sizeof *odd ? odd[i] : near + i - sizeof odd / sizeof *odd - 1;
}

/* Changes `size` bytes of a column, of which there is room for `max`: a varint becomes one of the
 * odd numbers, or whatever libFuzzer makes of them. Returns the new size. */
static inline size_t fuzz_column(uint8_t *data, size_t size, size_t max, unsigned *seed)
{
	if (!size || fuzz_random(seed, 3))
		return max ? LLVMFuzzerMutate(data, size, max) : 0;
	size_t at = fuzz_random(seed, size), end = at;
	while (end < size && data[end] & 0x80)
		end++;
	end += end < size;
	uint8_t v[16];
	size_t n = (size_t)(ms_varint_put(v, fuzz_number(seed, data[at] & 0x7f)) - v);
	if (size - (end - at) + n > max)
		return size;
	memmove(data + at + n, data + end, size - end);
	memcpy(data + at, v, n);
	return size - (end - at) + n;
}

/* ---- { tag, length low, length high, bytes } repeated ---- */

static inline size_t fuzz_part_end(const uint8_t *data, size_t size, size_t at)
{
	size_t n = data[at + 1] | (size_t)data[at + 2] << 8;
	return n > size - at - 3 ? size : at + 3 + n;
}

static inline void fuzz_part_length(uint8_t *part, size_t n)
{
	part[1] = (uint8_t)n;
	part[2] = (uint8_t)(n >> 8);
}

/* Mutates one of the parts of a part, `depth` deep; the bytes of the innermost are columns. */
static inline size_t fuzz_parts(uint8_t *data, size_t size, size_t max, unsigned *seed,
				unsigned depth)
{
	size_t starts[64], n = 0;
	for (size_t at = 0; at + 3 <= size && n < 64; at = fuzz_part_end(data, size, at))
		starts[n++] = at;
	if (!n)
		return LLVMFuzzerMutate(data, size, max);
	size_t at = starts[fuzz_random(seed, n)], end = fuzz_part_end(data, size, at),
	       part = end - at;
	switch (fuzz_random(seed, 8)) {
	case 0: /* without it */
		memmove(data + at, data + end, size - end);
		return size - part;
	case 1: /* twice */
		if (size + part > max)
			break;
		memmove(data + end, data + at, size - at);
		return size + part;
	case 2: /* another kind */
		data[at] = (uint8_t)fuzz_random(seed, 20);
		return size;
	}
	size_t most = max - size < 65535 - (part - 3) ? max - size + part - 3 : 65535;
	size_t tail = size - end, now;
	memmove(data + max - tail, data + end, tail); /* room in between */
	most = most < max - tail - at - 3 ? most : max - tail - at - 3;
	if (depth > 1)
		now = fuzz_parts(data + at + 3, part - 3, most, seed, depth - 1);
	else
		now = fuzz_column(data + at + 3, part - 3, most, seed);
	fuzz_part_length(data + at, now);
	memmove(data + at + 3 + now, data + max - tail, tail);
	return at + 3 + now + tail;
}

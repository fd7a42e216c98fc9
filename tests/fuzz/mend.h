/* SPDX-License-Identifier: MIT
 * Checksums of a trace made to fit, or a fuzzer would hardly get past them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "format/block.h"

static inline void fuzz_put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static inline void fuzz_mend(uint8_t *data, size_t n)
{
	if (n < MS_FILE_HEADER_SIZE)
		return;
	fuzz_put32(data + 44, ms_crc32c(0, data, 44));
	for (size_t at = 48; (at = ms_block_scan(data, n, at)) + MS_BLOCK_HEADER_SIZE <= n;) {
		uint8_t *h = data + at, *payload = h + MS_BLOCK_HEADER_SIZE;
		size_t size = h[32] | (size_t)h[33] << 8, left = n - at - MS_BLOCK_HEADER_SIZE;
		if (size > left)
			size = left;
		fuzz_put32(h + 32, (uint32_t)size);
		fuzz_put32(h + 40, ms_crc32c(0, payload, size));
		fuzz_put32(h + 44, ms_crc32c(0, h, 44));
		at += MS_BLOCK_HEADER_SIZE + size;
	}
}

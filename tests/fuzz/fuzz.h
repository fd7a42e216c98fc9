/* SPDX-License-Identifier: MIT
 * What fuzz targets share: the entry point, and columns from the bytes of a fuzzer.
 */
#pragma once

#include "format/column.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* { number, length low, length high, bytes } repeated. */
static inline size_t columns_of(const uint8_t *data, size_t n, struct ms_column *out, size_t max)
{
	size_t count = 0;
	for (size_t at = 0; at + 3 <= n && count < max; count++) {
		size_t size = data[at + 1] | (size_t)data[at + 2] << 8;
		if (size > n - at - 3)
			size = n - at - 3;
		out[count] = (struct ms_column){data[at], data + at + 3, size};
		at += 3 + size;
	}
	return count;
}

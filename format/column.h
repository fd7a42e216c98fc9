/* SPDX-License-Identifier: MIT
 * What the parts of the trace format share: a column of bytes and the results of coding.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One column of a block, uncompressed. A records block has one column, number 1. Borrowed memory.
 */
struct ms_column {
	uint32_t id;
	const uint8_t *data;
	size_t size;
};

/* Results of format/. The values are pinned. */
enum ms_fmt {
	MS_FMT_OK = 0,
	MS_FMT_END = 1,   /* no further item */
	MS_FMT_FULL = 2,  /* encoding: no room; nothing was written */
	MS_FMT_BAD = 3,   /* decoding: the bytes cannot mean anything */
	MS_FMT_SHORT = 4, /* decoding: more bytes are needed */
	MS_FMT_NEWER =
		5, /* decoding: a newer major version, or a needed feature that is not known */
};

/* From a list of columns, X(name, member, bytes): where the region of each begins in memory of that
 * many bytes for each item, AT_name. */
#define MS_COLUMN_AT(id, member, bytes) AT_##id, AT_##id##_LAST = AT_##id + (bytes)-1,

/* The column of that number, or NULL. */
static inline const struct ms_column *ms_column_find(const struct ms_column *c, size_t n,
						     uint32_t id)
{
	for (size_t i = 0; i < n; i++)
		if (c[i].id == id)
			return &c[i];
	return NULL;
}

/* Adds the column of the bytes from `from` to `to`, unless it is empty, to the `n` of `out`.
 * Returns how many there are then. */
static inline size_t ms_column_add(struct ms_column *out, size_t n, uint32_t id,
				   const uint8_t *from, const uint8_t *to)
{
	if (from == to)
		return n;
	out[n] = (struct ms_column){id, from, (size_t)(to - from)};
	return n + 1;
}

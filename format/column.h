/* SPDX-License-Identifier: MIT
 * Declarations shared by the parts of the trace format: a column of bytes and the result codes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Holds one uncompressed column of a block, in borrowed memory. A records block has one column,
 * number 1. */
struct ms_column {
	uint32_t id;
	const uint8_t *data;
	size_t size;
};

/* Result codes of format/. Their values never change. */
enum ms_fmt {
	MS_FMT_OK = 0,
	MS_FMT_END = 1,   /* no further item */
	MS_FMT_FULL = 2,  /* encoding: no room, and nothing was written */
	MS_FMT_BAD = 3,   /* decoding: the bytes are invalid */
	MS_FMT_SHORT = 4, /* decoding: more bytes are needed */
	MS_FMT_NEWER =
		5, /* decoding: a newer major version, or an unknown feature that is required */
};

/* Defines, for each column X(name, member, bytes) of a list, the constant AT_name: the offset of
 * the column's region, which must be multiplied by the number of items. */
#define MS_COLUMN_AT(id, member, bytes) AT_##id, AT_##id##_LAST = AT_##id + (bytes)-1,

/* Returns the column with that number, or NULL. */
static inline const struct ms_column *ms_column_find(const struct ms_column *c, size_t n,
						     uint32_t id)
{
	for (size_t i = 0; i < n; i++)
		if (c[i].id == id)
			return &c[i];
	return NULL;
}

/* Appends a column of the bytes from `from` to `to` to the `n` columns in `out`, unless it is
 * empty. Returns the new number of columns. */
static inline size_t ms_column_add(struct ms_column *out, size_t n, uint32_t id,
				   const uint8_t *from, const uint8_t *to)
{
	if (from == to)
		return n;
	out[n] = (struct ms_column){id, from, (size_t)(to - from)};
	return n + 1;
}

/* SPDX-License-Identifier: MIT
 * Varints: 7 bits per byte, low bits first, high bit = more bytes follow. At most 10 bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "column.h"

#define MS_VARINT_MAX 10

/* Writes `v` at `p`, which has room for MS_VARINT_MAX bytes. Returns the end. */
static inline uint8_t *ms_varint_put(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* Writes `n` varints. Returns the end. */
static inline uint8_t *ms_varints_put(uint8_t *p, const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p = ms_varint_put(p, v[i]);
	return p;
}

/* Reads the rest of a varint of more than one byte. */
static inline bool ms_varint_get_long(const uint8_t **p, const uint8_t *end, uint64_t *v)
{
	uint64_t x = 0;
	const uint8_t *q = *p;
	for (unsigned shift = 0; shift < 64 && q < end; shift += 7) {
		uint8_t b = *q++;
		if (shift == 63 && b > 1)
			return false;
		x |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80) {
			*p = q;
			*v = x;
			return true;
		}
	}
	return false;
}

/* Reads a varint at *p, and moves *p past it. Returns false if it is truncated at `end` or above 64
 * bits; *p is then unchanged. *p can be a register variable of the caller, since its address is
 * passed to inline functions only. */
static inline bool ms_varint_get(const uint8_t **p, const uint8_t *end, uint64_t *v)
{
	const uint8_t *at = *p;
	uint64_t x;
	if (at < end && *at < 0x80) {
		*v = *at;
		*p = at + 1;
		return true;
	}
	if (!ms_varint_get_long(&at, end, &x))
		return false;
	*p = at;
	*v = x;
	return true;
}

/* Holds the range of bytes still to be read. */
struct ms_cursor {
	const uint8_t *at, *end;
};

/* Returns a cursor over a column; an absent column is empty. */
static inline struct ms_cursor ms_cursor_of(const struct ms_column *v, size_t n, uint32_t id)
{
	const struct ms_column *c = ms_column_find(v, n, id);
	return c ? (struct ms_cursor){c->data, c->data + c->size} : (struct ms_cursor){NULL, NULL};
}

static inline bool ms_cursor_get(struct ms_cursor *c, uint64_t *v)
{
	return ms_varint_get(&c->at, c->end, v);
}

static inline bool ms_cursor_get_all(struct ms_cursor *c, uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!ms_cursor_get(c, &v[i]))
			return false;
	return true;
}

/* Maps small numbers of either sign to small unsigned ones (zigzag). The argument is a difference
 * modulo 2^64. */
static inline uint64_t ms_zigzag(uint64_t d)
{
	return (d << 1) ^ (0 - (d >> 63));
}
static inline uint64_t ms_unzigzag(uint64_t z)
{
	return (z >> 1) ^ (0 - (z & 1));
}

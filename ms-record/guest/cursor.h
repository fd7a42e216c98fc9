/* SPDX-License-Identifier: MIT
 * Reads bytes of a module within bounds: a read outside returns 0 and marks the cursor bad.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cursor {
	uint64_t at, end;
	uint64_t low, high; /* the segment */
	bool bad;
};

static inline uint64_t bytes(struct cursor *c, unsigned n)
{
	if (c->bad || !c->at || c->end - c->at < n) { /* 0 is not a valid address */
		c->bad = true;
		c->at = c->end;
		return 0;
	}
	uint64_t v = 0;
	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t) * (const uint8_t *)(c->at + i) << (8 * i);
	c->at += n;
	return v;
}

static inline int64_t bytes_signed(struct cursor *c, unsigned n)
{
	unsigned shift = 64 - 8 * n;
	return (int64_t)(bytes(c, n) << shift) >> shift;
}

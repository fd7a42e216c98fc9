/* SPDX-License-Identifier: MIT
 * Implements a packed list of blocks in order of allocation number.
 */
#include "packed.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"

#define PART_BYTES ((size_t)32768 - 32)
/* most bytes of a packed block: 2, and the largest of `lengths` for each column */
#define BLOCK_MAX 46u
#define BEYOND 48u /* bytes after a block that may be read or copied as padding */

enum column { STEP, TICK, ADDRESS, SIZE, STACK, THREAD, SLACK, COLUMNS };

/* Maps a column and a 2-bit code to the encoded length of a value in bytes. STEP takes 0 bytes if
 * the number is the previous one + 1. */
static const uint8_t lengths[COLUMNS][4] = {
	[STEP] = {0, 1, 3, 8},  [TICK] = {0, 1, 2, 8},  [ADDRESS] = {0, 2, 4, 8},
	[SIZE] = {1, 2, 4, 8},  [STACK] = {1, 2, 3, 4}, [THREAD] = {0, 1, 2, 4},
	[SLACK] = {0, 1, 2, 4},
};

struct packed_part {
	struct packed_part *next;
	size_t used;
	uint8_t bytes[PART_BYTES + BLOCK_MAX + BEYOND];
};

void packed_free(struct packed_list *l)
{
	for (struct packed_part *p = l->first; p;) {
		struct packed_part *next = p->next;
		free(p);
		p = next;
	}
	*l = (struct packed_list){0};
}

/* ---- one block ---- */

/* Returns the address for the next block, in a new part if the last one is full. */
static uint8_t *room(struct packed_list *l)
{
	if (!l->last || l->last->used >= PART_BYTES) {
		struct packed_part *p = ms_xrealloc(NULL, 1, sizeof *p);
		p->next = NULL;
		p->used = 0;
		if (l->last)
			l->last->next = p;
		else
			l->first = p;
		l->last = p;
	}
	return l->last->bytes + l->last->used;
}

static void put(struct packed_list *l, const uint64_t v[COLUMNS])
{
	uint8_t *at = room(l), *to = at + 2;
	unsigned head = 0;
#pragma GCC unroll 8
	for (unsigned c = 0; c < COLUMNS; c++) {
		unsigned code = 0;
		while (code < 3 && v[c] >> 8 * lengths[c][code])
			code++;
		memcpy(to, &v[c], 8);
		to += lengths[c][code];
		head |= code << 2 * c;
	}
	at[0] = (uint8_t)head;
	at[1] = (uint8_t)(head >> 8);
	l->last->used += (size_t)(to - at);
}

static unsigned head_of(const uint8_t *at)
{
	return at[0] | (unsigned)at[1] << 8;
}

/* Returns the value at `at`, which has `bytes` bytes. */
static uint64_t value(const uint8_t *at, unsigned bytes)
{
	uint64_t v;
	memcpy(&v, at, 8);
	return bytes == 8 ? v : v & ((UINT64_C(1) << 8 * bytes) - 1);
}

/* Unpacks the block at `at` into `v`. Returns the address behind it. */
static const uint8_t *get(const uint8_t *at, uint64_t v[COLUMNS])
{
	unsigned head = head_of(at);
	at += 2;
#pragma GCC unroll 8
	for (unsigned c = 0; c < COLUMNS; c++, head >>= 2) {
		v[c] = value(at, lengths[c][head & 3]);
		at += lengths[c][head & 3];
	}
	return at;
}

void packed_add(struct packed_list *l, const struct ms_checkpoint_block *b)
{
	put(l, (uint64_t[COLUMNS]){
		       [STEP] = l->blocks ? b->number - l->number - 1 : b->number,
		       [TICK] = ms_zigzag(b->tick - l->tick),
		       [ADDRESS] = ms_zigzag(b->address - l->address),
		       [SIZE] = b->size,
		       [STACK] = b->stack,
		       [THREAD] = b->thread,
		       [SLACK] = b->slack,
	       });
	l->number = b->number;
	l->tick = b->tick;
	l->address = b->address;
	l->blocks++;
	l->bytes += b->size;
}

/* ---- all ---- */

struct packed_cursor packed_begin(const struct packed_list *l)
{
	return (struct packed_cursor){.block.number = UINT64_MAX, .part = l->first};
}

bool packed_next(struct packed_cursor *c)
{
	uint64_t v[COLUMNS];
	if (c->part && c->at == c->part->bytes + c->part->used) {
		c->part = c->part->next;
		c->at = NULL;
	}
	if (!c->part)
		return false;
	c->at = get(c->at ? c->at : c->part->bytes, v);
	c->block =
		(struct ms_checkpoint_block){.number = c->block.number + v[STEP] + 1,
					     .size = v[SIZE],
					     .tick = c->block.tick + ms_unzigzag(v[TICK]),
					     .address = c->block.address + ms_unzigzag(v[ADDRESS]),
					     .stack = (uint32_t)v[STACK],
					     .thread = (uint32_t)v[THREAD],
					     .slack = (uint32_t)v[SLACK]};
	return true;
}

/* ---- taking out ---- */

/* Holds the state of one pass that rebuilds the list without the removed blocks. */
struct removal {
	struct packed_list *to;
	const uint64_t *numbers, *end;
	uint64_t number;               /* number of the previous block */
	uint64_t steps, tick, address; /* sums over the blocks removed since the last kept one */
	bool gap;                      /* blocks were removed since the last kept one */
	/* Total length of four columns in bytes, by index and value of a byte of the head. */
	uint8_t bytes[2][256];
};

static void fill_lengths(uint8_t bytes[2][256])
{
	for (unsigned c = 0; c < COLUMNS; c++)
		for (unsigned i = 0; i < 256; i++)
			bytes[c / 4][i] += lengths[c][i >> 2 * (c % 4) & 3];
}

/* Removes a block. */
static void leave_out(struct removal *r, const uint8_t *at)
{
	uint64_t v[COLUMNS];
	get(at, v);
	r->steps += v[STEP] + 1;
	r->tick += ms_unzigzag(v[TICK]);
	r->address += ms_unzigzag(v[ADDRESS]);
	r->gap = true;
	r->to->blocks--;
	r->to->bytes -= v[SIZE];
}

/* Keeps a block that follows removed blocks. Its differences then refer to the last kept block. */
static void close_gap(struct removal *r, const uint8_t *at)
{
	uint64_t v[COLUMNS];
	get(at, v);
	v[STEP] += r->steps;
	v[TICK] = ms_zigzag(ms_unzigzag(v[TICK]) + r->tick);
	v[ADDRESS] = ms_zigzag(ms_unzigzag(v[ADDRESS]) + r->address);
	put(r->to, v);
	r->steps = r->tick = r->address = 0;
	r->gap = false;
}

static void walk(struct removal *r, const struct packed_part *p)
{
	const uint8_t *end = p->bytes + p->used;
	size_t length;
	for (const uint8_t *at = p->bytes; at < end; at += length) {
		unsigned head = head_of(at);
		length = 2u + r->bytes[0][head & 255] + r->bytes[1][head >> 8];
		r->number += value(at + 2, lengths[STEP][head & 3]) + 1;
		while (r->numbers < r->end && *r->numbers < r->number)
			r->numbers++;
		if (r->numbers < r->end && *r->numbers == r->number) {
			leave_out(r, at);
		} else if (r->gap) {
			close_gap(r, at);
		} else {
			memcpy(room(r->to), at, BEYOND);
			r->to->last->used += length;
		}
	}
}

size_t packed_remove(struct packed_list *l, const uint64_t *numbers, size_t n)
{
	struct removal r = {.to = l, .numbers = numbers, .end = numbers + n, .number = UINT64_MAX};
	struct packed_part *p = l->first, *next;
	size_t before = l->blocks;
	fill_lengths(r.bytes);
	l->first = l->last = NULL;
	for (; p; p = next) {
		next = p->next;
		walk(&r, p);
		free(p);
	}
	/* The next block to be added follows the last kept one. */
	l->number -= r.steps;
	l->tick -= r.tick;
	l->address -= r.address;
	return before - l->blocks;
}

/* SPDX-License-Identifier: MIT
 * Streams of events for the tests of the trace format: made from a seed, the same on every machine.
 *
 * The live blocks are kept with address and size, as ms-record and a reader keep them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/event.h"

struct stream_block {
	uint64_t number, address, size;
	uint32_t thread;
};

struct stream {
	uint64_t seed;
	unsigned threads; /* 1 and up */
	bool wild;        /* extreme sizes, addresses and threads; no program does this */
	bool no_addresses;
	bool ext, usable; /* extended events; usable sizes */
	uint64_t number, time, brk;
	uint64_t recycled[64]; /* by size class: one address freed last */
	struct stream_block *live;
	size_t n, room;
	struct stream_block old; /* what the last event released; address 0 and size 0 = nothing */
};

static inline uint64_t stream_random(struct stream *s)
{
	s->seed += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t z = s->seed;
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* A number with a random count of bits: the extremes come often. */
static inline uint64_t stream_extreme(struct stream *s)
{
	uint64_t r = stream_random(s);
	unsigned bits = (unsigned)(stream_random(s) % 65);
	uint64_t v = bits == 0 ? 0 : r >> (64 - bits);
	return stream_random(s) % 16 == 0 ? ~v : v;
}

static inline uint64_t stream_address(struct stream *s, uint64_t size)
{
	unsigned class = (unsigned)(size / 16 % 64);
	uint64_t a = s->recycled[class];
	if (s->no_addresses || (s->wild && stream_random(s) % 16 == 0))
		return s->wild ? stream_extreme(s) : 0;
	if (a && stream_random(s) % 8) {
		s->recycled[class] = 0;
		return a;
	}
	a = UINT64_C(0x555555559000) + s->brk;
	s->brk += (size % (UINT64_C(1) << 40) + 8 + 15) & ~UINT64_C(15);
	return a;
}

static inline void stream_release(struct stream *s, struct ms_event *ev)
{
	size_t i = stream_random(s) % 3 ? s->n - 1 - stream_random(s) % (s->n < 8 ? s->n : 8)
					: stream_random(s) % s->n;
	s->old = s->live[i];
	memmove(&s->live[i], &s->live[i + 1], (s->n - i - 1) * sizeof *s->live);
	s->n--;
	ev->freed = s->old.number;
	s->recycled[s->old.size / 16 % 64] = s->old.address;
}

static inline void stream_allocate(struct stream *s, struct ms_event *ev)
{
	ev->address = ev->kind == MS_EV_REALLOC && stream_random(s) % 2
			      ? s->old.address
			      : stream_address(s, ev->size);
	ev->number = s->number++;
	if (s->n == s->room &&
	    !(s->live = realloc(s->live, (s->room = s->room * 2 + 64) * sizeof *s->live)))
		abort();
	s->live[s->n++] = (struct stream_block){ev->number, ev->address, ev->size, ev->thread};
}

/* A step of a made-up program: stacks follow each other in loops, each with sizes of its own. */
static inline void stream_site(struct stream *s, struct ms_event *ev)
{
	static const uint16_t sizes[] = {24, 40, 100, 1024, 16, 4000, 0, 72};
	uint64_t r = stream_random(s);
	unsigned step = (unsigned)(s->number % 24);
	ev->stack = 1 + step * 3 + (r % 16 == 0) * (unsigned)(r >> 8) % 500;
	ev->size = r >> 20 & 7 ? sizes[ev->stack % 8] : (r >> 32) % 3000;
	if (s->wild && r >> 60 == 0)
		ev->size = stream_extreme(s);
	if (s->wild && r >> 60 == 1)
		ev->stack = (uint32_t)stream_extreme(s);
}

static inline void stream_next(struct stream *s, struct ms_event *ev)
{
	uint64_t r = stream_random(s);
	unsigned what = (unsigned)(r % 64);
	*ev = (struct ms_event){.thread = (uint32_t)(r >> 32) % s->threads};
	s->old = (struct stream_block){0};
	if (s->wild && r >> 56 == 0)
		ev->thread = (uint32_t)stream_extreme(s);
	if ((r >> 16 & 63) == 0)
		s->time += s->wild ? stream_extreme(s) >> 8 : r >> 24 & 7;
	ev->time_ticks = s->time;
	ev->kind = what < 30   ? MS_EV_ALLOC
		   : what < 55 ? MS_EV_FREE
		   : what < 59 ? MS_EV_REALLOC
			       : (uint8_t)(what - 57 + (s->ext && what == 63));
	if (s->n == 0 && (ev->kind == MS_EV_FREE || ev->kind == MS_EV_REALLOC ||
			  ev->kind == MS_EV_FREE_INFERRED))
		ev->kind = MS_EV_ALLOC;
	if (ev->kind == MS_EV_FREE || ev->kind == MS_EV_REALLOC || ev->kind == MS_EV_FREE_INFERRED)
		stream_release(s, ev);
	if (ev->kind == MS_EV_ALLOC || ev->kind == MS_EV_REALLOC || ev->kind == MS_EV_FAILED ||
	    ev->kind == MS_EV_REALLOC_UNKNOWN)
		stream_site(s, ev);
	else if (s->wild && what == 31)
		ev->stack = (uint32_t)(r >> 40);
	if (ev->kind == MS_EV_ALLOC || ev->kind == MS_EV_REALLOC ||
	    ev->kind == MS_EV_REALLOC_UNKNOWN)
		stream_allocate(s, ev);
	if (ev->kind == MS_EV_EXT) {
		ev->ext = (uint8_t)(MS_EXT_INHERITED + (r >> 50) % 3);
		ev->stack = (uint32_t)(r >> 40);
		ev->size = stream_extreme(s);
		ev->freed = stream_extreme(s);
		ev->address = s->no_addresses ? 0 : stream_extreme(s);
	}
	bool makes = ev->kind == MS_EV_ALLOC || ev->kind == MS_EV_REALLOC ||
		     ev->kind == MS_EV_REALLOC_UNKNOWN;
	if (s->usable && makes)
		ev->slack = 1 + (uint32_t)(-ev->size & 15);
	if (ev->kind == MS_EV_FREE_UNKNOWN)
		ev->address = s->no_addresses ? 0 : stream_extreme(s);
}

static inline void stream_end(struct stream *s)
{
	free(s->live);
	s->live = NULL;
}

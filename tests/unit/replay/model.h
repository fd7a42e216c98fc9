/* SPDX-License-Identifier: MIT
 * Random events of all kinds, and a naive model of the live heap, which keeps all blocks that ever were
 * and knows of each when it was live.
 */
#pragma once

#include "libcommon/replay/replay_cells.h"
#include "libcommon/replay/replay_mapped.h"
#include "libcommon/replay/replay_private.h"

#include "format/trace.h"
#include "tests/unit/held.h"
#include "tests/unit/equal.h"
#include "tests/unit/stream.h"

#include <stdio.h>

#define EVENTS 1500u
#define SITES 10u /* stacks, of which each is a site; higher ones are unknown, and as none */
#define ALL SITES /* where figures of sites are kept, those of all of them */
#define THREADS 4u
#define PAGES 24u /* of address space that is mapped and unmapped */
#define MOMENTS 70u

enum { BESIDE = 1, BEGINS = 2, BY_EVENT = 4, MANY_MOMENTS = 8, FAR_APART = 16, OPTIONS = 32 };

struct block {
	uint64_t number, size, tick, slack, between;
	uint32_t stack, thread;
	size_t born, died; /* by which event, counted from 0 */
	bool freed, temporary;
};

static struct ms_replay r;
static struct ms_event events[EVENTS];
static bool bad[EVENTS];
static struct block blocks[EVENTS];
static size_t made;
/* Holds the figures of each site, after so many events. */
static uint64_t bytes[SITES + 1][EVENTS + 1], live[SITES + 1][EVENTS + 1],
	slack[SITES + 1][EVENTS + 1], mapped[SITES + 1][EVENTS + 1];
static size_t begin, peak; /* counted from so many events on; most was live after so many */
static uint64_t begin_tick, end_tick;

/* ---- events ---- */

static void extend(struct stream *s, struct ms_event *ev)
{
	static const uint8_t kinds[] = {MS_EXT_INHERITED, MS_EXT_MAP,       MS_EXT_UNMAP,
					MS_EXT_BACKING,   MS_EXT_UNBACKING, MS_EXT_BEFORE};
	uint64_t q = stream_random(s), page = (q >> 40) % PAGES;
	*ev = (struct ms_event){.kind = MS_EV_EXT,
				.ext = kinds[q % 6],
				.stack = q >> 8 & 15,
				.size = q >> 16 & 1023,
				.freed = q >> 32 & 3,
				.thread = ev->thread,
				.time_ticks = ev->time_ticks};
	if (ev->ext == MS_EXT_MAP || ev->ext == MS_EXT_UNMAP) {
		ev->address = (page + 1) * 4096;
		ev->size = (q >> 50) % (PAGES - page + 1) * 4096;
	}
}

static void spoil(struct ms_event *ev, uint64_t how, uint64_t newest, uint64_t next)
{
	if (how % 3 == 0 && newest)
		ev->time_ticks = newest - 1;
	else if (how % 3 == 1 && next && ms_event_allocates(ev->kind))
		ev->number = next - 1;
	else
		ev->thread = MS_REPLAY_THREADS_MAX;
}

static void make_events(struct stream *s, unsigned options)
{
	uint64_t newest = 0, next = 0;
	for (size_t i = 0; i < EVENTS; i++) {
		struct ms_event *ev = &events[i];
		uint64_t q = stream_random(s);
		s->number += q % 40 ? 0 : q >> 8 & 255;
		if (q >> 20 & 1)
			s->time += options & FAR_APART && (q >> 21) % 64 == 0 ? q >> 40 & 4095 : 1;
		stream_next(s, ev);
		if ((q >> 30) % 8 == 0 && ev->kind == MS_EV_FREE)
			extend(s, ev);
		else if (ev->kind != MS_EV_EXT)
			ev->stack %= SITES + 1;
		if (ev->kind == MS_EV_FREE && (q >> 40) % 20 == 0)
			ev->freed = (q >> 44) % (s->number + 1);
		if (ms_event_allocates(ev->kind))
			ev->slack = options & BESIDE ? q >> 50 & 31 : 0;
		bad[i] = (q >> 56) % 64 == 0;
		if (bad[i])
			spoil(ev, q >> 62, newest, next);
		else
			newest = ev->time_ticks;
		if (!bad[i] && ms_event_allocates(ev->kind))
			next = ev->number + 1;
	}
	end_tick = newest + stream_random(s) % 100;
}

/* ---- the naive model ---- */

static uint32_t site_of(uint32_t stack)
{
	return stack < SITES ? stack : 0;
}

static struct block *find(uint64_t number)
{
	for (size_t i = made; i-- > 0;)
		if (blocks[i].number == number)
			return blocks[i].died == SIZE_MAX ? &blocks[i] : NULL;
	return NULL;
}

static void apply(size_t i, uint64_t last[THREADS])
{
	const struct ms_event *ev = &events[i];
	struct block *b = ms_event_releases(ev->kind) ? find(ev->freed) : NULL;
	if (b) {
		b->died = i;
		b->freed = ev->kind != MS_EV_FREE_INFERRED;
		b->temporary = b->freed && last[ev->thread] == b->number + 1;
		b->between = blocks[made - 1].number - b->number;
	}
	if (!ms_event_allocates(ev->kind))
		return;
	blocks[made++] = (struct block){.number = ev->number,
					.size = ev->size,
					.tick = ev->time_ticks,
					.slack = ev->slack > 1 ? ev->slack - 1 : 0,
					.stack = site_of(ev->stack),
					.thread = ev->thread,
					.born = i,
					.died = SIZE_MAX};
	last[ev->thread] = ev->number + 1;
}

/* Whose each page is, stack + 1; and how many were taken away by half an mremap. */
static struct {
	uint32_t owner[PAGES + 1], held[SITES][THREADS];
} space;

static void apply_mapping(const struct ms_event *ev)
{
	bool map = ev->ext == MS_EXT_MAP, half = ev->freed & MS_MAP_REMAP;
	for (uint32_t i = 0; map && half && i < SITES; i++)
		space.held[i][ev->thread] = 0;
	for (uint64_t at = ev->address; at < ev->address + ev->size; at += 4096) {
		uint32_t *owner = &space.owner[at / 4096];
		if (*owner && !map && half)
			space.held[*owner - 1][ev->thread]++;
		*owner = map ? site_of(ev->stack) + 1 : 0;
	}
}

static bool is_mapping(size_t i)
{
	return !bad[i] && events[i].kind == MS_EV_EXT &&
	       (events[i].ext == MS_EXT_MAP || events[i].ext == MS_EXT_UNMAP);
}

static bool alive(const struct block *b, size_t at)
{
	return b->born < at && b->died >= at;
}

/* All that is said by site, after `at` events. */
static void draw(size_t at)
{
	for (size_t i = 0; i < made; i++) {
		const struct block *b = &blocks[i];
		for (uint32_t k = b->stack; alive(b, at) && k <= ALL; k += ALL - k ? ALL - k : 1) {
			bytes[k][at] += b->size;
			live[k][at]++;
			slack[k][at] += b->slack;
		}
	}
	for (uint32_t p = 1; p <= PAGES; p++)
		if (space.owner[p])
			mapped[space.owner[p] - 1][at] += 4096;
	for (uint32_t k = 0; k < SITES; k++) {
		for (uint32_t t = 0; t < THREADS; t++)
			mapped[k][at] += space.held[k][t] * 4096;
		mapped[ALL][at] += mapped[k][at];
	}
}

static void run_naive(void)
{
	uint64_t last[THREADS] = {0};
	made = 0;
	memset(&space, 0, sizeof space);
	memset(bytes, 0, sizeof bytes);
	memset(live, 0, sizeof live);
	memset(slack, 0, sizeof slack);
	memset(mapped, 0, sizeof mapped);
	for (size_t i = 0; i < EVENTS; i++) {
		if (!bad[i])
			apply(i, last);
		if (is_mapping(i))
			apply_mapping(&events[i]);
		draw(i + 1);
	}
	peak = begin;
	for (size_t at = begin; at <= EVENTS; at++)
		peak = bytes[ALL][at] > bytes[ALL][peak] ? at : peak;
}

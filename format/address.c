/* SPDX-License-Identifier: MIT
 * Codes addresses of blocks as distances from a guess.
 */
#include "address.h"

#include <stdbool.h>
#include <string.h>

#include "trace.h"
#include "varint.h"

/* Unit of distances, in bytes. Each allocation has a varint: its distance in units, rounded down,
 * zigzag-encoded and shifted left by one. If the low bit is 1, a second varint follows: the
 * remainder in bytes. */
#define UNIT 16u
#define UNIT_SHIFT 4u

static void begin(struct ms_address_model *m, uint64_t first_number)
{
	m->first_number = first_number;
	m->made = 0;
	memset(m->end, 0, sizeof m->end);
	memset(m->freed, 0, sizeof m->freed);
}

static uint64_t *freed_of(struct ms_address_model *m, uint32_t thread, uint64_t size)
{
	return &m->freed[((size + 7) / UNIT + thread * UINT64_C(211)) % MS_ADDRESS_FREED];
}

/* Returns the block that the event frees; NULL = it was not allocated in this event block. */
static const struct ms_address_block *released(const struct ms_address_model *m,
					       const struct ms_event *ev)
{
	uint64_t i = ev->freed - m->first_number;
	return ms_event_releases(ev->kind) && ev->freed >= m->first_number && i < m->made
		       ? &m->blocks[i]
		       : NULL;
}

static uint64_t guess(struct ms_address_model *m, const struct ms_event *ev,
		      const struct ms_address_block *old)
{
	uint64_t freed = *freed_of(m, ev->thread, ev->size);
	if (old && old->address)
		return old->address;
	return freed ? freed : m->end[ev->thread % MS_EVENT_THREAD_SLOTS];
}

/* Updates the state from which addresses are predicted. */
static void note(struct ms_address_model *m, const struct ms_event *ev)
{
	const struct ms_address_block *old = released(m, ev);
	uint64_t was = old ? old->address : 0, was_size = old ? old->size : 0;
	if (ms_event_allocates(ev->kind)) {
		uint64_t *freed = freed_of(m, ev->thread, ev->size);
		m->blocks[m->made++] = (struct ms_address_block){ev->address, ev->size};
		if (*freed == ev->address)
			*freed = 0;
		/* Malloc implementations put a word before a block and round up, so the next block
		 * is likely to begin at this address. */
		m->end[ev->thread % MS_EVENT_THREAD_SLOTS] =
			ev->address + ((ev->size + 7) / UNIT + 1) * UNIT;
	}
	if (was && !(ms_event_allocates(ev->kind) && ev->address == was))
		*freed_of(m, ev->thread, was_size) = was;
}

/* ---- encoder ---- */

void ms_address_encoder_init(struct ms_address_encoder *e, void *memory, size_t max_events)
{
	e->m.blocks = memory;
	e->begin = (uint8_t *)memory + MS_ADDRESS_DECODER_MEMORY(max_events);
	ms_address_encoder_begin(e, 0);
}

void ms_address_encoder_begin(struct ms_address_encoder *e, uint64_t first_number)
{
	begin(&e->m, first_number);
	e->end = e->begin;
}

static void put(struct ms_address_encoder *e, const struct ms_event *ev)
{
	uint64_t d = ev->address - guess(&e->m, ev, released(&e->m, ev)), rest = d % UNIT;
	uint64_t units = (uint64_t)((int64_t)d >> UNIT_SHIFT);
	e->end = ms_varint_put(e->end, ms_zigzag(units) << 1 | (rest != 0));
	if (rest)
		*e->end++ = (uint8_t)rest;
}

void ms_address_put_many(struct ms_address_encoder *e, const struct ms_event *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (ms_event_allocates(v[i].kind))
			put(e, &v[i]);
		note(&e->m, &v[i]);
	}
}

struct ms_column ms_address_encoder_finish(struct ms_address_encoder *e)
{
	return (struct ms_column){MS_COL_ADDRESS, e->begin, (size_t)(e->end - e->begin)};
}

/* ---- decoder ---- */

void ms_address_decoder_begin(struct ms_address_decoder *d, const struct ms_event_decoder *b,
			      const struct ms_column *columns, size_t n, void *memory)
{
	d->m.blocks = memory;
	d->from = ms_cursor_of(columns, n, MS_COL_ADDRESS);
	begin(&d->m, b->first_number);
}

/* Reads one address. Returns false if the column is damaged, or at its end. */
static bool get(struct ms_address_decoder *d, struct ms_event *ev)
{
	uint64_t v, rest = 0;
	if (!ms_cursor_get(&d->from, &v) || (v & 1 && !ms_cursor_get(&d->from, &rest)))
		return false;
	ev->address =
		guess(&d->m, ev, released(&d->m, ev)) + ms_unzigzag(v >> 1) * UNIT + rest % UNIT;
	return true;
}

void ms_address_next(struct ms_address_decoder *d, struct ms_event *ev)
{
	if (d->from.at == d->from.end)
		return;
	if (ms_event_allocates(ev->kind) && !get(d, ev))
		d->from = (struct ms_cursor){NULL, NULL};
	else
		note(&d->m, ev);
}

/* SPDX-License-Identifier: MIT
 * Codes of addresses that the model of the heap foresees, or that it is told.
 */
#include "address_heap.h"

#include "varint.h"

/* Codes; the first four are enum ms_heap_way. */
#define CODE_UNKNOWN 4u /* not recorded */
#define CODE_FAR 5u     /* distance (zigzag varint) from the end of the last block so, / 16 */
#define CODE_FAR_ODD 6u /* the same, in bytes */
#define CODE_LIST 7u    /* varint: place in the list that the arena would look into first */
#define CODE_CACHE 8u   /* + place in the cache, from the newest */

static inline uint64_t *anchor_of(uint64_t *anchors, const struct ms_heap_call *c)
{
	return &anchors[c->thread];
}

static inline uint64_t end_of(const struct ms_heap_call *c, uint64_t address)
{
	return address + UINT64_C(16) * c->granules;
}

/* ---- encoder ---- */

static void put_far(struct ms_address_encoder *e, const struct ms_heap_call *c, uint64_t address)
{
	uint64_t *anchor = anchor_of(e->m.anchor, c), distance = address - *anchor;
	bool odd = distance & 15;
	*e->code++ = odd ? CODE_FAR_ODD : CODE_FAR;
	e->far = ms_varint_put(e->far,
			       ms_zigzag(odd ? distance : (uint64_t)((int64_t)distance >> 4)));
	*anchor = end_of(c, address);
	ms_heap_take_at(&e->heap, c, address);
}

/* An address that the model did not foresee. */
static void put_told(struct ms_address_encoder *e, const struct ms_heap_call *c, uint64_t address)
{
	int place = ms_heap_cache_find(&e->heap, c, address);
	if (place >= 0) {
		*e->code++ = (uint8_t)(CODE_CACHE + (unsigned)place);
		ms_heap_take_cached(&e->heap, c, (uint32_t)place);
		return;
	}
	place = ms_heap_list_find(&e->heap, c, address);
	if (place < 0) {
		put_far(e, c, address);
		return;
	}
	*e->code++ = CODE_LIST;
	e->far = ms_varint_put(e->far, (uint64_t)place);
	ms_heap_take_at(&e->heap, c, address);
}

bool ms_address_heap_put(struct ms_address_encoder *e, const struct ms_event *ev,
			 uint64_t old_address, uint64_t old_size)
{
	struct ms_heap_call c;
	uint64_t address = ev->address;
	ms_heap_begin(&e->heap, &c, ev, old_address, old_size);
	if (!address) {
		*e->code++ = CODE_UNKNOWN;
		return true;
	}
	enum ms_heap_way way;
	if (c.realloc && address == old_address) {
		way = MS_HEAP_STAYS;
	} else if (ms_heap_cache_at(&e->heap, &c, 0) == address) {
		way = MS_HEAP_CACHED_BLOCK;
	} else if (ms_heap_ask(&e->heap, &c) == address) {
		way = MS_HEAP_ARENA;
	} else {
		put_told(e, &c, address);
		return false;
	}
	*e->code++ = (uint8_t)(way == c.expected ? MS_HEAP_EXPECTED : way);
	ms_heap_take(&e->heap, &c, way);
	return true;
}

/* ---- decoder ---- */

static bool get_told(struct ms_address_decoder *d, const struct ms_heap_call *c, unsigned code,
		     uint64_t *address)
{
	uint64_t v = 0;
	if (code >= CODE_CACHE) {
		*address = ms_heap_cache_at(&d->heap, c, code - CODE_CACHE);
		if (*address)
			ms_heap_take_cached(&d->heap, c, code - CODE_CACHE);
		return *address;
	}
	if (!ms_varint_get(&d->far, d->far_end, &v))
		return false;
	if (code == CODE_LIST) {
		*address = v <= UINT32_MAX ? ms_heap_list_at(&d->heap, c, (uint32_t)v) : 0;
	} else {
		uint64_t *anchor = anchor_of(d->m.anchor, c);
		*address = *anchor + ms_unzigzag(v) * (code == CODE_FAR ? 16 : 1);
		*anchor = end_of(c, *address);
	}
	if (*address)
		ms_heap_take_at(&d->heap, c, *address);
	return *address;
}

bool ms_address_heap_get(struct ms_address_decoder *d, const struct ms_event *ev,
			 uint64_t old_address, uint64_t old_size, uint64_t *address)
{
	struct ms_heap_call c;
	if (d->code == d->code_end)
		return false;
	unsigned code = *d->code++;
	ms_heap_begin(&d->heap, &c, ev, old_address, old_size);
	if (code == CODE_UNKNOWN)
		return true;
	unsigned way = code == MS_HEAP_EXPECTED ? c.expected : code;
	if (way == MS_HEAP_STAYS)
		*address = c.realloc ? old_address : 0;
	else if (way == MS_HEAP_CACHED_BLOCK)
		*address = ms_heap_cache_at(&d->heap, &c, 0);
	else
		*address = ms_heap_ask(&d->heap, &c);
	if (way > MS_HEAP_ARENA)
		return get_told(d, &c, code, address);
	if (*address)
		ms_heap_take(&d->heap, &c, (enum ms_heap_way)way);
	return *address;
}

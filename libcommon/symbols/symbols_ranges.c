/* SPDX-License-Identifier: MIT
 * The address ranges of entries of split units, in the formats of DWARF 4 and 5.
 */
#include "symbols_split.h"

#include <dwarf.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "symbols_dwarf.h"

struct reader {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t fixed(struct reader *r, size_t n)
{
	uint64_t v = 0;
	if ((size_t)(r->end - r->at) < n) {
		r->bad = true;
		return 0;
	}
	memcpy(&v, r->at, n);
	r->at += n;
	return v;
}

static uint64_t leb(struct reader *r)
{
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = (uint8_t)fixed(r, 1);
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	r->bad = true;
	return 0;
}

static uint64_t indexed(const struct ms_split_ranges *s, struct reader *r)
{
	uint64_t i = leb(r), v;
	if (i >= s->address.size / sizeof v) {
		r->bad = true;
		return 0;
	}
	memcpy(&v, s->address.data + i * sizeof v, sizeof v);
	return v;
}

static void read_old(struct reader *r, uint64_t base, struct ms_ranges *out)
{
	while (!r->bad) {
		uint64_t low = fixed(r, 8), high = fixed(r, 8);
		if (r->bad || (!low && !high))
			return;
		if (low == UINT64_MAX)
			base = high;
		else
			ms_ranges_add_code(out, base + low, base + high);
	}
}

static void read_new(const struct ms_split_ranges *s, struct reader *r, struct ms_ranges *out)
{
	uint64_t base = s->base, low;
	while (!r->bad) {
		switch (fixed(r, 1)) {
		case DW_RLE_end_of_list:
			return;
		case DW_RLE_base_addressx:
			base = indexed(s, r);
			break;
		case DW_RLE_startx_endx:
			low = indexed(s, r);
			ms_ranges_add_code(out, low, indexed(s, r));
			break;
		case DW_RLE_startx_length:
			low = indexed(s, r);
			ms_ranges_add_code(out, low, low + leb(r));
			break;
		case DW_RLE_offset_pair:
			low = base + leb(r);
			ms_ranges_add_code(out, low, base + leb(r));
			break;
		case DW_RLE_base_address:
			base = fixed(r, 8);
			break;
		case DW_RLE_start_end:
			low = fixed(r, 8);
			ms_ranges_add_code(out, low, fixed(r, 8));
			break;
		case DW_RLE_start_length:
			low = fixed(r, 8);
			ms_ranges_add_code(out, low, low + leb(r));
			break;
		default:
			r->bad = true;
		}
	}
}

/* Where the list of an attribute begins in s->list; UINT64_MAX = nowhere. */
static uint64_t offset_of(const struct ms_split_ranges *s, Dwarf_Attribute *a)
{
	/* No number ends behind the last section of the image, which more follows. */
	struct reader r = {a->valp, a->valp + 10, false};
	unsigned form = dwarf_whatform(a);
	if (form == DW_FORM_rnglistx) {
		uint64_t i = leb(&r), at = s->list_base + i * 4;
		uint32_t v;
		if (r.bad || i > UINT32_MAX || at + sizeof v > s->list.size)
			return UINT64_MAX;
		memcpy(&v, s->list.data + at, sizeof v);
		return s->list_base + v;
	}
	if (form != DW_FORM_sec_offset && form != DW_FORM_data4)
		return UINT64_MAX;
	return fixed(&r, 4) + (s->version < 5 ? s->list_base : 0);
}

bool ms_split_die_ranges(const struct ms_split_ranges *s, Dwarf_Die *die, struct ms_ranges *out)
{
	Dwarf_Attribute a;
	if (!dwarf_attr(die, DW_AT_ranges, &a))
		return false;
	uint64_t at = offset_of(s, &a);
	if (at >= s->list.size)
		return false;
	struct reader r = {s->list.data + at, s->list.data + s->list.size, false};
	if (s->version < 5)
		read_old(&r, s->base, out);
	else
		read_new(s, &r, out);
	return !r.bad;
}

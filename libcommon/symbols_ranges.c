/* SPDX-License-Identifier: MIT
 * Address ranges of DWARF entries: low and high pc, .debug_ranges, .debug_rnglists.
 *
 * The lists are read here and not by libdwarf, which in its version of 2021 searches all headers of
 * .debug_rnglists for each list.
 */
#include "symbols_dwarf.h"

#include <stdlib.h>
#include <string.h>

#include "symbols_read.h"

/* More ranges than this in one list are nonsense. */
enum { MAX_RANGES = 1 << 20 };

uint64_t ms_indexed_address(const struct ms_unit_base *b, uint64_t index)
{
	if (index > UINT32_MAX)
		return 0;
	struct ms_bytes c = ms_bytes_of(b->elf, ".debug_addr", b->addr_base + index * 8);
	return ms_get_fixed(&c, 8);
}

/* The linker leaves 0, or all ones (and all ones but one), where it removed the code. */
static void add(struct ms_ranges *out, uint64_t low, uint64_t high)
{
	if (low && low < high && high < UINT64_MAX - 1 && out->n < MAX_RANGES)
		*MS_PUSH(out) = (struct ms_range){low, high};
}

static void read_ranges_4(const struct ms_unit_base *b, uint64_t offset, struct ms_ranges *out)
{
	struct ms_bytes c = ms_bytes_of(b->elf, ".debug_ranges", offset);
	uint64_t base = b->low;
	for (unsigned i = 0; i < MAX_RANGES && !c.bad; i++) {
		uint64_t low = ms_get_fixed(&c, 8), high = ms_get_fixed(&c, 8);
		if (c.bad || (!low && !high))
			return;
		if (low == UINT64_MAX)
			base = high;
		else if (low != high)
			add(out, base + low, base + high);
	}
}

static void read_ranges_5(const struct ms_unit_base *b, uint64_t offset, struct ms_ranges *out)
{
	struct ms_bytes c = ms_bytes_of(b->elf, ".debug_rnglists", offset);
	uint64_t base = b->low, x, y;
	for (unsigned i = 0; i < MAX_RANGES && !c.bad; i++) {
		switch (ms_get_fixed(&c, 1)) {
		case DW_RLE_base_addressx:
			base = ms_indexed_address(b, ms_get_varint(&c));
			break;
		case DW_RLE_startx_endx:
			x = ms_indexed_address(b, ms_get_varint(&c));
			add(out, x, ms_indexed_address(b, ms_get_varint(&c)));
			break;
		case DW_RLE_startx_length:
			x = ms_indexed_address(b, ms_get_varint(&c));
			add(out, x, x + ms_get_varint(&c));
			break;
		case DW_RLE_offset_pair:
			x = ms_get_varint(&c);
			y = ms_get_varint(&c);
			add(out, base + x, base + y);
			break;
		case DW_RLE_base_address:
			base = ms_get_fixed(&c, 8);
			break;
		case DW_RLE_start_end:
			x = ms_get_fixed(&c, 8);
			add(out, x, ms_get_fixed(&c, 8));
			break;
		case DW_RLE_start_length:
			x = ms_get_fixed(&c, 8);
			add(out, x, x + ms_get_varint(&c));
			break;
		default: /* DW_RLE_end_of_list, or damage */
			return;
		}
	}
}

void ms_die_ranges(const struct ms_unit_base *b, const struct ms_die *die, struct ms_ranges *out)
{
	if (die->has_ranges && b->version < 5) {
		read_ranges_4(b, die->ranges, out);
	} else if (die->has_ranges && die->ranges_form == DW_FORM_rnglistx) {
		if (die->ranges > UINT32_MAX)
			return;
		struct ms_bytes c =
			ms_bytes_of(b->elf, ".debug_rnglists", b->rnglists_base + die->ranges * 4);
		read_ranges_5(b, b->rnglists_base + ms_get_fixed(&c, 4), out);
	} else if (die->has_ranges) {
		read_ranges_5(b, die->ranges, out);
	} else if (die->has_low && die->has_high) {
		add(out, die->low, die->high_is_offset ? die->low + die->high : die->high);
	}
}

void ms_arange_sets(struct ms_elf *elf,
		    void (*each)(void *arg, uint64_t unit, const struct ms_ranges *r), void *arg)
{
	struct ms_bytes all = ms_bytes_of(elf, ".debug_aranges", 0);
	struct ms_ranges r = {0};
	while (!all.bad && all.p < all.end) {
		uint64_t length = ms_get_fixed(&all, 4);
		unsigned wide = length == UINT32_MAX ? 8 : 4;
		if (wide == 8)
			length = ms_get_fixed(&all, 8);
		if (all.bad || length > (uint64_t)(all.end - all.p))
			break;
		const uint8_t *start = all.p - (wide == 8 ? 12 : 4);
		struct ms_bytes c = {.p = all.p, .end = all.p + length};
		all.p += length;
		uint64_t version = ms_get_fixed(&c, 2), unit = ms_get_fixed(&c, wide),
			 sizes = ms_get_fixed(&c, 2);
		if (c.bad || version != 2 || sizes != 8) /* addresses of 8 bytes, no segments */
			continue;
		/* Pairs are aligned to their own size from the start of the set. */
		for (size_t used = (size_t)(c.p - start); used % 16; used++)
			ms_get_fixed(&c, 1);
		r.n = 0;
		while (!c.bad && c.end - c.p >= 16) {
			uint64_t low = ms_get_fixed(&c, 8), size = ms_get_fixed(&c, 8);
			add(&r, low, low + size);
		}
		each(arg, unit, &r);
	}
	free(r.v);
}

struct ms_unit_base ms_unit_base(struct ms_elf *elf, Dwarf_Die die, const struct ms_die *facts)
{
	Dwarf_Half version = 4, offset_size = 4;
	dwarf_get_version_of_die(die, &version, &offset_size);
	return (struct ms_unit_base){.elf = elf,
				     .version = version,
				     .low = facts->low,
				     .addr_base = facts->addr_base,
				     .rnglists_base = facts->rnglists_base};
}

/* ---- attributes ---- */

bool ms_dwarf_ok(Dwarf_Debug dbg, int rc, Dwarf_Error *e)
{
	if (rc == DW_DLV_ERROR && *e)
		dwarf_dealloc_error(dbg, *e);
	*e = NULL;
	return rc == DW_DLV_OK;
}

static bool number_of(Dwarf_Debug dbg, Dwarf_Attribute a, uint64_t *out)
{
	Dwarf_Error e = NULL;
	Dwarf_Unsigned u;
	Dwarf_Signed s;
	if (ms_dwarf_ok(dbg, dwarf_formudata(a, &u, &e), &e)) {
		*out = u;
		return true;
	}
	if (!ms_dwarf_ok(dbg, dwarf_formsdata(a, &s, &e), &e))
		return false;
	*out = (uint64_t)s;
	return true;
}

/* An offset into another section, or an index into a table of them. */
static bool offset_of(Dwarf_Debug dbg, Dwarf_Attribute a, uint64_t *out)
{
	Dwarf_Error e = NULL;
	Dwarf_Off off;
	if (!ms_dwarf_ok(dbg, dwarf_global_formref(a, &off, &e), &e))
		return number_of(dbg, a, out);
	*out = off;
	return true;
}

static bool address_of(Dwarf_Debug dbg, Dwarf_Attribute a, uint64_t *out)
{
	Dwarf_Error e = NULL;
	Dwarf_Addr address;
	if (!ms_dwarf_ok(dbg, dwarf_formaddr(a, &address, &e), &e))
		return false;
	*out = address;
	return true;
}

static uint32_t small_number(Dwarf_Debug dbg, Dwarf_Attribute a)
{
	uint64_t v = 0;
	return number_of(dbg, a, &v) && v < UINT32_MAX ? (uint32_t)v : 0;
}

static bool is_address_form(Dwarf_Half form)
{
	return form == DW_FORM_addr || form == DW_FORM_addrx || form == DW_FORM_GNU_addr_index ||
	       (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4);
}

static void read_attribute(Dwarf_Debug dbg, Dwarf_Attribute a, struct ms_die *out)
{
	Dwarf_Error e = NULL;
	Dwarf_Half what = 0, form = 0;
	if (!ms_dwarf_ok(dbg, dwarf_whatattr(a, &what, &e), &e) ||
	    !ms_dwarf_ok(dbg, dwarf_whatform(a, &form, &e), &e))
		return;
	switch (what) {
	case DW_AT_low_pc:
		out->has_low = address_of(dbg, a, &out->low);
		break;
	case DW_AT_high_pc:
		out->high_is_offset = !is_address_form(form);
		out->has_high = (out->high_is_offset ? number_of : address_of)(dbg, a, &out->high);
		break;
	case DW_AT_ranges:
		out->ranges_form = form;
		out->has_ranges =
			(form == DW_FORM_rnglistx ? number_of : offset_of)(dbg, a, &out->ranges);
		break;
	case DW_AT_call_file:
		out->call_file = small_number(dbg, a);
		break;
	case DW_AT_call_line:
		out->call_line = small_number(dbg, a);
		break;
	case DW_AT_call_column:
		out->call_column = small_number(dbg, a);
		break;
	case DW_AT_stmt_list:
		out->has_lines = offset_of(dbg, a, &out->lines);
		break;
	case DW_AT_language:
		out->language = small_number(dbg, a);
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		offset_of(dbg, a, &out->addr_base);
		break;
	case DW_AT_rnglists_base:
		offset_of(dbg, a, &out->rnglists_base);
		break;
	default:
		break;
	}
}

void ms_die_read(Dwarf_Debug dbg, Dwarf_Die die, struct ms_die *out)
{
	*out = (struct ms_die){0};
	Dwarf_Error e = NULL;
	Dwarf_Attribute *list = NULL;
	Dwarf_Signed n = 0;
	if (!ms_dwarf_ok(dbg, dwarf_attrlist(die, &list, &n, &e), &e))
		return;
	for (Dwarf_Signed i = 0; i < n; i++) {
		read_attribute(dbg, list[i], out);
		dwarf_dealloc_attribute(list[i]);
	}
	dwarf_dealloc(dbg, list, DW_DLA_LIST);
}

const char *ms_die_text(Dwarf_Debug dbg, Dwarf_Die die, Dwarf_Half attribute)
{
	Dwarf_Error e = NULL;
	Dwarf_Attribute a = NULL;
	char *text = NULL;
	if (!ms_dwarf_ok(dbg, dwarf_attr(die, attribute, &a, &e), &e))
		return NULL;
	if (!ms_dwarf_ok(dbg, dwarf_formstring(a, &text, &e), &e))
		text = NULL;
	dwarf_dealloc_attribute(a);
	/* libdwarf's own words for strings in a supplementary file that it does not have */
	return text && *text && strncmp(text, "<DW_FORM", 8) ? text : NULL;
}

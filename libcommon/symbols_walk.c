/* SPDX-License-Identifier: MIT
 * The functions of one unit: walks the tree of entries, and steps over all that holds no code.
 *
 * It is read here and not by libdwarf, which allocates every entry and attribute: a big binary has
 * tens of millions, of which one in ten is a function or a call that was inlined.
 */
#include "symbols_dwarf.h"

#include <stdlib.h>
#include <string.h>

#include "symbols_read.h"

/* Limits that only damaged or hostile files reach. */
enum { MAX_DEPTH = 256, MAX_ENTRIES = 1 << 26, MAX_INDIRECT = 4 };

/* Numbers given after this libdwarf's header was written. */
enum { LANG_C_PLUS_PLUS_17 = 0x2a, LANG_C_PLUS_PLUS_20 = 0x2b, LANG_C17 = 0x2c };

/* ---- abbreviations: what entries of a kind look like ---- */

struct spec {
	uint32_t attribute, form;
	int64_t implicit;
};

struct abbreviation {
	uint64_t code;
	enum { PASS, THROUGH, FUNCTION } what; /* pass over, look for functions in it, is one */
	bool children, inlined;
	uint32_t first, n; /* of its specs */
	int32_t fixed;     /* bytes of all attributes, when that is always the same; else -1 */
	int32_t sibling;   /* index of DW_AT_sibling, or -1 */
};

struct walker {
	struct ms_bytes c;
	const uint8_t *info, *unit; /* start of the section, of the unit */
	const struct ms_unit_base *base;
	unsigned version, offset_bytes;
	bool types_hold_code;
	struct {
		struct abbreviation *v;
		size_t n, cap;
	} abbreviations;
	struct {
		struct spec *v;
		size_t n, cap;
	} specs;
	struct ms_ranges ranges; /* scratch */
	struct ms_tree *out;
	size_t entries;
};

/* C and C++ define their functions outside of types; Rust, D and Ada do not. */
static bool types_hold_code(uint32_t language)
{
	switch (language) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case LANG_C17:
	case LANG_C_PLUS_PLUS_17:
	case LANG_C_PLUS_PLUS_20:
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_Mips_Assembler:
		return false;
	default:
		return true;
	}
}

static int what_is(const struct walker *w, uint64_t tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
		return FUNCTION;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
		return THROUGH;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return w->types_hold_code ? THROUGH : PASS;
	default:
		return PASS;
	}
}

/* Bytes of a form that always has the same; -1 = they differ. */
static int fixed_size(const struct walker *w, uint32_t form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_addr:
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_ref_addr:
		return w->version == 2 ? 8 : (int)w->offset_bytes;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return (int)w->offset_bytes;
	default:
		return -1;
	}
}

static void add_abbreviation(struct walker *w, struct ms_bytes *c, uint64_t code)
{
	uint64_t tag = ms_get_varint(c);
	struct abbreviation a = {.code = code,
				 .what = what_is(w, tag),
				 .inlined = tag == DW_TAG_inlined_subroutine,
				 .children = ms_get_fixed(c, 1) != 0,
				 .first = (uint32_t)w->specs.n,
				 .sibling = -1};
	while (!c->bad && w->specs.n < INT32_MAX) {
		uint64_t attribute = ms_get_varint(c), form = ms_get_varint(c);
		if (!attribute && !form)
			break;
		int64_t implicit = form == DW_FORM_implicit_const ? ms_get_signed(c) : 0;
		int size = form <= UINT32_MAX ? fixed_size(w, (uint32_t)form) : -1;
		a.fixed = size < 0 || a.fixed < 0 || a.fixed > 1 << 20 ? -1 : a.fixed + size;
		if (attribute == DW_AT_sibling)
			a.sibling = (int32_t)a.n;
		*MS_PUSH(&w->specs) =
			(struct spec){attribute > UINT32_MAX ? 0 : (uint32_t)attribute,
				      form > UINT32_MAX ? 0 : (uint32_t)form, implicit};
		a.n++;
	}
	*MS_PUSH(&w->abbreviations) = a;
}

static int by_code(const void *a, const void *b)
{
	const struct abbreviation *x = a, *y = b;
	return x->code < y->code ? -1 : x->code > y->code;
}

static void read_abbreviations(struct walker *w, uint64_t offset)
{
	struct ms_bytes c = ms_bytes_of(w->base->elf, ".debug_abbrev", offset);
	uint64_t code, before = 0;
	bool sorted = true;
	while ((code = ms_get_varint(&c)) && !c.bad) {
		sorted &= code > before;
		before = code;
		add_abbreviation(w, &c, code);
	}
	if (!sorted)
		qsort(w->abbreviations.v, w->abbreviations.n, sizeof *w->abbreviations.v, by_code);
}

/* Compilers number them from 1. */
static const struct abbreviation *abbreviation_of(struct walker *w, uint64_t code)
{
	const struct abbreviation *v = w->abbreviations.v, key = {.code = code};
	if (code - 1 < w->abbreviations.n && v[code - 1].code == code)
		return &v[code - 1];
	v = w->abbreviations.n ? bsearch(&key, v, w->abbreviations.n, sizeof key, by_code) : NULL;
	w->c.bad |= !v;
	return v;
}

/* ---- attributes ---- */

static void skip_form(struct walker *w, uint32_t form)
{
	struct ms_bytes *c = &w->c;
	int size = fixed_size(w, form);
	for (int hop = 0; form == DW_FORM_indirect && hop < MAX_INDIRECT; hop++) {
		uint64_t real = ms_get_varint(c);
		form = real > UINT32_MAX ? 0 : (uint32_t)real;
		size = fixed_size(w, form);
	}
	if (size >= 0) {
		ms_skip(c, (uint64_t)size);
		return;
	}
	switch (form) {
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		ms_get_varint(c);
		break;
	case DW_FORM_string:
		ms_get_string(c);
		break;
	case DW_FORM_block1:
		ms_skip(c, ms_get_fixed(c, 1));
		break;
	case DW_FORM_block2:
		ms_skip(c, ms_get_fixed(c, 2));
		break;
	case DW_FORM_block4:
		ms_skip(c, ms_get_fixed(c, 4));
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		ms_skip(c, ms_get_varint(c));
		break;
	default:
		c->bad = true;
		break;
	}
}

/* A number, a reference within the unit, or an offset into another section. False, with it
 * skipped: it is of another kind. */
static bool get_number(struct walker *w, const struct spec *s, uint64_t *v)
{
	switch (s->form) {
	case DW_FORM_implicit_const:
		*v = (uint64_t)s->implicit;
		return true;
	case DW_FORM_sdata:
		*v = (uint64_t)ms_get_signed(&w->c);
		return !w->c.bad;
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_rnglistx:
		*v = ms_get_varint(&w->c);
		return !w->c.bad;
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_sec_offset:
		*v = ms_get_fixed(&w->c, (unsigned)fixed_size(w, s->form));
		return !w->c.bad;
	default:
		skip_form(w, s->form);
		return false;
	}
}

static bool is_address_form(uint32_t form)
{
	return form == DW_FORM_addr || form == DW_FORM_addrx || form == DW_FORM_GNU_addr_index ||
	       (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4);
}

static bool get_address(struct walker *w, const struct spec *s, uint64_t *v)
{
	if (!is_address_form(s->form)) {
		skip_form(w, s->form);
		return false;
	}
	int size = fixed_size(w, s->form);
	*v = size < 0 ? ms_get_varint(&w->c) : ms_get_fixed(&w->c, (unsigned)size);
	if (s->form != DW_FORM_addr)
		*v = ms_indexed_address(w->base, *v);
	return !w->c.bad;
}

static void get_small(struct walker *w, const struct spec *s, uint32_t *out)
{
	uint64_t v = 0;
	*out = get_number(w, s, &v) && v < UINT32_MAX ? (uint32_t)v : 0;
}

/* Where the entry behind this one's children is; NULL: it does not say. */
static const uint8_t *get_sibling(struct walker *w, const struct spec *s)
{
	uint64_t v = 0;
	if (!get_number(w, s, &v))
		return NULL;
	return v < (uint64_t)(w->c.end - w->unit) && w->unit + v > w->c.p ? w->unit + v : NULL;
}

/* Steps over the attributes of an entry. */
static const uint8_t *pass_attributes(struct walker *w, const struct abbreviation *a)
{
	const uint8_t *sibling = NULL;
	if (a->fixed >= 0 && (a->sibling < 0 || !a->children)) {
		ms_skip(&w->c, (uint64_t)a->fixed);
		return NULL;
	}
	const struct spec *s = w->specs.v + a->first;
	for (uint32_t i = 0; i < a->n && !w->c.bad; i++) {
		if ((int32_t)i == a->sibling)
			sibling = get_sibling(w, &s[i]);
		else
			skip_form(w, s[i].form);
	}
	return sibling;
}

/* And takes those of a function in passing. */
static const uint8_t *read_attributes(struct walker *w, const struct abbreviation *a,
				      struct ms_die *out)
{
	const uint8_t *sibling = NULL;
	*out = (struct ms_die){0};
	for (uint32_t i = 0; i < a->n && !w->c.bad; i++) {
		const struct spec *s = &w->specs.v[a->first + i];
		switch (s->attribute) {
		case DW_AT_sibling:
			sibling = get_sibling(w, s);
			break;
		case DW_AT_low_pc:
			out->has_low = get_address(w, s, &out->low);
			break;
		case DW_AT_high_pc:
			out->high_is_offset = !is_address_form(s->form);
			out->has_high =
				(out->high_is_offset ? get_number : get_address)(w, s, &out->high);
			break;
		case DW_AT_ranges:
			out->ranges_form = (Dwarf_Half)s->form;
			out->has_ranges = get_number(w, s, &out->ranges);
			break;
		case DW_AT_call_file:
			get_small(w, s, &out->call_file);
			break;
		case DW_AT_call_line:
			get_small(w, s, &out->call_line);
			break;
		case DW_AT_call_column:
			get_small(w, s, &out->call_column);
			break;
		default:
			skip_form(w, s->form);
			break;
		}
	}
	return sibling;
}

/* ---- entries ---- */

static const struct abbreviation *next_entry(struct walker *w)
{
	if (w->c.p >= w->c.end || w->entries++ >= MAX_ENTRIES)
		w->c.bad = true;
	uint64_t code = ms_get_varint(&w->c);
	return code && !w->c.bad ? abbreviation_of(w, code) : NULL;
}

/* Goes behind the children that follow. */
static void pass_children(struct walker *w, const uint8_t *sibling)
{
	if (sibling) {
		w->c.p = sibling;
		return;
	}
	for (size_t depth = 1; depth && !w->c.bad;) {
		const struct abbreviation *a = next_entry(w);
		if (!a) {
			depth--;
			continue;
		}
		sibling = pass_attributes(w, a);
		if (sibling && a->children)
			w->c.p = sibling;
		else
			depth += a->children;
	}
}

/* False: declared, abstract, or optimised away: no code in it. */
static bool add_function(struct walker *w, const struct abbreviation *a, const struct ms_die *facts,
			 uint64_t die, uint32_t parent, unsigned depth)
{
	struct ms_tree *t = w->out;
	w->ranges.n = 0;
	ms_die_ranges(w->base, facts, &w->ranges);
	if (!w->ranges.n || t->nodes.n >= MS_NO_NODE)
		return false;
	for (size_t i = 0; i < w->ranges.n; i++)
		*MS_PUSH(&t->covers) = (struct ms_cover){w->ranges.v[i].low, w->ranges.v[i].high,
							 (uint32_t)t->nodes.n, depth};
	*MS_PUSH(&t->nodes) = (struct ms_unit_node){
		.die = die,
		.entry = w->ranges.v[0].low,
		.parent = parent,
		.call_file = facts->call_file,
		.call_line = facts->call_line,
		.call_column = facts->call_column,
		.inlined = a->inlined,
	};
	return true;
}

/* The entries up to the end of their parent's children. */
static void walk(struct walker *w, uint32_t parent, unsigned depth)
{
	for (;;) {
		uint64_t die = (uint64_t)(w->c.p - w->info);
		const struct abbreviation *a = next_entry(w);
		if (!a)
			return;
		const uint8_t *sibling;
		uint32_t node = parent;
		bool enter = a->what == THROUGH;
		if (a->what == FUNCTION) {
			struct ms_die facts;
			sibling = read_attributes(w, a, &facts);
			enter = !w->c.bad && add_function(w, a, &facts, die, parent, depth);
			node = enter ? (uint32_t)w->out->nodes.n - 1 : parent;
		} else {
			sibling = pass_attributes(w, a);
		}
		if (w->c.bad)
			return;
		if (a->children && enter && depth < MAX_DEPTH)
			walk(w, node, depth + 1);
		else if (a->children)
			pass_children(w, sibling);
	}
}

/* Reads the unit's header and its own entry; what follows are its children. False: there are none,
 * or it is damaged. */
static bool begin(struct walker *w, uint64_t header, uint64_t die)
{
	bool wide;
	w->c = ms_bytes_of(w->base->elf, ".debug_info", header);
	if (w->c.bad)
		return false;
	w->unit = w->c.p;
	w->info = w->unit - header;
	uint64_t length = ms_get_length(&w->c, &wide), abbreviations, address_bytes;
	if (w->c.bad || length > (uint64_t)(w->c.end - w->c.p))
		return false;
	w->c.end = w->c.p + length;
	w->offset_bytes = wide ? 8 : 4;
	w->version = (unsigned)ms_get_fixed(&w->c, 2);
	if (w->version >= 5) {
		ms_get_fixed(&w->c, 1);
		address_bytes = ms_get_fixed(&w->c, 1);
		abbreviations = ms_get_fixed(&w->c, w->offset_bytes);
	} else {
		abbreviations = ms_get_fixed(&w->c, w->offset_bytes);
		address_bytes = ms_get_fixed(&w->c, 1);
	}
	if (w->c.bad || w->version < 2 || w->version > 5 || address_bytes != 8 || die < header ||
	    die - header >= (uint64_t)(w->c.end - w->unit))
		return false;
	w->c.p = w->unit + (die - header);
	read_abbreviations(w, abbreviations);
	const struct abbreviation *a = next_entry(w);
	if (!a)
		return false;
	pass_attributes(w, a);
	return a->children && !w->c.bad;
}

void ms_tree_read(const struct ms_unit_base *base, uint64_t header, uint64_t die, uint32_t language,
		  struct ms_tree *out)
{
	struct walker w = {.base = base, .types_hold_code = types_hold_code(language), .out = out};
	if (begin(&w, header, die))
		walk(&w, MS_NO_NODE, 0);
	free(w.abbreviations.v);
	free(w.specs.v);
	free(w.ranges.v);
}

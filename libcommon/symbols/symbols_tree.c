/* SPDX-License-Identifier: MIT
 * Reads the functions of one unit and the calls inlined into them; skips entries without code.
 */
#include "symbols_dwarf.h"

#include <stdlib.h>

/* Limits that only damaged or hostile files reach. */
enum { MAX_DEPTH = 256, MAX_ENTRIES = 1 << 26, MAX_RANGES = 1 << 20 };

struct walker {
	bool types_hold_code;
	const struct ms_split *split; /* split part that contains the unit; NULL = not split */
	struct ms_ranges ranges;      /* scratch memory */
	struct ms_tree *out;
	size_t entries;
	unsigned functions; /* around the entry, with code or without */
};

/* Tells whether types outside functions contain function definitions: not in C and C++, but in Rust,
 * D and Ada. */
static bool types_hold_code(uint32_t language)
{
	switch (language) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
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

bool ms_die_ranges(Dwarf_Die *die, struct ms_ranges *out)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	for (unsigned i = 0; i < MAX_RANGES; i++) {
		at = dwarf_ranges(die, at, &base, &low, &high);
		if (at <= 0)
			break;
		ms_ranges_add_code(out, low, high);
	}
	return at >= 0;
}

/* Returns the number in an attribute; 0 = there is none, or it is too large. */
static uint32_t die_number(Dwarf_Die *die, unsigned attribute)
{
	uint64_t v = ms_die_number(die, attribute);
	return v < UINT32_MAX ? (uint32_t)v : 0;
}

/* Adds a function. Returns false if it has no code: only declared, abstract, or optimised away. */
static bool add_function(struct walker *w, Dwarf_Die *die, bool inlined, uint32_t parent,
			 unsigned depth)
{
	struct ms_tree *t = w->out;
	w->ranges.n = 0;
	bool own = w->split && dwarf_hasattr(die, DW_AT_ranges);
	if (!(own ? ms_split_die_ranges(w->split, die, &w->ranges)
		  : ms_die_ranges(die, &w->ranges)))
		t->damaged = true;
	if (!w->ranges.n || t->nodes.n >= MS_NO_NODE)
		return false;
	for (size_t i = 0; i < w->ranges.n; i++)
		*MS_PUSH(&t->calls) = (struct ms_span){.low = w->ranges.v[i].low,
						       .high = w->ranges.v[i].high,
						       .node = (uint32_t)t->nodes.n,
						       .depth = depth};
	struct ms_unit_node *n = MS_PUSH(&t->nodes);
	*n = (struct ms_unit_node){.die = dwarf_dieoffset(die),
				   .entry = w->ranges.v[0].low,
				   .parent = parent,
				   .inlined = inlined};
	if (inlined) {
		n->call_file = die_number(die, DW_AT_call_file);
		n->call_line = die_number(die, DW_AT_call_line);
		n->call_column = die_number(die, DW_AT_call_column);
	}
	return true;
}

static void walk(struct walker *w, Dwarf_Die *die, uint32_t parent, unsigned depth)
{
	Dwarf_Die child;
	int rc = depth >= MAX_DEPTH ? 1 : dwarf_child(die, &child);
	if (rc != 0) {
		w->out->damaged |= rc < 0;
		return;
	}
	do {
		uint32_t node = parent;
		bool enter = false;
		int tag = dwarf_tag(&child);
		switch (tag) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			enter = add_function(w, &child, tag != DW_TAG_subprogram, parent, depth);
			node = enter ? (uint32_t)w->out->nodes.n - 1 : parent;
			/* Local types may have code, also in a function that is only inlined. */
			enter |= tag == DW_TAG_subprogram;
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_namespace:
		case DW_TAG_module:
			enter = true;
			break;
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type:
			enter = w->types_hold_code || w->functions;
			break;
		default:
			break;
		}
		w->functions += tag == DW_TAG_subprogram;
		if (enter)
			walk(w, &child, node, depth + 1);
		w->functions -= tag == DW_TAG_subprogram;
	} while (w->entries++ < MAX_ENTRIES && (rc = dwarf_siblingof(&child, &child)) == 0);
	w->out->damaged |= rc < 0;
}

void ms_tree_read(Dwarf_Die *unit, uint32_t language, const struct ms_split *split,
		  struct ms_tree *out)
{
	struct walker w = {
		.types_hold_code = types_hold_code(language), .split = split, .out = out};
	walk(&w, unit, MS_NO_NODE, 0);
	free(w.ranges.v);
}

/* SPDX-License-Identifier: MIT
 * Finds the members of a variable that is a struct, in its module's DWARF.
 */
#include "symbols_dwarf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/order.h"
#include "symbols.h"

/* MAX_DEPTH: structs inside each other whose members count as those of the outermost one. */
enum { MAX_MEMBERS = 512, MAX_DEPTH = 8 };

struct member {
	uint64_t offset;
	const char *name; /* "" = none that tells users anything */
	unsigned order;
};

struct members {
	struct member v[MAX_MEMBERS];
	unsigned n;
	bool many; /* there are more */
};

static int by_offset(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	return MS_ORDER(x->offset, y->offset) ?: MS_ORDER(x->order, y->order);
}

static void add(struct members *m, uint64_t offset, const char *name)
{
	m->many |= m->n == MAX_MEMBERS;
	if (!m->many)
		m->v[m->n] = (struct member){offset, name, m->n};
	m->n += !m->many;
}

/* Gets the struct or union that is an entry's type. Returns false if it is none. */
static bool struct_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute a;
	if (!dwarf_attr_integrate(die, DW_AT_type, &a) || !dwarf_formref_die(&a, type) ||
	    dwarf_peel_type(type, type) != 0)
		return false;
	if (dwarf_attr(type, DW_AT_signature, &a) && !dwarf_formref_die(&a, type))
		return false;
	int tag = dwarf_tag(type);
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* Tells whether a type is of a standard library, of which users do not know the members. */
static bool is_library(Dwarf_Die *type)
{
	static const char *const names[] = {"std", "core", "alloc", "hashbrown", "__gnu_cxx"};
	Dwarf_Die *scopes;
	bool found = false;
	int n = dwarf_getscopes_die(type, &scopes);
	const char *outermost = n > 2 ? ms_die_text(&scopes[n - 2], DW_AT_name) : NULL;
	for (size_t i = 0; outermost && i < sizeof names / sizeof *names; i++)
		found |= strcmp(outermost, names[i]) == 0;
	if (n > 0)
		free(scopes);
	return found;
}

/* Adds the members of a struct that begins at `at` in the variable, with those of its bases and of
 * its parts without a name. */
static void add_members(struct members *m, Dwarf_Die *type, uint64_t at, unsigned depth)
{
	Dwarf_Die die, inner;
	if (dwarf_child(type, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);
		bool base = tag == DW_TAG_inheritance;
		Dwarf_Attribute a;
		Dwarf_Word offset = 0, size;
		/* neither static members, nor virtual bases and bit fields, which have no offset */
		if ((!base && tag != DW_TAG_member) || dwarf_hasattr(&die, DW_AT_external) ||
		    dwarf_hasattr(&die, DW_AT_data_bit_offset) ||
		    (dwarf_attr(&die, DW_AT_data_member_location, &a) &&
		     dwarf_formudata(&a, &offset) != 0))
			continue;
		const char *name = base ? NULL : ms_die_text(&die, DW_AT_name);
		bool nested = struct_of(&die, &inner);
		if (nested && dwarf_aggregate_size(&inner, &size) == 0 && !size)
			continue;
		if (!name && nested && depth < MAX_DEPTH && !is_library(&inner))
			add_members(m, &inner, at + offset, depth + 1);
		else
			add(m, at + offset,
			    name && !dwarf_hasattr(&die, DW_AT_artificial) ? name : "");
	} while (dwarf_siblingof(&die, &die) == 0);
}

const char *ms_dwarf_members(struct ms_dwarf *d, Dwarf_Die *variable)
{
	struct members *m = calloc(1, sizeof *m);
	Dwarf_Die type;
	const char *text = NULL;
	if (m && struct_of(variable, &type) && !is_library(&type))
		add_members(m, &type, 0, 0);
	if (m && m->n && !m->many) {
		MS_SORT(m->v, m->n, by_offset);
		text = "";
		for (unsigned i = 0; i < m->n; i++) {
			bool same = (i && m->v[i - 1].offset == m->v[i].offset) ||
				    (i + 1 < m->n && m->v[i + 1].offset == m->v[i].offset);
			text = ms_arena_printf(d->strings, "%s%" PRIu64 " %s\n", text,
					       m->v[i].offset, same ? "" : m->v[i].name);
		}
	}
	free(m);
	return text;
}

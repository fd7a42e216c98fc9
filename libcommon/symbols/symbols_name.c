/* SPDX-License-Identifier: MIT
 * Names DWARF functions: by their demangled linkage names, else qualified by the scopes around the
 * declaration.
 */
#include "symbols_dwarf.h"

#include <stdlib.h>
#include <string.h>

#include "symbols.h"

/* MAX_HOPS: longest chain of DW_AT_abstract_origin and DW_AT_specification. MAX_SCOPES: deepest
 * scope. MAX_NESTING: functions nested in functions. MAX_SCOPE_STEPS: entries skipped while
 * searching for scopes in one file, a limit on time. Beyond these, names stay unqualified. */
enum { MAX_HOPS = 16, MAX_SCOPES = 32, MAX_NESTING = 8, MAX_SCOPE_STEPS = 1 << 25 };

/* Holds the names found on the chain from a concrete function to its declaration. Strings belong to
 * libdw. */
struct declaration {
	const char *linkage, *name;
	Dwarf_Die die; /* end of the chain */
};

/* Follows one reference, in `attribute`, to another entry. Returns false if there is none. */
static bool follow(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute a;
	Dwarf_Die target;
	if (!dwarf_attr(die, attribute, &a) || !dwarf_formref_die(&a, &target))
		return false;
	*die = target;
	return true;
}

static void find_declaration(const Dwarf_Die *die, struct declaration *out)
{
	*out = (struct declaration){.die = *die};
	for (int hop = 0; hop < MAX_HOPS; hop++) {
		out->linkage = ms_die_text(&out->die, DW_AT_linkage_name);
		if (!out->linkage)
			out->linkage = ms_die_text(&out->die, DW_AT_MIPS_linkage_name);
		const char *name = ms_die_text(&out->die, DW_AT_name);
		if (name)
			out->name = name;
		if (out->linkage || (!follow(&out->die, DW_AT_abstract_origin) &&
				     !follow(&out->die, DW_AT_specification)))
			return;
	}
}

/* Replaces `die` by its last child that begins at or before offset `target`. Returns false if there
 * is none. */
static bool child_towards(struct ms_dwarf *d, Dwarf_Die *die, Dwarf_Off target)
{
	Dwarf_Die next;
	bool found = false;
	if (dwarf_child(die, &next) != 0)
		return false;
	do {
		if (d->scope_steps++ > MAX_SCOPE_STEPS || dwarf_dieoffset(&next) > target)
			break;
		*die = next;
		found = true;
	} while (dwarf_siblingof(&next, &next) == 0);
	return found;
}

static const char *function_name(struct ms_dwarf *d, uint32_t language, const Dwarf_Die *die,
				 int depth);

/* Returns the qualifier that a scope adds to the names inside. *whole: the qualifier is fully
 * qualified already, for instance that of a function around a local class. */
static const char *scope_name(struct ms_dwarf *d, const struct declaration *c, Dwarf_Die *die,
			      int depth, bool *whole)
{
	const char *name = ms_die_text(die, DW_AT_name);
	*whole = false;
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
		return name ? name : "(anonymous namespace)";
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		/* gcc leaves the class of a lambda unnamed */
		return name ? name : !strcmp(c->name, "operator()") ? "{lambda}" : "{unnamed}";
	case DW_TAG_enumeration_type:
	case DW_TAG_interface_type:
	case DW_TAG_module:
		return name;
	case DW_TAG_subprogram:
		*whole = true;
		if (depth >= MAX_NESTING)
			return name;
		return function_name(d, DW_LANG_C_plus_plus, die, depth + 1);
	default:
		return NULL;
	}
}

/* Returns "ns::type::name" in the symbolizer's arena. */
static const char *qualified(struct ms_dwarf *d, struct declaration *c, int depth)
{
	const char *before = "";
	Dwarf_Off target = dwarf_dieoffset(&c->die);
	Dwarf_Die die;
	bool more = dwarf_diecu(&c->die, &die, NULL, NULL) != NULL;
	for (int level = 0; more && level < MAX_SCOPES; level++) {
		bool whole;
		more = child_towards(d, &die, target);
		if (!more || dwarf_dieoffset(&die) == target)
			break;
		const char *name = scope_name(d, c, &die, depth, &whole);
		if (name)
			before = ms_arena_printf(d->strings, "%s%s::", whole ? "" : before, name);
	}
	return ms_arena_printf(d->strings, "%s%s", before, c->name);
}

/* Tells whether the language's functions are in namespaces and types, joined by "::". */
static bool has_scopes(uint32_t language)
{
	enum { LANG_C_PLUS_PLUS_17 = 0x2a, LANG_C_PLUS_PLUS_20 = 0x2b };
	switch (language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case LANG_C_PLUS_PLUS_17:
	case LANG_C_PLUS_PLUS_20:
	case DW_LANG_ObjC_plus_plus:
	case DW_LANG_Rust:
		return true;
	default:
		return false;
	}
}

static bool is_ada(uint32_t language)
{
	enum { LANG_ADA_2005 = 0x2e, LANG_ADA_2012 = 0x2f };
	return language == DW_LANG_Ada83 || language == DW_LANG_Ada95 ||
	       language == LANG_ADA_2005 || language == LANG_ADA_2012;
}

static const char *readable(struct ms_dwarf *d, const char *linkage, bool ada)
{
	char *plain = ada ? ms_demangle_ada(linkage) : ms_demangle(linkage);
	const char *out =
		!plain ? NULL : ms_arena_strdup(d->strings, d->demangle ? plain : linkage);
	free(plain);
	return out;
}

/* Returns the name of a function, with as many qualifiers as DWARF provides. */
static const char *declared_name(struct ms_dwarf *d, uint32_t language, struct declaration *c,
				 int depth)
{
	bool ada = is_ada(language);
	const char *mangled = ada && c->name ? c->name : c->linkage;
	const char *out = mangled ? readable(d, mangled, ada) : NULL;
	if (out)
		return out;
	if (c->name && has_scopes(language))
		return qualified(d, c, depth);
	if (!c->name)
		c->name = c->linkage;
	return c->name ? ms_arena_strdup(d->strings, c->name) : NULL;
}

static const char *function_name(struct ms_dwarf *d, uint32_t language, const Dwarf_Die *die,
				 int depth)
{
	struct declaration c;
	find_declaration(die, &c);
	return declared_name(d, language, &c, depth);
}

/* Returns the function's name in the symbol table, which includes the parameters; DWARF without
 * linkage names does not. */
static const char *symbol_of(struct ms_dwarf *d, const struct declaration *c,
			     const struct ms_unit_node *n)
{
	if (c->linkage || !d->symbols)
		return NULL;
	const struct ms_elf_symbol *y = ms_elf_symbol(d->symbols, n->entry);
	return y && y->address == n->entry ? readable(d, y->name, false) : NULL;
}

const char *ms_node_name(struct ms_dwarf *d, const struct ms_unit *u, const struct ms_unit_node *n)
{
	struct declaration c;
	Dwarf_Die unit, die;
	const struct ms_split *split;
	if (!ms_unit_die(d, u->index, &unit, &split) ||
	    !dwarf_offdie(dwarf_cu_getdwarf(unit.cu), n->die, &die))
		return NULL;
	find_declaration(&die, &c);
	const char *out = !n->inlined && has_scopes(u->language) ? symbol_of(d, &c, n) : NULL;
	return out ? out : declared_name(d, u->language, &c, 0);
}

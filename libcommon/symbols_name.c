/* SPDX-License-Identifier: MIT
 * Names of DWARF functions: linkage names demangled, else qualified by the scopes around the
 * declaration.
 */
#include "symbols_dwarf.h"

#include <stdlib.h>
#include <string.h>

#include "symbols.h"

/* Longest chain of DW_AT_abstract_origin and DW_AT_specification, deepest scope, and how many
 * entries may be passed over in the search for scopes in one file: a limit on time, beyond which
 * names stay unqualified. */
enum { MAX_HOPS = 16, MAX_SCOPES = 32, MAX_SCOPE_STEPS = 1 << 25 };

/* What the chain from a concrete function to its declaration says. Strings belong to libdwarf. */
struct declaration {
	Dwarf_Debug dbg;
	const char *linkage, *name;
	uint64_t die, unit; /* of the end of the chain */
};

static bool goes_elsewhere(Dwarf_Half form)
{
	return form == DW_FORM_GNU_ref_alt || form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8;
}

/* Follows one reference; false when there is none. */
static bool follow(struct ms_dwarf *d, Dwarf_Debug *dbg, Dwarf_Die die, Dwarf_Half attribute,
		   uint64_t *target)
{
	Dwarf_Error e = NULL;
	Dwarf_Attribute a = NULL;
	Dwarf_Half form = 0;
	Dwarf_Off off = 0;
	if (!ms_dwarf_ok(*dbg, dwarf_attr(die, attribute, &a, &e), &e))
		return false;
	bool ok = ms_dwarf_ok(*dbg, dwarf_whatform(a, &form, &e), &e) &&
		  ms_dwarf_ok(*dbg, dwarf_global_formref(a, &off, &e), &e);
	dwarf_dealloc_attribute(a);
	if (ok && goes_elsewhere(form)) {
		*dbg = d->alt.dbg;
		ok = *dbg != NULL;
	}
	*target = off;
	return ok;
}

static void find_declaration(struct ms_dwarf *d, uint64_t die, struct declaration *out)
{
	Dwarf_Debug dbg = d->main.dbg;
	bool more = true;
	*out = (struct declaration){0};
	for (int hop = 0; more && dbg && !out->linkage && hop < MAX_HOPS; hop++) {
		Dwarf_Error e = NULL;
		Dwarf_Die at = NULL;
		Dwarf_Off unit = 0;
		if (!ms_dwarf_ok(dbg, dwarf_offdie_b(dbg, die, 1, &at, &e), &e))
			return;
		out->linkage = ms_die_text(dbg, at, DW_AT_linkage_name);
		if (!out->linkage)
			out->linkage = ms_die_text(dbg, at, DW_AT_MIPS_linkage_name);
		const char *name = ms_die_text(dbg, at, DW_AT_name);
		if (name)
			out->name = name;
		if (ms_dwarf_ok(dbg, dwarf_CU_dieoffset_given_die(at, &unit, &e), &e)) {
			out->dbg = dbg;
			out->die = die;
			out->unit = unit;
		}
		more = follow(d, &dbg, at, DW_AT_abstract_origin, &die) ||
		       follow(d, &dbg, at, DW_AT_specification, &die);
		dwarf_dealloc_die(at);
	}
}

/* The last child of `die` that begins at or before `target`, or NULL. Takes `die` over. */
static Dwarf_Die child_towards(struct ms_dwarf *d, Dwarf_Debug dbg, Dwarf_Die die, uint64_t target)
{
	Dwarf_Error e = NULL;
	Dwarf_Die best = NULL, next = NULL;
	bool ok = ms_dwarf_ok(dbg, dwarf_child(die, &next, &e), &e);
	dwarf_dealloc_die(die);
	while (ok) {
		Dwarf_Off off = 0;
		if (d->scope_steps++ > MAX_SCOPE_STEPS ||
		    !ms_dwarf_ok(dbg, dwarf_dieoffset(next, &off, &e), &e) || off > target) {
			dwarf_dealloc_die(next);
			break;
		}
		if (best)
			dwarf_dealloc_die(best);
		best = next;
		ok = ms_dwarf_ok(dbg, dwarf_siblingof_b(dbg, best, 1, &next, &e), &e);
	}
	return best;
}

static const char *scope_name(Dwarf_Debug dbg, Dwarf_Die die)
{
	Dwarf_Error e = NULL;
	Dwarf_Half tag = 0;
	if (!ms_dwarf_ok(dbg, dwarf_tag(die, &tag, &e), &e))
		return NULL;
	const char *name = ms_die_text(dbg, die, DW_AT_name);
	switch (tag) {
	case DW_TAG_namespace:
		return name ? name : "(anonymous namespace)";
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_interface_type:
	case DW_TAG_subprogram:
	case DW_TAG_module:
		return name;
	default:
		return NULL;
	}
}

/* "ns::type::name" in the symbolizer's arena. */
static const char *qualified(struct ms_dwarf *d, const struct declaration *c)
{
	const char *scopes[MAX_SCOPES];
	size_t n = 0, total = strlen(c->name) + 1;
	Dwarf_Error e = NULL;
	Dwarf_Die die = NULL;
	if (!ms_dwarf_ok(c->dbg, dwarf_offdie_b(c->dbg, c->unit, 1, &die, &e), &e))
		die = NULL;
	for (int depth = 0; die && depth < MAX_SCOPES; depth++) {
		Dwarf_Off off = 0;
		die = child_towards(d, c->dbg, die, c->die);
		if (!die || !ms_dwarf_ok(c->dbg, dwarf_dieoffset(die, &off, &e), &e) ||
		    off == c->die)
			break;
		if ((scopes[n] = scope_name(c->dbg, die)))
			total += strlen(scopes[n++]) + 2;
	}
	if (die)
		dwarf_dealloc_die(die);
	char *out = ms_arena_alloc(d->strings, total), *end = out;
	for (size_t i = 0; i < n; i++)
		end = stpcpy(stpcpy(end, scopes[i]), "::");
	strcpy(end, c->name);
	return out;
}

/* Languages whose functions live in namespaces and types, joined by "::". */
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

static const char *readable(struct ms_dwarf *d, const char *linkage)
{
	char *plain = ms_demangle(linkage);
	const char *out =
		!plain ? NULL : ms_arena_strdup(d->strings, d->demangle ? plain : linkage);
	free(plain);
	return out;
}

const char *ms_node_name(struct ms_dwarf *d, const struct ms_unit *u, const struct ms_unit_node *n)
{
	struct declaration c;
	const char *out = NULL;
	find_declaration(d, n->die, &c);
	if (c.linkage)
		out = readable(d, c.linkage);
	if (!out && !n->inlined && has_scopes(u->language) && d->symbols) {
		const struct ms_elf_symbol *y = ms_elf_symbol(d->symbols, n->entry);
		if (y && y->address == n->entry)
			out = readable(d, y->name);
	}
	if (out)
		return out;
	if (c.name && has_scopes(u->language))
		return qualified(d, &c);
	if (!c.name)
		c.name = c.linkage;
	return c.name ? ms_arena_strdup(d->strings, c.name) : NULL;
}

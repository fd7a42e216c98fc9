/* SPDX-License-Identifier: MIT
 * Names of DWARF functions: linkage names demangled, else qualified by the scopes around the
 * declaration.
 */
#include "symbols_dwarf.h"

#include <stdlib.h>
#include <string.h>

#include "symbols.h"

/* Longest chain of DW_AT_abstract_origin and DW_AT_specification, deepest scope, functions
 * nested in functions, and how many
 * entries may be passed over in the search for scopes in one file: a limit on time, beyond which
 * names stay unqualified. */
enum { MAX_HOPS = 16, MAX_SCOPES = 32, MAX_NESTING = 8, MAX_SCOPE_STEPS = 1 << 25 };

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

static const char *function_name(struct ms_dwarf *d, uint32_t language, uint64_t die, int depth);

/* What a scope adds to the names inside: *whole is set when it is a name qualified already, as that
 * of a function around a local class. */
static const char *scope_name(struct ms_dwarf *d, const struct declaration *c, Dwarf_Die die,
			      int depth, bool *whole)
{
	Dwarf_Error e = NULL;
	Dwarf_Half tag = 0;
	Dwarf_Off off = 0;
	*whole = false;
	if (!ms_dwarf_ok(c->dbg, dwarf_tag(die, &tag, &e), &e))
		return NULL;
	const char *name = ms_die_text(c->dbg, die, DW_AT_name);
	switch (tag) {
	case DW_TAG_namespace:
		return name ? name : "(anonymous namespace)";
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		/* gcc gives the class of a lambda no name. */
		return name ? name : !strcmp(c->name, "operator()") ? "{lambda}" : "{unnamed}";
	case DW_TAG_enumeration_type:
	case DW_TAG_interface_type:
	case DW_TAG_module:
		return name;
	case DW_TAG_subprogram:
		*whole = true;
		if (depth >= MAX_NESTING || c->dbg != d->main.dbg ||
		    !ms_dwarf_ok(c->dbg, dwarf_dieoffset(die, &off, &e), &e))
			return name;
		return function_name(d, DW_LANG_C_plus_plus, off, depth + 1);
	default:
		return NULL;
	}
}

static const char *join(struct ms_dwarf *d, const char *const *scopes, size_t n, const char *name)
{
	size_t total = strlen(name) + 1;
	for (size_t i = 0; i < n; i++)
		total += strlen(scopes[i]) + 2;
	char *out = ms_arena_alloc(d->strings, total), *end = out;
	for (size_t i = 0; i < n; i++)
		end = stpcpy(stpcpy(end, scopes[i]), "::");
	strcpy(end, name);
	return out;
}

/* "ns::type::name" in the symbolizer's arena. */
static const char *qualified(struct ms_dwarf *d, const struct declaration *c, int depth)
{
	const char *scopes[MAX_SCOPES];
	size_t n = 0;
	Dwarf_Error e = NULL;
	Dwarf_Die die = NULL;
	if (!ms_dwarf_ok(c->dbg, dwarf_offdie_b(c->dbg, c->unit, 1, &die, &e), &e))
		die = NULL;
	for (int level = 0; die && level < MAX_SCOPES; level++) {
		Dwarf_Off off = 0;
		bool whole;
		die = child_towards(d, c->dbg, die, c->die);
		if (!die || !ms_dwarf_ok(c->dbg, dwarf_dieoffset(die, &off, &e), &e) ||
		    off == c->die)
			break;
		const char *name = scope_name(d, c, die, depth, &whole);
		if (name && whole)
			n = 0;
		if (name)
			scopes[n++] = name;
	}
	if (die)
		dwarf_dealloc_die(die);
	return join(d, scopes, n, c->name);
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

/* The name of a function as far as DWARF has one. */
static const char *declared_name(struct ms_dwarf *d, uint32_t language, struct declaration *c,
				 int depth)
{
	const char *out = c->linkage ? readable(d, c->linkage) : NULL;
	if (out)
		return out;
	if (c->name && has_scopes(language))
		return qualified(d, c, depth);
	if (!c->name)
		c->name = c->linkage;
	return c->name ? ms_arena_strdup(d->strings, c->name) : NULL;
}

static const char *function_name(struct ms_dwarf *d, uint32_t language, uint64_t die, int depth)
{
	struct declaration c;
	find_declaration(d, die, &c);
	return declared_name(d, language, &c, depth);
}

/* The symbol table knows parameters that DWARF without linkage names does not tell. */
static const char *symbol_of(struct ms_dwarf *d, const struct declaration *c,
			     const struct ms_unit_node *n)
{
	if (c->linkage || !d->symbols)
		return NULL;
	const struct ms_elf_symbol *y = ms_elf_symbol(d->symbols, n->entry);
	return y && y->address == n->entry ? readable(d, y->name) : NULL;
}

const char *ms_node_name(struct ms_dwarf *d, const struct ms_unit *u, const struct ms_unit_node *n)
{
	struct declaration c;
	find_declaration(d, n->die, &c);
	const char *out = !n->inlined && has_scopes(u->language) ? symbol_of(d, &c, n) : NULL;
	return out ? out : declared_name(d, u->language, &c, 0);
}

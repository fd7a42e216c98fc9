/* SPDX-License-Identifier: MIT
 * Finds where a module's variables are declared, and of which type, in its DWARF.
 *
 * The addresses of variables are in no index of the file, so at the first question all entries that
 * may lie around a variable's are walked, those of functions included, for static variables in
 * them. Split parts of units are not read.
 */
#include "symbols_dwarf.h"

#include <string.h>

#include "libcommon/base/order.h"
#include "symbols.h"

/* MAX_STEPS: entries walked in one file, a limit on time. MAX_DEPTH: nesting of entries around a
 * variable. MAX_TYPES: length of a chain of types (pointer to const pointer ...). */
enum { MAX_STEPS = 1 << 24, MAX_DEPTH = 64, MAX_TYPES = 16 };

/* ---- the index ---- */

static int by_place(const void *a, const void *b)
{
	const struct ms_variable_ref *x = a, *y = b;
	return MS_ORDER(x->in_thread, y->in_thread) ?:
	       MS_ORDER(x->address, y->address) ?:
	       MS_ORDER(x->die, y->die);
}

/* Reads an address by its index in the unit's table of addresses. */
static bool indexed(Dwarf_Attribute *location, uint64_t *address)
{
	Dwarf_Attribute of;
	Dwarf_Op *op;
	Dwarf_Addr addr;
	size_t n;
	if (dwarf_getlocation(location, &op, &n) != 0 || !n ||
	    dwarf_getlocation_attr(location, op, &of) != 0)
		return false;
	bool found = dwarf_formaddr(&of, &addr) == 0 || dwarf_formudata(&of, &addr) == 0;
	*address = addr;
	return found;
}

/* Gets the address from a variable's location; in thread-local storage, it is an offset. Returns
 * false if it is none, as of variables in registers and on the stack, of which there are too many
 * for libdw, which keeps each location that it has read. */
static bool is_static(Dwarf_Die *die, struct ms_variable_ref *out)
{
	enum { SHORT = 4, LONG = 8 };
	Dwarf_Attribute a;
	Dwarf_Block b;
	if (!dwarf_attr(die, DW_AT_location, &a) || dwarf_formblock(&a, &b) != 0 || b.length < 2)
		return false;
	uint8_t last = b.data[b.length - 1];
	bool thread = b.length > 2 &&
		      (last == DW_OP_GNU_push_tls_address || last == DW_OP_form_tls_address);
	size_t n = b.length - thread - 1;
	bool address = *b.data == DW_OP_addr || *b.data == DW_OP_const8u,
	     small = *b.data == DW_OP_const4u;
	*out = (struct ms_variable_ref){.die = dwarf_dieoffset(die), .in_thread = thread};
	if ((address && n == LONG) || (small && n == SHORT))
		memcpy(&out->address, b.data + 1, n);
	else if ((*b.data != DW_OP_addrx && *b.data != DW_OP_GNU_addr_index &&
		  *b.data != DW_OP_constx && *b.data != DW_OP_GNU_const_index) ||
		 n > LONG || !indexed(&a, &out->address))
		return false;
	return thread || (out->address && !small);
}

/* Tells whether variables may be below an entry. */
static bool has_variables(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_subprogram ||
	       tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine;
}

/* Adds the variables below an entry. */
static void walk(struct ms_dwarf *d, Dwarf_Die *above, unsigned depth, size_t *steps)
{
	Dwarf_Die die;
	struct ms_variable_ref v;
	if (depth == MAX_DEPTH || dwarf_child(above, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);
		if (++*steps > MAX_STEPS)
			return;
		if (tag == DW_TAG_variable && is_static(&die, &v))
			*MS_PUSH(&d->variables) = v;
		else if (has_variables(tag))
			walk(d, &die, depth + 1, steps);
	} while (dwarf_siblingof(&die, &die) == 0);
}

static void index_variables(struct ms_dwarf *d)
{
	Dwarf_CU *unit = NULL, *next;
	Dwarf_Die die;
	uint8_t type;
	size_t steps = 0;
	d->variables_known = true;
	while (d->main.dw &&
	       dwarf_get_units(d->main.dw, unit, &next, NULL, &type, &die, NULL) == 0) {
		unit = next;
		if (type == DW_UT_compile && steps <= MAX_STEPS)
			walk(d, &die, 0, &steps);
	}
	MS_SORT(d->variables.v, d->variables.n, by_place);
}

/* ---- types ---- */

/* Returns the text of an array's dimensions: "[4][]". */
static const char *dimensions(struct ms_dwarf *d, Dwarf_Die *array)
{
	const char *text = "";
	Dwarf_Die die;
	int more = dwarf_child(array, &die);
	for (unsigned i = 0; more == 0 && i < MAX_TYPES; more = dwarf_siblingof(&die, &die), i++) {
		uint64_t count = ms_die_number(&die, DW_AT_count);
		if (dwarf_tag(&die) != DW_TAG_subrange_type)
			continue;
		if (!count && dwarf_hasattr(&die, DW_AT_upper_bound))
			count = ms_die_number(&die, DW_AT_upper_bound) + 1;
		text = count ? ms_arena_printf(d->strings, "%s[%llu]", text,
					       (unsigned long long)count)
			     : ms_arena_printf(d->strings, "%s[]", text);
	}
	return *text ? text : "[]";
}

static const char *unnamed(int tag)
{
	return tag == DW_TAG_structure_type     ? "struct {...}"
	       : tag == DW_TAG_class_type       ? "class {...}"
	       : tag == DW_TAG_union_type       ? "union {...}"
	       : tag == DW_TAG_enumeration_type ? "enum {...}"
	       : tag == DW_TAG_subroutine_type  ? "function"
						: NULL;
}

/* Returns a type with a qualifier. Compilers may give an array the qualifier of its elements. */
static const char *qualified(struct ms_dwarf *d, const char *base, bool pointer, const char *word)
{
	size_t n = strlen(word);
	if (pointer)
		return ms_arena_printf(d->strings, "%s %s", base, word);
	bool has = strncmp(base, word, n) == 0 && base[n] == ' ';
	return has ? base : ms_arena_printf(d->strings, "%s %s", word, base);
}

/* Returns `base` with what the type `tag` adds to it; NULL = nothing is known to be added. */
static const char *derived(struct ms_dwarf *d, Dwarf_Die *type, const char *base)
{
	bool pointer = *base && strchr("*&", base[strlen(base) - 1]);
	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
		return ms_arena_printf(d->strings, pointer ? "%s*" : "%s *", base);
	case DW_TAG_reference_type:
		return ms_arena_printf(d->strings, pointer ? "%s&" : "%s &", base);
	case DW_TAG_rvalue_reference_type:
		return ms_arena_printf(d->strings, pointer ? "%s&&" : "%s &&", base);
	case DW_TAG_const_type:
		return qualified(d, base, pointer, "const");
	case DW_TAG_volatile_type:
		return qualified(d, base, pointer, "volatile");
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		return base;
	case DW_TAG_array_type:
		return ms_arena_printf(d->strings, "%s%s%s", base, pointer ? "" : " ",
				       dimensions(d, type));
	default:
		return NULL;
	}
}

/* Returns the text of an entry's type: "const char *[4]"; NULL = not known. */
static const char *type_of(struct ms_dwarf *d, Dwarf_Die *die, unsigned depth)
{
	Dwarf_Attribute a;
	Dwarf_Die type;
	if (!dwarf_attr_integrate(die, DW_AT_type, &a))
		return "void";
	if (!dwarf_formref_die(&a, &type) || depth == MAX_TYPES)
		return NULL;
	const char *name = ms_die_text(&type, DW_AT_name);
	if (!name && dwarf_hasattr(&type, DW_AT_signature))
		name = ms_die_text(dwarf_formref_die(dwarf_attr(&type, DW_AT_signature, &a), &type),
				   DW_AT_name);
	name = name ? ms_arena_strdup(d->strings, name) : unnamed(dwarf_tag(&type));
	if (name)
		return name;
	const char *base = type_of(d, &type, depth + 1);
	return base ? derived(d, &type, base) : NULL;
}

/* ---- answers ---- */

/* Returns the file in which an entry is declared, in the symbolizer's arena. libdw's function for
 * that does not know that file 0 is the unit's own since DWARF 5. */
static const char *file_of(struct ms_dwarf *d, Dwarf_Die *die)
{
	Dwarf_Attribute a;
	Dwarf_Word number;
	Dwarf_Die unit;
	Dwarf_Half version;
	Dwarf_Files *files;
	size_t n;
	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &a) || dwarf_formudata(&a, &number) != 0 ||
	    !dwarf_cu_die(a.cu, &unit, &version, NULL, NULL, NULL, NULL, NULL) ||
	    (!number && version < 5) || dwarf_getsrcfiles(&unit, &files, &n) != 0 || number >= n)
		return NULL;
	const char *file = dwarf_filesrc(files, number, NULL, NULL);
	return file ? ms_source_path(d->strings, ms_die_text(&unit, DW_AT_comp_dir), file) : NULL;
}

bool ms_dwarf_variable(struct ms_dwarf *d, uint64_t address, bool thread, struct ms_variable *out)
{
	Dwarf_Die die;
	int line;
	if (!d->variables_known)
		index_variables(d);
	struct ms_variable_ref key = {address, 0, thread};
	size_t low = 0, high = d->variables.n;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (by_place(&d->variables.v[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	const struct ms_variable_ref *v = &d->variables.v[low];
	if (low == d->variables.n || v->address != address || v->in_thread != thread ||
	    !d->main.dw || !dwarf_offdie(d->main.dw, v->die, &die))
		return false;
	*out = (struct ms_variable){.type = type_of(d, &die, 0), .file = file_of(d, &die)};
	out->members = ms_dwarf_members(d, &die);
	out->line = out->file && dwarf_decl_line(&die, &line) == 0 && line > 0 ? (uint32_t)line : 0;
	return true;
}

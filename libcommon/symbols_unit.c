/* SPDX-License-Identifier: MIT
 * One compilation unit: its line table and the tree of its functions and inlined calls, flattened
 * for binary search.
 */
#include "symbols_dwarf.h"

#include <stdlib.h>
#include <string.h>

/* Limits that only damaged or hostile files reach. */
enum { MAX_DEPTH = 256, MAX_ACTIVE = 4096, MAX_ENTRIES = 1 << 26 };

/* Numbers given after this libdwarf's header was written. */
enum { LANG_C_PLUS_PLUS_17 = 0x2a, LANG_C_PLUS_PLUS_20 = 0x2b, LANG_C17 = 0x2c };

/* ---- lines ---- */

struct rows {
	struct ms_row *v;
	size_t n, cap;
	size_t first;       /* of the sequence in hand */
	uint64_t low, last; /* its first and latest address */
	bool bad;           /* it does not ascend, or is too long */
};

struct sequences {
	struct ms_sequence *v;
	size_t n, cap;
};

static char *copy(struct ms_arena *a, const char *s)
{
	return s ? ms_arena_strdup(a, s) : NULL;
}

static void read_sources(struct ms_unit *u, Dwarf_Debug dbg, Dwarf_Line_Context lines,
			 unsigned version)
{
	Dwarf_Error e = NULL;
	Dwarf_Signed first = 0, count = 0, end = 0;
	if (!ms_dwarf_ok(dbg, dwarf_srclines_files_indexes(lines, &first, &count, &end, &e), &e) ||
	    end <= first)
		return;
	u->first_source = (uint32_t)first;
	u->source_count = (size_t)(end - first);
	u->sources = ms_arena_alloc(&u->arena, u->source_count * sizeof *u->sources);
	for (Dwarf_Signed i = first; i < end; i++) {
		struct ms_source *s = &u->sources[i - first];
		Dwarf_Unsigned folder = 0;
		const char *name = NULL, *folder_name = NULL;
		if (!ms_dwarf_ok(dbg,
				 dwarf_srclines_files_data_b(lines, i, &name, &folder, NULL, NULL,
							     NULL, &e),
				 &e))
			continue;
		/* Folder 0 is the compilation folder: left out before version 5, first of the table
		 * since. */
		if (folder || version >= 5)
			if (!ms_dwarf_ok(dbg,
					 dwarf_srclines_include_dir_data(
						 lines, (Dwarf_Signed)folder, &folder_name, &e),
					 &e))
				folder_name = NULL;
		s->name = copy(&u->arena, name);
		s->folder = copy(&u->arena, folder_name);
	}
}

/* True when `line` ends a sequence. libdwarf before 2022 also says so of rows that begin an
 * epilogue. */
static bool ends_sequence(Dwarf_Debug dbg, Dwarf_Line line)
{
	Dwarf_Error e = NULL;
	Dwarf_Bool end = 0, prologue = 0, epilogue = 0;
	Dwarf_Unsigned isa = 0, discriminator = 0;
	if (!ms_dwarf_ok(dbg, dwarf_lineendsequence(line, &end, &e), &e) || !end)
		return false;
	return !ms_dwarf_ok(
		       dbg,
		       dwarf_prologue_end_etc(line, &prologue, &epilogue, &isa, &discriminator, &e),
		       &e) ||
	       !epilogue;
}

/* Appends a row; of several at one address the last counts, as no instruction lies before it. */
static void push_row(struct rows *r, Dwarf_Debug dbg, Dwarf_Line line, uint64_t address)
{
	enum { MAX_FILE = 1 << 20, MAX_COLUMN = 1 << 12 };
	Dwarf_Error e = NULL;
	Dwarf_Unsigned number = 0, file = 0, column = 0;
	if (!ms_dwarf_ok(dbg, dwarf_lineno(line, &number, &e), &e) ||
	    !ms_dwarf_ok(dbg, dwarf_line_srcfileno(line, &file, &e), &e))
		number = file = 0;
	if (!ms_dwarf_ok(dbg, dwarf_lineoff_b(line, &column, &e), &e))
		column = 0;
	if (r->n == r->first)
		r->low = address;
	r->bad |= r->n > r->first && (address < r->last || address - r->low > UINT32_MAX);
	bool again = r->n > r->first && address == r->last;
	*(again ? &r->v[r->n - 1] : MS_PUSH(r)) = (struct ms_row){
		.offset = (uint32_t)(address - r->low),
		.line = (uint32_t)number,
		.file = file < MAX_FILE ? (unsigned)file : 0,
		.column = column < MAX_COLUMN ? (unsigned)column : 0,
	};
	r->last = address;
}

/* Closes the sequence in hand at `high`: of no use when its code was removed. */
static void end_sequence(struct rows *r, struct sequences *s, uint64_t high)
{
	size_t n = r->n - r->first;
	if (n && !r->bad && r->low && r->low < high && high < UINT64_MAX - 1)
		*MS_PUSH(s) = (struct ms_sequence){r->low, high, 0, r->first, n};
	else
		r->n = r->first;
	r->first = r->n;
	r->bad = false;
}

static void collect_rows(Dwarf_Debug dbg, Dwarf_Line *lines, Dwarf_Signed n, struct rows *r,
			 struct sequences *s)
{
	for (Dwarf_Signed i = 0; i < n; i++) {
		Dwarf_Error e = NULL;
		Dwarf_Addr address = 0;
		if (!ms_dwarf_ok(dbg, dwarf_lineaddr(lines[i], &address, &e), &e))
			continue;
		if (ends_sequence(dbg, lines[i]))
			end_sequence(r, s, address);
		else
			push_row(r, dbg, lines[i], address);
	}
	r->n = r->first; /* what no end closed */
}

static int by_low(const void *a, const void *b)
{
	const struct ms_sequence *x = a, *y = b;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static void keep_rows(struct ms_unit *u, const struct rows *r, struct sequences *s)
{
	if (!s->n)
		return;
	qsort(s->v, s->n, sizeof *s->v, by_low);
	for (size_t i = 0; i < s->n; i++)
		s->v[i].reach =
			i && s->v[i - 1].reach > s->v[i].high ? s->v[i - 1].reach : s->v[i].high;
	u->rows = ms_arena_alloc(&u->arena, r->n * sizeof *u->rows);
	memcpy(u->rows, r->v, r->n * sizeof *u->rows);
	u->sequence_count = s->n;
	u->sequences = ms_arena_alloc(&u->arena, s->n * sizeof *s->v);
	memcpy(u->sequences, s->v, s->n * sizeof *s->v);
	u->bytes += r->n * sizeof *u->rows + s->n * sizeof *s->v;
}

static void read_lines(struct ms_unit *u, Dwarf_Debug dbg, Dwarf_Die die)
{
	Dwarf_Error e = NULL;
	Dwarf_Unsigned version = 0;
	Dwarf_Small tables = 0;
	Dwarf_Line_Context context = NULL;
	Dwarf_Line *lines = NULL;
	Dwarf_Signed n = 0;
	struct rows rows = {0};
	struct sequences sequences = {0};
	if (!ms_dwarf_ok(dbg, dwarf_srclines_b(die, &version, &tables, &context, &e), &e))
		return;
	read_sources(u, dbg, context, (unsigned)version);
	if (tables == 1 &&
	    ms_dwarf_ok(dbg, dwarf_srclines_from_linecontext(context, &lines, &n, &e), &e)) {
		collect_rows(dbg, lines, n, &rows, &sequences);
		keep_rows(u, &rows, &sequences);
	}
	dwarf_srclines_dealloc_b(context);
	free(rows.v);
	free(sequences.v);
}

/* ---- functions ---- */

/* One range of a node, with its depth: where ranges overlap, the deepest is the innermost call. */
struct cover {
	uint64_t low, high;
	uint32_t node, depth;
};

struct tree {
	struct ms_unit *unit;
	Dwarf_Debug dbg;
	struct ms_unit_base base;
	struct ms_ranges ranges; /* scratch */
	struct {
		struct ms_unit_node *v;
		size_t n, cap;
	} nodes;
	struct {
		struct cover *v;
		size_t n, cap;
	} covers;
	size_t entries;
	bool types_hold_code;
};

static void walk(struct tree *t, Dwarf_Die die, uint32_t parent, unsigned depth);

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

static void visit_function(struct tree *t, Dwarf_Die die, Dwarf_Half tag, uint32_t parent,
			   unsigned depth)
{
	struct ms_die facts;
	Dwarf_Error e = NULL;
	Dwarf_Off offset = 0;
	ms_die_read(t->dbg, die, &facts);
	t->ranges.n = 0;
	ms_die_ranges(&t->base, &facts, &t->ranges);
	if (!t->ranges.n || t->nodes.n >= MS_NO_NODE ||
	    !ms_dwarf_ok(t->dbg, dwarf_dieoffset(die, &offset, &e), &e))
		return; /* declared, abstract, or optimised away: no code in it */
	uint32_t node = (uint32_t)t->nodes.n;
	for (size_t i = 0; i < t->ranges.n; i++)
		*MS_PUSH(&t->covers) =
			(struct cover){t->ranges.v[i].low, t->ranges.v[i].high, node, depth};
	*MS_PUSH(&t->nodes) = (struct ms_unit_node){
		.die = offset,
		.entry = t->ranges.v[0].low,
		.parent = parent,
		.call_file = facts.call_file,
		.call_line = facts.call_line,
		.call_column = facts.call_column,
		.inlined = tag == DW_TAG_inlined_subroutine,
	};
	walk(t, die, node, depth + 1);
}

static void visit(struct tree *t, Dwarf_Die die, uint32_t parent, unsigned depth)
{
	Dwarf_Error e = NULL;
	Dwarf_Half tag = 0;
	if (!ms_dwarf_ok(t->dbg, dwarf_tag(die, &tag, &e), &e))
		return;
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
		visit_function(t, die, tag, parent, depth);
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
		walk(t, die, parent, depth + 1);
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		if (t->types_hold_code)
			walk(t, die, parent, depth + 1);
		break;
	default:
		break;
	}
}

static void walk(struct tree *t, Dwarf_Die die, uint32_t parent, unsigned depth)
{
	Dwarf_Error e = NULL;
	Dwarf_Die child = NULL, next = NULL;
	if (depth > MAX_DEPTH || !ms_dwarf_ok(t->dbg, dwarf_child(die, &child, &e), &e))
		return;
	while (child) {
		if (t->entries++ < MAX_ENTRIES)
			visit(t, child, parent, depth);
		if (t->entries >= MAX_ENTRIES ||
		    !ms_dwarf_ok(t->dbg, dwarf_siblingof_b(t->dbg, child, 1, &next, &e), &e))
			next = NULL;
		dwarf_dealloc_die(child);
		child = next;
	}
}

static int by_low_and_depth(const void *a, const void *b)
{
	const struct cover *x = a, *y = b;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

struct sweep {
	const struct cover *active[MAX_ACTIVE]; /* those that cover the current address */
	size_t n;
	struct {
		struct ms_segment *v;
		size_t n, cap;
	} out;
};

/* From `address` on, the deepest active cover rules. */
static void emit(struct sweep *s, uint64_t address)
{
	const struct cover *best = NULL;
	for (size_t i = 0; i < s->n; i++)
		if (!best || s->active[i]->depth >= best->depth)
			best = s->active[i];
	uint32_t node = best ? best->node : MS_NO_NODE;
	if (s->out.n && s->out.v[s->out.n - 1].node == node)
		return;
	if (s->out.n && s->out.v[s->out.n - 1].address == address)
		s->out.v[s->out.n - 1].node = node;
	else
		*MS_PUSH(&s->out) = (struct ms_segment){address, node};
}

/* Ends, in order, all covers that do not reach past `address`. */
static void retire(struct sweep *s, uint64_t address)
{
	for (;;) {
		uint64_t first = UINT64_MAX;
		for (size_t i = 0; i < s->n; i++)
			if (s->active[i]->high < first)
				first = s->active[i]->high;
		if (!s->n || first > address)
			return;
		size_t kept = 0;
		for (size_t i = 0; i < s->n; i++)
			if (s->active[i]->high > first)
				s->active[kept++] = s->active[i];
		s->n = kept;
		emit(s, first);
	}
}

static void flatten(struct tree *t)
{
	struct ms_unit *u = t->unit;
	struct sweep *s = ms_xrealloc(NULL, 1, sizeof *s);
	s->n = 0;
	s->out.v = NULL;
	s->out.n = s->out.cap = 0;
	qsort(t->covers.v, t->covers.n, sizeof *t->covers.v, by_low_and_depth);
	for (size_t i = 0; i < t->covers.n; i++) {
		retire(s, t->covers.v[i].low);
		if (s->n < MAX_ACTIVE)
			s->active[s->n++] = &t->covers.v[i];
		emit(s, t->covers.v[i].low);
	}
	retire(s, UINT64_MAX - 1);
	u->segment_count = s->out.n;
	u->segments = ms_arena_alloc(&u->arena, s->out.n * sizeof *u->segments);
	if (s->out.n)
		memcpy(u->segments, s->out.v, s->out.n * sizeof *u->segments);
	u->bytes += s->out.n * sizeof *u->segments;
	free(s->out.v);
	free(s);
}

static void read_functions(struct ms_unit *u, const struct ms_unit_base *base, Dwarf_Debug dbg,
			   Dwarf_Die die)
{
	struct tree t = {.unit = u,
			 .dbg = dbg,
			 .base = *base,
			 .types_hold_code = types_hold_code(u->language)};
	walk(&t, die, MS_NO_NODE, 0);
	if (t.nodes.n) {
		u->node_count = t.nodes.n;
		u->nodes = ms_arena_alloc(&u->arena, t.nodes.n * sizeof *u->nodes);
		memcpy(u->nodes, t.nodes.v, t.nodes.n * sizeof *u->nodes);
		u->bytes += t.nodes.n * sizeof *u->nodes;
		flatten(&t);
	}
	free(t.ranges.v);
	free(t.nodes.v);
	free(t.covers.v);
}

/* ---- the unit ---- */

struct ms_unit *ms_unit_read(struct ms_dwarf *d, uint64_t offset)
{
	Dwarf_Debug dbg = d->main.dbg;
	Dwarf_Error e = NULL;
	Dwarf_Die die = NULL;
	struct ms_unit *u = ms_xrealloc(NULL, 1, sizeof *u);
	*u = (struct ms_unit){.die = offset, .bytes = sizeof *u};
	if (!dbg || !ms_dwarf_ok(dbg, dwarf_offdie_b(dbg, offset, 1, &die, &e), &e))
		return u;
	struct ms_die facts;
	ms_die_read(dbg, die, &facts);
	u->language = facts.language;
	u->folder = copy(&u->arena, ms_die_text(dbg, die, DW_AT_comp_dir));
	struct ms_unit_base base = ms_unit_base(d->main.elf, die, &facts);
	read_lines(u, dbg, die);
	read_functions(u, &base, dbg, die);
	dwarf_dealloc_die(die);
	return u;
}

void ms_unit_free(struct ms_unit *u)
{
	if (!u)
		return;
	ms_arena_free(&u->arena);
	free(u);
}

/* Joins folders and name, and takes "." and "x/.." out: "/src/app/../lib/./a.c" is "/src/lib/a.c".
 */
static char *join(struct ms_arena *a, const char *const *parts, size_t n)
{
	size_t total = 1;
	for (size_t i = 0; i < n; i++)
		total += strlen(parts[i]) + 1;
	char *out = ms_arena_alloc(a, total), *end = out;
	bool absolute = parts[0][0] == '/';
	size_t named = 0; /* components that a ".." can take away */
	for (size_t i = 0; i < n; i++) {
		for (const char *p = parts[i]; *p;) {
			size_t len = strcspn(p, "/");
			if (len == 2 && !memcmp(p, "..", 2) && named) {
				while (end > out && *--end != '/')
					;
				named--;
			} else if (len && !(len == 1 && *p == '.') &&
				   !(len == 2 && !memcmp(p, "..", 2) && absolute)) {
				if (end > out || absolute)
					*end++ = '/';
				memcpy(end, p, len);
				end += len;
				named += !(len == 2 && !memcmp(p, "..", 2));
			}
			p += len + (p[len] == '/');
		}
	}
	*end = 0;
	return out;
}

const char *ms_unit_source(struct ms_dwarf *d, struct ms_unit *u, uint32_t number)
{
	if (number < u->first_source || number - u->first_source >= u->source_count)
		return NULL;
	struct ms_source *s = &u->sources[number - u->first_source];
	if (s->path || !s->name)
		return s->path;
	const char *parts[3];
	size_t n = 0;
	parts[n++] = s->name;
	if (parts[0][0] != '/' && s->folder)
		parts[n++] = s->folder;
	/* In version 5 the first folder of the table is the compilation folder itself. */
	if (parts[n - 1][0] != '/' && u->folder && (n == 1 || strcmp(parts[n - 1], u->folder) != 0))
		parts[n++] = u->folder;
	for (size_t i = 0; i < n / 2; i++) {
		const char *swap = parts[i];
		parts[i] = parts[n - 1 - i];
		parts[n - 1 - i] = swap;
	}
	return s->path = join(d->strings, parts, n);
}

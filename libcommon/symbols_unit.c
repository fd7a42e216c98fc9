/* SPDX-License-Identifier: MIT
 * One compilation unit: its line table (symbols_lines.c) and the tree of its functions and inlined
 * calls (symbols_walk.c), flattened for binary search.
 */
#include "symbols_dwarf.h"

#include <stdlib.h>
#include <string.h>

/* A limit that only damaged or hostile files reach. */
enum { MAX_ACTIVE = 4096 };

/* ---- functions ---- */

static int by_low_and_depth(const void *a, const void *b)
{
	const struct ms_cover *x = a, *y = b;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

struct sweep {
	const struct ms_cover *active[MAX_ACTIVE]; /* those that cover the current address */
	size_t n;
	struct {
		struct ms_segment *v;
		size_t n, cap;
	} out;
};

/* From `address` on, the deepest active cover rules. */
static void emit(struct sweep *s, uint64_t address)
{
	const struct ms_cover *best = NULL;
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

static void flatten(struct ms_unit *u, struct ms_tree *t)
{
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

static void keep_functions(struct ms_unit *u, struct ms_tree *t)
{
	if (!t->nodes.n)
		return;
	u->node_count = t->nodes.n;
	u->nodes = ms_arena_alloc(&u->arena, t->nodes.n * sizeof *u->nodes);
	memcpy(u->nodes, t->nodes.v, t->nodes.n * sizeof *u->nodes);
	u->bytes += t->nodes.n * sizeof *u->nodes;
	flatten(u, t);
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
	const char *folder = ms_die_text(dbg, die, DW_AT_comp_dir);
	u->folder = folder ? ms_arena_strdup(&u->arena, folder) : NULL;
	struct ms_unit_base base = ms_unit_base(d->main.elf, die, &facts);
	if (facts.has_lines)
		ms_lines_read(u, d->main.elf, facts.lines);
	Dwarf_Off header = 0, size = 0;
	struct ms_tree tree = {0};
	if (ms_dwarf_ok(dbg, dwarf_die_CU_offset_range(die, &header, &size, &e), &e))
		ms_tree_read(&base, header, offset, u->language, &tree);
	keep_functions(u, &tree);
	free(tree.nodes.v);
	free(tree.covers.v);
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

/* SPDX-License-Identifier: MIT
 * One compilation unit: its line table and the tree of its functions and inlined calls
 * (symbols_tree.c), flattened for binary search.
 */
#include "symbols_dwarf.h"
#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

#include "symbols_split.h"

/* A limit that only damaged or hostile files reach. */
enum { MAX_ACTIVE = 4096 };

void *ms_unit_keep(struct ms_unit *u, const void *v, size_t bytes)
{
	void *copy = ms_arena_alloc(u->memory, bytes);
	u->bytes += bytes;
	return bytes ? memcpy(copy, v, bytes) : copy;
}

/* ---- functions ---- */

static int by_low_and_depth(const void *a, const void *b)
{
	const struct ms_cover *x = a, *y = b;
	return MS_ORDER(x->low, y->low) ?:
	       MS_ORDER(x->depth, y->depth) ?:
	       MS_ORDER(x->node, y->node);
}

struct sweep {
	const struct ms_cover *active[MAX_ACTIVE]; /* those that cover the current address */
	size_t n;
	MS_ARRAY(struct ms_segment) out;
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
	u->segments = ms_unit_keep(u, s->out.v, s->out.n * sizeof *u->segments);
	free(s->out.v);
	free(s);
}

static void keep_functions(struct ms_unit *u, struct ms_tree *t)
{
	if (!t->nodes.n)
		return;
	u->node_count = t->nodes.n;
	u->nodes = ms_unit_keep(u, t->nodes.v, t->nodes.n * sizeof *u->nodes);
	flatten(u, t);
}

/* ---- the unit ---- */

bool ms_unit_die(struct ms_dwarf *d, uint32_t index, Dwarf_Die *out, const struct ms_split **split)
{
	uint8_t type;
	uint64_t id;
	*split = NULL;
	if (!d->main.dw || !dwarf_offdie(d->main.dw, d->units[index].die, out))
		return false;
	if (dwarf_cu_info(out->cu, NULL, &type, NULL, NULL, &id, NULL, NULL) != 0 ||
	    type != DW_UT_skeleton)
		return true;
	struct ms_unit_ref *ref = &d->units[index];
	*split = ref->lacks_split ? NULL : ms_split_of(d->splits, out, id);
	ref->lacks_split = !*split;
	d->partial |= !*split;
	if (*split)
		*out = (*split)->die;
	return true;
}

struct ms_unit *ms_unit_read(struct ms_dwarf *d, uint32_t index)
{
	Dwarf_Die outer, die;
	const struct ms_split *split;
	struct ms_unit *u = ms_arena_alloc(&d->unit_memory, sizeof *u);
	*u = (struct ms_unit){.memory = &d->unit_memory, .index = index, .bytes = sizeof *u};
	if (!d->main.dw || !dwarf_offdie(d->main.dw, d->units[index].die, &outer) ||
	    !ms_unit_die(d, index, &die, &split)) {
		d->damaged = true;
		return u;
	}
	int language = dwarf_srclang(&die);
	u->language = language < 0 ? 0 : (uint32_t)language;
	const char *folder = ms_die_text(&outer, DW_AT_comp_dir);
	u->folder = folder ? ms_arena_strdup(u->memory, folder) : NULL;
	struct ms_tree tree = {0};
	d->damaged |= !ms_lines_read(u, &outer, &die);
	ms_tree_read(&die, u->language, split, &tree);
	d->damaged |= tree.damaged;
	keep_functions(u, &tree);
	free(tree.nodes.v);
	free(tree.covers.v);
	return u;
}

/* Takes "." and "x/.." out: "/src/app/../lib/./a.c" is "/src/lib/a.c". */
static char *tidy(struct ms_arena *a, const char *path)
{
	char *out = ms_arena_alloc(a, strlen(path) + 2), *end = out;
	bool absolute = path[0] == '/';
	size_t named = 0; /* components that a ".." can take away */
	for (const char *p = path; *p;) {
		size_t len = strcspn(p, "/");
		bool up = len == 2 && !memcmp(p, "..", 2);
		if (up && named) {
			while (end > out && *--end != '/')
				;
			named--;
		} else if (len && !(len == 1 && *p == '.') && !(up && absolute)) {
			if (end > out || absolute)
				*end++ = '/';
			memcpy(end, p, len);
			end += len;
			named += !up;
		}
		p += len + (p[len] == '/');
	}
	*end = 0;
	return out;
}

const char *ms_unit_source(struct ms_dwarf *d, struct ms_unit *u, uint32_t number)
{
	if (number >= u->source_count)
		return NULL;
	struct ms_source *s = &u->sources[number];
	if (s->path || !s->name)
		return s->path;
	/* libdw joins it with the compilation folder up to version 4 of the table, not in 5 */
	size_t n = u->folder && s->name[0] != '/' ? strlen(u->folder) : 0;
	bool joined = !n || (strncmp(s->name, u->folder, n) == 0 && s->name[n] == '/');
	return s->path = tidy(d->strings,
			      joined ? s->name
				     : ms_arena_printf(u->memory, "%s/%s", u->folder, s->name));
}

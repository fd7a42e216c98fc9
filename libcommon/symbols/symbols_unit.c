/* SPDX-License-Identifier: MIT
 * Reads one compilation unit: its line table (symbols_lines.c) and the tree of its functions and
 * inlined calls (symbols_tree.c), flattened.
 */
#include "symbols_dwarf.h"

#include <stdlib.h>
#include <string.h>

void *ms_unit_keep(struct ms_unit *u, const void *v, size_t bytes)
{
	void *copy = ms_arena_alloc(u->memory, bytes);
	u->bytes += bytes;
	return bytes ? memcpy(copy, v, bytes) : copy;
}

struct ms_spans ms_unit_keep_spans(struct ms_unit *u, struct ms_spans *s)
{
	ms_spans_sort(s);
	struct ms_spans kept = {.v = ms_unit_keep(u, s->v, s->n * sizeof *s->v), .n = s->n};
	free(s->v);
	return kept;
}

bool ms_unit_die(struct ms_dwarf *d, uint32_t index, Dwarf_Die *out, const struct ms_split **split)
{
	uint8_t type;
	uint64_t id;
	*split = NULL;
	if (!d->main.dw || !dwarf_offdie(d->main.dw, d->units.v[index].die, out))
		return false;
	if (dwarf_cu_info(out->cu, NULL, &type, NULL, NULL, &id, NULL, NULL) != 0 ||
	    type != DW_UT_skeleton)
		return true;
	struct ms_unit_ref *ref = &d->units.v[index];
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
	if (!d->main.dw || !dwarf_offdie(d->main.dw, d->units.v[index].die, &outer) ||
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
	u->nodes = ms_unit_keep(u, tree.nodes.v, tree.nodes.n * sizeof *u->nodes);
	u->calls = ms_unit_keep_spans(u, &tree.calls);
	free(tree.nodes.v);
	return u;
}

/* Removes "." and "x/.." from a path: "/src/app/../lib/./a.c" becomes "/src/lib/a.c". */
static char *tidy(struct ms_arena *a, const char *path)
{
	char *out = ms_arena_alloc(a, strlen(path) + 2), *end = out;
	bool absolute = path[0] == '/';
	size_t named = 0; /* number of components so far that ".." can remove */
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

const char *ms_source_path(struct ms_arena *a, const char *folder, const char *name)
{
	/* libdw prepends the compilation folder in line tables up to version 4, not in version 5 */
	size_t n = folder && name[0] != '/' ? strlen(folder) : 0;
	bool joined = !n || (strncmp(name, folder, n) == 0 && name[n] == '/');
	return tidy(a, joined ? name : ms_arena_printf(a, "%s/%s", folder, name));
}

const char *ms_unit_source(struct ms_dwarf *d, struct ms_unit *u, uint32_t number)
{
	if (number >= u->source_count)
		return NULL;
	struct ms_source *s = &u->sources[number];
	if (s->path || !s->name)
		return s->path;
	return s->path = ms_source_path(d->strings, u->folder, s->name);
}

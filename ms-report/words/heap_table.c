/* SPDX-License-Identifier: MIT
 * The program's custom heaps beside malloc's, as a table and as a line.
 */
#include "table.h"

#include "names.h"

#include "libcommon/base/lookup.h"
#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)
#define LINE_MOST 2u
#define NAMES_MOST 8u

/* Holds the sums of a heap; figures may be UNKNOWN. */
struct heap {
	const char *name;
	bool plain; /* malloc's heap */
	uint64_t sites, live, blocks, peak, allocated, allocations, frees, backing, unused;
};

static const struct column columns[] = {
	{"heap", "heap", CELL_TEXT, .sum = false},
	{"live", "live_bytes", CELL_SIZE, .sum = true, COLUMN_OF(heap, live)},
	{"blocks", "live_blocks", CELL_COUNT, .sum = true, COLUMN_OF(heap, blocks)},
	{"at the peak", "peak_bytes", CELL_SIZE, .sum = true, COLUMN_OF(heap, peak)},
	{"allocated", "allocated_bytes", CELL_SIZE, .sum = true, COLUMN_OF(heap, allocated)},
	{"allocations", "allocations", CELL_COUNT, .sum = true, .optional = true,
	 COLUMN_OF(heap, allocations)},
	{NULL, "frees", CELL_COUNT, .sum = true, COLUMN_OF(heap, frees)},
	{"backing", "backing_bytes", CELL_SIZE, .sum = false, COLUMN_OF(heap, backing)},
	{"unused", "unused_bytes", CELL_SIZE, .sum = false, COLUMN_OF(heap, unused)},
};
enum { NAME, LIVE, BACKING = 7 };

struct heaps {
	MS_ARRAY(struct heap) all; /* the first one is malloc's */
	struct ms_lookup by_name;
};

/* Returns the index of a custom heap, or NONE. */
static uint32_t find(const struct heaps *h, const char *name)
{
	uint32_t hash = ms_hash_text(name), n;
	for (size_t at = hash; (n = ms_lookup_next(&h->by_name, hash, &at));)
		if (!strcmp(h->all.v[n - 1].name, name))
			return n - 1;
	return NONE;
}

static uint32_t add(struct heaps *h, const char *name, bool plain)
{
	*MS_PUSH(&h->all) = (struct heap){.name = name,
					  .plain = plain,
					  .allocated = UNKNOWN,
					  .allocations = UNKNOWN,
					  .frees = UNKNOWN,
					  .backing = UNKNOWN,
					  .unused = UNKNOWN};
	if (!plain)
		ms_lookup_add(&h->by_name, ms_hash_text(name), (uint32_t)h->all.n);
	return (uint32_t)h->all.n - 1;
}

static const char *heap_noted(const struct frame *f)
{
	return f->note && !strncmp(f->note, "heap ", 5) ? f->note + 5 : NULL;
}

/* Returns the heap of a stack, which is noted in its outermost frame. */
static uint32_t heap_of(struct heaps *h, const struct frame *outermost)
{
	const char *name = heap_noted(outermost);
	uint32_t found = name ? find(h, name) : 0;
	return found == NONE ? add(h, name, false) : found;
}

/* Adds a figure that some rows may lack; it is not known if all of them do. */
static void add_known(uint64_t *to, uint64_t v)
{
	if (v != UNKNOWN)
		*to = figure_or_0(*to) + v;
}

static void sum_sites(const struct model *m, struct heaps *h)
{
	uint32_t *of = ms_xrealloc(NULL, m->nodes.n + 1, sizeof *of); /* the heap of each node */
	add(h, "malloc", true);
	for (size_t i = 0; i < m->nodes.n; i++) { /* callers come first */
		const struct node *k = &m->nodes.v[i];
		of[i] = k->parent == NONE ? heap_of(h, &m->frames.v[k->frame]) : of[k->parent];
	}
	for (size_t i = 0; i < m->sites.n; i++) {
		const struct site *s = &m->sites.v[i];
		struct heap *to = &h->all.v[s->stack == NONE ? 0 : of[s->stack]];
		to->sites++;
		to->live += figure_or_0(s->at.bytes);
		to->blocks += figure_or_0(s->at.blocks);
		to->peak += figure_or_0(s->peak.bytes);
		add_known(&to->allocated, s->allocated_bytes);
		add_known(&to->allocations, s->allocations);
		add_known(&to->frees, s->frees);
	}
	free(of);
}

/* Adds the memory behind custom heaps. How much of it is unused is known only at the end. */
static void add_backing(const struct model *m, struct heaps *h)
{
	bool end = m->at_label && !strcmp(m->at_label, "end");
	sqlite3_stmt *st = model_ask(m, "SELECT name, sum(backing_bytes) FROM heap GROUP BY name");
	while (model_next(&st)) {
		const char *name = (const char *)sqlite3_column_text(st, 0);
		uint32_t i = name ? find(h, name) : NONE;
		if (i == NONE)
			continue;
		struct heap *to = &h->all.v[i];
		to->backing = figure_in(st, 1);
		to->unused = end && figure_some(to->backing) ? figure_sub(to->backing, to->live)
							     : UNKNOWN;
	}
}

MS_COMPARE(by_live, struct heap, MS_ORDER(y->live, x->live) ?: strcmp(x->name, y->name))

struct table table_heaps(struct model *m, size_t limit)
{
	struct table t = TABLE_OF(columns, .title = m->est ? "HEAPS (estimated)" : "HEAPS",
				  .empty = "no allocations in this snapshot", .at = true);
	struct heaps h = {0};
	sum_sites(m, &h);
	add_backing(m, &h);
	qsort(h.all.v, h.all.n, sizeof *h.all.v, by_live);
	for (size_t i = 0; i < h.all.n; i++) {
		if (!h.all.v[i].sites)
			continue;
		if (m->peak.bytes == UNKNOWN)
			h.all.v[i].peak = UNKNOWN;
		struct cell *c = table_row(m, &t)->cells;
		table_take(&t, c, &h.all.v[i]);
		c[NAME].s = h.all.v[i].name;
	}
	MS_FREE(h.all.v, h.by_name.slots);
	table_finish(m, &t, -1, limit, "heap", TOTAL_NONE);
	return t;
}

static bool has_heaps(const struct model *m)
{
	for (size_t i = 0; i < m->frames.n; i++)
		if (heap_noted(&m->frames.v[i]))
			return true;
	return false;
}

const char *heaps_line(struct model *m)
{
	if (!has_heaps(m))
		return NULL;
	struct table t = table_heaps(m, SIZE_MAX);
	const char *s = "live in ";
	if (t.n < 2)
		return NULL;
	for (size_t i = 0; i < t.n && i < LINE_MOST; i++) {
		const struct cell *c = t.rows[i].cells;
		const char *behind = c[BACKING].n == UNKNOWN || !c[BACKING].n
					     ? ""
					     : SAY(" (backing %s)", say_size(m, c[BACKING].n));
		s = SAY("%s%s%s %s%s", s, i ? ", " : "",
			name_cut(&m->arena, name_clean(&m->arena, c[NAME].s, false), 24, false),
			say_size(m, c[LIVE].n), behind);
	}
	return t.n > LINE_MOST
		       ? SAY("%s, %s more: ms-report --heaps", s, say_count(m, t.n - LINE_MOST))
		       : SAY("%s: ms-report --heaps", s);
}

/* Returns the last " in " of a name such as "zone_alloc in libzone.so"; NULL = none. */
static const char *last_in(const char *name)
{
	const char *last = NULL;
	for (const char *s = name; (s = strstr(s, " in ")); s++)
		last = s;
	return last;
}

/* Returns the first few names that a query selects: "'a', 'b' in 'lib.so'"; NULL = none. */
static const char *names_of(struct model *m, const char *from)
{
	static const struct column names[] = {{.kind = CELL_TEXT, .sql = "j.value"}};
	struct table t = TABLE_OF(names, .title = NULL);
	const char *s = NULL;
	table_query(m, &t, "%s ORDER BY j.value LIMIT %u", from, NAMES_MOST);
	for (size_t i = 0; i < t.n; i++) {
		const char *name = t.rows[i].cells[0].s;
		name = name_cut(&m->arena, name_clean(&m->arena, name ? name : "", false), 60,
				false);
		const char *in = last_in(name);
		name = in ? SAY("'%.*s' in '%s'", (int)(in - name), name, in + 4)
			  : SAY("'%s'", name);
		s = s ? SAY("%s, %s", s, name) : name;
	}
	return s;
}

const char *heaps_missing(struct model *m)
{
	return names_of(m, "FROM process p, json_each(p.hooks_missing) j GROUP BY j.value"
			   " HAVING count(DISTINCT p.id) = (SELECT count(hooks_missing) FROM "
			   "process)");
}

const char *heaps_unhooked(struct model *m)
{
	return names_of(m, "FROM process p, json_each(p.allocators_missed) j GROUP BY j.value");
}

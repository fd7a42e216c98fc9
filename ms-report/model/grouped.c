/* SPDX-License-Identifier: MIT
 * The list of a figure that very many sites share: by function, file or directory.
 *
 *   5 sites have 8 %                 main.cc      /src/net/read.cc:80   first it is tried by function
 *   54,423 more sites have 92 %      ...          /src/net/             at last by this directory
 */
#include "grouped.h"

#include "figures.h"
#include "fold.h"

#include "libcommon/base/lookup.h"
#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SITES 5            /* that are to have a third */
#define FIRST_ROWS 6             /* that are to have more than half */
#define DEEPEST 12               /* directory */
static const double ALONE = .97; /* of the figure in one directory or module: that is no answer */

/* What is the same in all sites of a group. */
struct key {
	const char *text; /* NULL = not known */
	size_t length;
	const char *file; /* of a function; "" = none */
	uint32_t frame;   /* of one without a name; else 0 */
};

/* What stands before the first "::" of a qualified name, outside of what it is an
 * implementation for: "clang" of "clang::Sema::Act", "app" of "<app::Map<K> as Index>::at". */
static size_t namespace_of(const char *function, const char **name)
{
	const char *f = function + strspn(function, "<&(*");
	size_t n = strcspn(f, ":<( ");
	*name = f;
	return n && strncmp(f + n, "::", 2) == 0 ? n : 0;
}

/* Up to its slash number `depth`, that of the root not counted, or its last one. */
static size_t directory_of(const char *file, size_t depth)
{
	size_t length = 0, n = 0;
	for (size_t i = 1; file[i] && n < depth; i++)
		if (file[i] == '/') {
			length = i + 1;
			n++;
		}
	return length;
}

static struct key key_of(const struct model *m, const struct frame *f, enum grouped by,
			 size_t depth)
{
	const char *path = f->module == NONE ? NULL : m->modules.v[f->module].path;
	struct key k = {.text = f->file, .file = ""};
	if (by == GROUPED_FUNCTION) {
		k.text = f->function;
		k.file = f->file ? f->file : path ? path : "";
		k.frame = f->function ? 0 : (uint32_t)(f - m->frames.v) + 1;
	} else if (by == GROUPED_MODULE) {
		k.text = path;
	} else if (by == GROUPED_NAMESPACE) {
		k.text = NULL;
		k.length = f->function ? namespace_of(f->function, &k.text) : 0;
		k.text = k.length ? k.text : path;
	}
	if (!k.text)
		return k;
	if (by == GROUPED_DIRECTORY) {
		k.length = directory_of(k.text, depth);
		k.text = k.length ? k.text : NULL;
	} else if (!k.length) {
		k.length = strlen(k.text);
	}
	return k;
}

static uint32_t hash_of(const struct key *k)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ k->frame;
	for (size_t i = 0; k->text && i < k->length; i++)
		h = (h ^ (uint8_t)k->text[i]) * UINT64_C(0x100000001b3);
	return ms_hash(h, ms_hash_text(k->file));
}

static bool is_same(const struct key *a, const struct key *b)
{
	if (!a->text || !b->text)
		return a->text == b->text && a->frame == b->frame;
	return a->length == b->length && memcmp(a->text, b->text, a->length) == 0 &&
	       strcmp(a->file, b->file) == 0;
}

struct group {
	struct key key;
	uint64_t sum;
};

struct grouping {
	struct model *m;
	enum metric metric;
	enum grouped by;
	size_t depth;
	MS_ARRAY(struct group) v;
	struct ms_lookup lookup;
	uint32_t *of_frame; /* number of its group, from 1; 0 = not asked */
};

static uint32_t frame_number(const struct model *m, const struct site *s)
{
	uint32_t node = s->user != NONE ? s->user : s->stack;
	return node == NONE ? NONE : m->nodes.v[node].frame;
}

/* The number of a site's group, from 1. */
static uint32_t group_of(struct grouping *g, const struct site *s)
{
	uint32_t frame = frame_number(g->m, s);
	uint32_t *number = &g->of_frame[frame == NONE ? g->m->frames.n : frame];
	if (*number)
		return *number;
	struct key k = frame == NONE ? (struct key){.file = ""}
				     : key_of(g->m, &g->m->frames.v[frame], g->by, g->depth);
	uint32_t hash = hash_of(&k);
	for (size_t i = hash; (*number = ms_lookup_next(&g->lookup, hash, &i));)
		if (is_same(&g->v.v[*number - 1].key, &k))
			return *number;
	*MS_PUSH(&g->v) = (struct group){.key = k};
	ms_lookup_add(&g->lookup, hash, (uint32_t)g->v.n);
	return *number = (uint32_t)g->v.n;
}

/* ---- which rows tell most ---- */

/* Adds up all groups. */
static void sum_groups(struct grouping *g)
{
	for (size_t i = 0; i < g->m->sites.n; i++) {
		const struct site *s = &g->m->sites.v[i];
		uint32_t number = group_of(g, s);
		g->v.v[number - 1].sum += figure_or_0(site_pair(s, g->metric).a);
	}
}

/* What the `n` largest known ones have; 0 where one has nearly all of `all`. */
static uint64_t largest(const struct grouping *g, size_t n, uint64_t all)
{
	uint64_t most[FIRST_ROWS] = {0}, sum = 0;
	for (size_t i = 0; i < g->v.n; i++) {
		uint64_t v = g->v.v[i].sum;
		if (!g->v.v[i].key.text && !g->v.v[i].key.frame)
			continue;
		for (size_t k = 0; k < n; k++)
			if (v > most[k]) {
				uint64_t less = most[k];
				most[k] = v;
				v = less;
			}
	}
	for (size_t k = 0; k < n; k++)
		sum += most[k];
	bool alone = g->by > GROUPED_FILE && (double)most[0] > ALONE * (double)all;
	return alone ? 0 : sum;
}

static void forget(struct grouping *g)
{
	memset(g->of_frame, 0, (g->m->frames.n + 1) * sizeof *g->of_frame);
	free(g->lookup.slots);
	g->lookup = (struct ms_lookup){0};
	g->v.n = 0;
}

/* Leaves in `g` how it is done. False: no way is better than single sites, which have `first`. */
static bool choose(struct grouping *g, size_t n, uint64_t first, uint64_t all)
{
	uint64_t best = first;
	enum grouped by = GROUPED_NOT;
	size_t depth = 0;
	for (g->by = GROUPED_FUNCTION; g->by < GROUPED_COUNT; g->by++) {
		g->depth = g->by == GROUPED_DIRECTORY ? DEEPEST : 0;
		do {
			forget(g);
			sum_groups(g);
			uint64_t has = largest(g, n, all);
			if (has > best) {
				best = has;
				by = g->by;
				depth = g->depth;
			}
			if (has > all / 2)
				return true;
		} while (g->depth && --g->depth);
	}
	g->by = by;
	g->depth = depth;
	forget(g);
	return by != GROUPED_NOT;
}

/* ---- the list ---- */

struct member {
	uint32_t group, site; /* number, index */
	uint64_t a;
};

static int by_group(const void *x, const void *y)
{
	const struct member *p = x, *q = y;
	return MS_ORDER(p->group, q->group) ?: MS_ORDER(q->a, p->a) ?: MS_ORDER(p->site, q->site);
}

/* A row that stands for `n` sites, the largest first. */
static const struct site *row_of(struct model *m, const struct member *v, size_t n)
{
	uint32_t *members = ms_arena_alloc(&m->arena, n * sizeof *members);
	for (size_t i = 0; i < n; i++)
		members[i] = v[i].site;
	struct site *row = ms_arena_alloc(&m->arena, sizeof *row);
	*row = *fold_sum(m, members, n);
	row->one_time = NULL;
	return row;
}

static struct list list_groups(struct grouping *g, size_t limit)
{
	struct model *m = g->m;
	struct member *v = ms_xrealloc(NULL, m->sites.n + 1, sizeof *v);
	const struct site **rows = ms_xrealloc(NULL, m->sites.n + 1, sizeof *rows);
	size_t n = 0, count = 0;
	for (uint32_t i = 0; i < m->sites.n; i++) {
		const struct site *s = &m->sites.v[i];
		struct pair p = site_pair(s, g->metric);
		if (g->metric == METRIC_HELD && site_is_leak(s))
			rows[count++] = s;
		else if (figure_some(p.a) || figure_some(p.b))
			v[n++] = (struct member){group_of(g, s), i, figure_or_0(p.a)};
	}
	size_t leaks = count;
	qsort(v, n, sizeof *v, by_group);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && v[end].group == v[i].group;)
			end++;
		rows[count++] = row_of(m, &v[i], end - i);
	}
	struct list l = list_of_rows(m, rows, count, g->metric, limit);
	l.by = g->by;
	l.depth = g->depth;
	l.groups = count - leaks;
	MS_FREE(v, rows);
	return l;
}

struct list list_grouped(struct model *m, struct list l, size_t limit)
{
	struct grouping g = {.m = m, .metric = l.metric};
	uint64_t first = 0, all = figure_or_0(figure_add(l.sum.a, l.more.a));
	for (size_t i = 0; i < l.n && i < FIRST_SITES; i++)
		first += figure_or_0(site_pair(l.rows[i], l.metric).a);
	if (l.n < FIRST_SITES || !l.more_sites || first >= all / 3)
		return l;
	g.of_frame = ms_xcalloc(m->frames.n + 1, sizeof *g.of_frame);
	if (choose(&g, limit < FIRST_ROWS ? limit : FIRST_ROWS, first, all)) {
		const char *title = l.title;
		l = list_groups(&g, limit);
		l.title = title;
	}
	MS_FREE(g.of_frame, g.v.v, g.lookup.slots);
	return l;
}

bool grouped_deepest(const struct list *l, const char *directory)
{
	size_t n = 0;
	for (size_t i = 1; *directory && directory[i]; i++)
		n += directory[i] == '/';
	return n == l->depth;
}

const struct frame *grouped_frame(const struct model *m, const struct site *row)
{
	uint32_t frame = frame_number(m, row);
	return frame == NONE ? NULL : &m->frames.v[frame];
}

const char *grouped_name(const struct model *m, const struct list *l, const struct site *row,
			 size_t *length)
{
	const struct frame *f = grouped_frame(m, row);
	struct key k = {.text = NULL};
	if (f)
		k = key_of(m, f, l->by, l->depth);
	*length = k.length;
	return k.text;
}

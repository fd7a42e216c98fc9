/* SPDX-License-Identifier: MIT
 * Groups the sites of a list whose total is scattered over very many sites.
 *
 *   5 sites 8 %, 54,423 more sites 92 %
 *   by function     six have 20 %
 *   by file         six have 31 %
 *   by directory    six have 64 %: this one
 */
#include "grouped.h"

#include "figures.h"
#include "recursion.h"

#include "libcommon/base/lookup.h"
#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SITES 5 /* number of first rows; in a scattered list they hold under 1/3 */
#define FIRST_ROWS 6  /* number of first groups that must hold over 1/2 of the total */
#define DEEPEST 12    /* deepest level of directories */
/* A grouping in which one directory or module has more than this part of the total is not used. */
static const double ALONE = .97;

/* Holds the properties that all sites of a group have in common. */
struct key {
	const char *text; /* name; NULL = not known */
	size_t length;
	const char *file; /* source file of a function; "" = none */
	uint32_t frame;   /* index of a frame without a name; else 0 */
};

/* Finds the outermost namespace of a function: "clang" of "clang::Sema::Act", "app" of
 * "<app::Map<K> as Index>::at". Returns its length; 0 = there is none. */
static size_t namespace_of(const char *function, const char **name)
{
	const char *f = function + strspn(function, "<&(*");
	size_t n = strcspn(f, ":<( ");
	*name = f;
	return n && strncmp(f + n, "::", 2) == 0 ? n : 0;
}

/* Returns the length of the prefix of a path that ends at slash number `depth` (a leading slash not
 * counted), or at the last slash if there are fewer. */
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
	const struct site *const *sites; /* sites of the list; NULL = all sites of the model */
	size_t n;                        /* number of sites */
	enum metric metric;
	enum grouped by;
	size_t depth;
	MS_ARRAY(struct group) v;
	struct ms_lookup lookup;
	uint64_t *sums;     /* by frame: sum over its sites; last element: sites without frame */
	uint32_t *of_frame; /* by frame: number of its group, from 1; 0 = not yet known */
};

static const struct site *site_at(const struct grouping *g, size_t i)
{
	return g->sites ? g->sites[i] : &g->m->sites.v[i];
}

/* Returns the index of a site's frame, or NONE. */
static uint32_t frame_number(const struct model *m, const struct site *s)
{
	uint32_t node = s->user != NONE ? s->user : s->stack;
	return node == NONE ? NONE : m->nodes.v[node].frame;
}

/* Returns a site's index in sums[] and of_frame[]. */
static size_t frame_place(const struct model *m, const struct site *s)
{
	uint32_t frame = frame_number(m, s);
	return frame == NONE ? m->frames.n : frame;
}

/* Returns the number of the group, from 1, of a frame's sites. */
static uint32_t group_of(struct grouping *g, size_t place)
{
	uint32_t *number = &g->of_frame[place];
	if (*number)
		return *number;
	struct key k = place == g->m->frames.n
			       ? (struct key){.file = ""}
			       : key_of(g->m, &g->m->frames.v[place], g->by, g->depth);
	uint32_t hash = hash_of(&k);
	for (size_t i = hash; (*number = ms_lookup_next(&g->lookup, hash, &i));)
		if (*number <= g->v.n && is_same(&g->v.v[*number - 1].key, &k))
			return *number;
	*MS_PUSH(&g->v) = (struct group){.key = k};
	ms_lookup_add(&g->lookup, hash, (uint32_t)g->v.n);
	return *number = (uint32_t)g->v.n;
}

/* ---- the choice ---- */

/* Adds up the sites of each frame only once, because there may be a hundred times as many sites as
 * frames, and more than ten ways to group. */
static void sum_frames(struct grouping *g)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct site *s = site_at(g, i);
		g->sums[frame_place(g->m, s)] += figure_or_0(site_pair(s, g->metric).a);
	}
}

/* Adds up the frames of each group. */
static void sum_groups(struct grouping *g)
{
	for (size_t i = 0; i <= g->m->frames.n; i++) {
		uint32_t number = g->sums[i] ? group_of(g, i) : 0;
		if (number && number <= g->v.n && g->v.v)
			g->v.v[number - 1].sum += g->sums[i];
	}
}

/* Returns the sum of the `n` largest groups with a known name; 0 if one group has nearly all of
 * `all`. */
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

/* Chooses the kind of group for `g`. Returns false if no grouping is better than single sites,
 * whose first rows sum up to `first`. */
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
	uint32_t group, site; /* group number, site index */
	uint64_t a;
};

static int by_group(const void *x, const void *y)
{
	const struct member *p = x, *q = y;
	return MS_ORDER(p->group, q->group) ?: MS_ORDER(q->a, p->a) ?: MS_ORDER(p->site, q->site);
}

/* Makes one row from `n` sites, the largest first. Its maxima are the sums of the sites' maxima. */
static const struct site *row_of(struct model *m, const struct member *v, size_t n)
{
	uint32_t *members = ms_arena_alloc(&m->arena, n * sizeof *members);
	for (size_t i = 0; i < n; i++)
		members[i] = v[i].site;
	struct site *row = ms_arena_alloc(&m->arena, sizeof *row);
	*row = *recursion_sum(m, members, n);
	row->one_time = NULL;
	row->max_live_bytes = row->max_live_blocks = row->rise_bytes = 0;
	row->rise_spread = NULL;
	for (size_t i = 0; i < n; i++) {
		const struct site *s = &m->sites.v[members[i]];
		row->max_live_bytes = figure_add(row->max_live_bytes, s->max_live_bytes);
		row->max_live_blocks = figure_add(row->max_live_blocks, s->max_live_blocks);
		row->rise_bytes = figure_add(row->rise_bytes, s->rise_bytes);
		if (!s->rise_spread)
			continue;
		if (!row->rise_spread) {
			row->rise_spread = ms_arena_alloc(&m->arena, sizeof *row->rise_spread);
			*row->rise_spread = (struct ms_spread){0};
		}
		ms_spread_add(row->rise_spread, s->rise_spread);
	}
	return row;
}

static struct list list_groups(struct grouping *g, size_t limit)
{
	struct model *m = g->m;
	struct member *v = ms_xrealloc(NULL, g->n + 1, sizeof *v);
	const struct site **rows = ms_xrealloc(NULL, g->n + 1, sizeof *rows);
	size_t n = 0, count = 0;
	for (size_t i = 0; i < g->n; i++) {
		const struct site *s = site_at(g, i);
		uint32_t at = (uint32_t)(s - m->sites.v);
		struct pair p = site_pair(s, g->metric);
		if (g->metric == METRIC_HELD && site_is_leak(s))
			rows[count++] = s;
		else if (figure_some(p.a) || figure_some(p.b))
			v[n++] = (struct member){group_of(g, frame_place(m, s)), at,
						 figure_or_0(p.a)};
	}
	size_t leaks = count;
	qsort(v, n, sizeof *v, by_group);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && v[end].group == v[i].group;)
			end++;
		rows[count++] = row_of(m, &v[i], end - i);
	}
	struct list l = (g->sites ? list_some : list_of_rows)(m, rows, count, g->metric, limit);
	l.by = g->by;
	l.depth = g->depth;
	l.groups = count - leaks;
	MS_FREE(v, rows);
	return l;
}

struct list list_grouped(struct model *m, struct list l, size_t limit)
{
	struct grouping g = {
		.m = m, .sites = l.of, .n = l.of ? l.of_n : m->sites.n, .metric = l.metric};
	uint64_t first = 0, all = figure_or_0(figure_add(l.sum.a, l.more.a));
	if (!l.more_sites)
		return l;
	struct list five = l.n >= FIRST_SITES ? l
			   : l.of             ? list_some(m, l.of, l.of_n, l.metric, FIRST_SITES)
					      : list_folded(m, l.metric, FIRST_SITES);
	for (size_t i = 0; i < five.n && i < FIRST_SITES; i++)
		first += figure_or_0(site_pair(five.rows[i], l.metric).a);
	if (first >= all / 3)
		return l;
	g.of_frame = ms_xcalloc(m->frames.n + 1, sizeof *g.of_frame);
	g.sums = ms_xcalloc(m->frames.n + 1, sizeof *g.sums);
	sum_frames(&g);
	if (choose(&g, limit < FIRST_ROWS ? limit : FIRST_ROWS, first, all)) {
		const char *title = l.title;
		l = list_groups(&g, limit);
		l.title = title;
	}
	MS_FREE(g.of_frame, g.sums, g.v.v, g.lookup.slots);
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

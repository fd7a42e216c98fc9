/* SPDX-License-Identifier: MIT
 * Tables of what keeps blocks alive: the first screen's, and the tree of --retained.
 */
#include "kept.h"

#include "names.h"
#include "words.h"

#include "ms-report/model/kept_tree.h"

#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

static const char no_scan[] =
	"no retention scan in this recording: ms-record --retention, or ms-record --tell FILE "
	"retention, makes one";

/* ---- the first screen ---- */

enum { BYTES, SHARE, BLOCKS, NAME };
static const struct column kept_columns[] = {
	{"bytes", "retained_bytes", CELL_SIZE, .sum = false},
	{"share", NULL, CELL_TEXT, .sum = false},
	{"blocks", "retained_blocks", CELL_COUNT, .sum = false},
	{"keeper", NULL, CELL_TEXT, .sum = false},
};
enum { LEAST = 200 }; /* a row has at least one part in so many of what is live */

static void put_kept(struct model *m, struct table *t, enum row_kind kind, struct live v,
		     uint64_t of, const char *name)
{
	struct row *r = table_row(m, t);
	r->kind = kind;
	r->cells[BYTES].n = v.bytes;
	r->cells[SHARE].s = say_share(m, v.bytes, of);
	r->cells[BLOCKS].n = v.blocks;
	r->cells[NAME].s = name;
}

/* Returns the label of a keeper, and what observes it. */
static const char *label_of(struct model *m, const struct kept *k, const struct kept_row *x,
			    const struct style *st)
{
	const char *label = kept_label(m, k, x, st), *also = kept_observers(m, k, x, st);
	return also ? SAY("%s; also reached from %s", label, also) : label;
}

static struct live retained(const struct ms_kept_branch *b)
{
	return (struct live){b->bytes, b->blocks};
}

/* Adds the largest of what is directly below a keeper of most of what is live, if these are several
 * large parts: a server in one variable. */
static void put_parts(struct model *m, struct table *t, const struct kept *k,
		      const struct kept_row *keeper, const struct style *st)
{
	enum { PARTS = 3, MOST = 2, LARGE = 10 }; /* MOST, LARGE: parts of what is live */
	uint64_t live = figure_or_0(k->live_bytes);
	const struct ms_kept_branch *large[PARTS], *v;
	size_t n = 0;
	if (keeper->retained.bytes < live / MOST)
		return;
	struct ms_kept_tree tree = kept_tree_make(m, k, !st->full_names);
	v = tree.b.v;
	uint32_t b = v[0].first;
	while (b && &k->rows[v[b].row - 1] != keeper)
		b = v[b].next;
	for (b = b ? v[b].first : 0; b && n < PARTS; b = v[b].next)
		if (!v[b].rest && v[b].bytes >= live / LARGE)
			large[n++] = &v[b];
	for (size_t i = 0; i < n && n > 1; i++)
		put_kept(m, t, ROW_OTHER, retained(large[i]), live,
			 SAY("  through %s", kept_site(m, k->rows[large[i]->row - 1].site, st)));
	ms_kept_free(&tree);
}

struct table kept_table(struct model *m, size_t limit, const struct style *st)
{
	struct table t = TABLE_OF(kept_columns, .title = NULL);
	const struct kept *k = kept_read(m, 0);
	if (!k)
		return t;
	t.empty = kept_unknown(k);
	t.title = SAY("KEPT BY, %s%s", kept_when(m, k, st), t.empty ? ": not known" : "");
	if (t.empty)
		return t;
	t.title = SAY("%s: what would be free without the keeper, of %s live", t.title,
		      say_size(m, k->live_bytes));
	t.title = table_unfiltered(m, t.title);
	t.empty = "nothing is kept";
	struct live rest = {0};
	size_t more = 0, n = 0;
	bool some = false;
	uint64_t least = limit == SIZE_MAX ? 0 : figure_or_0(k->live_bytes) / LEAST;
	for (uint32_t i = k->first; i != NONE; i = k->rows[i].next) {
		const struct kept_row *x = &k->rows[i];
		if (n < limit && x->retained.bytes >= least && !x->rest) {
			put_kept(m, &t, ROW_ITEM, x->retained, k->live_bytes,
				 label_of(m, k, x, st));
			put_parts(m, &t, k, x, st);
			n++;
		} else {
			live_add(&rest, x->retained);
			more += !x->rest;
			some = true;
		}
	}
	if (some)
		put_kept(m, &t, ROW_MORE, rest, k->live_bytes,
			 more ? SAY("%zu more", more) : "smaller ones");
	t.more = more;
	if (figure_some(k->unreachable_bytes))
		put_kept(m, &t, ROW_OTHER, (struct live){k->unreachable_bytes, UNKNOWN},
			 k->live_bytes, "nothing: unreachable");
	return t;
}

/* ---- a comparison ---- */

enum { CHANGE, OLD, NEW, MORE_NAME };
static const struct column more_columns[] = {
	{"change", NULL, CELL_VALUE, .sum = false},
	{"old", NULL, CELL_VALUE, .sum = false},
	{"new", NULL, CELL_VALUE, .sum = false},
	{"keeper", NULL, CELL_TEXT, .sum = false},
};

enum { BELOW = 3, BELOW_READ = 64 }; /* most rows below a keeper, and places that are read */

/* Tells whether two sites are in one function and line. */
static bool site_is_beside(const struct model *m, const struct site *a, const struct site *b)
{
	const struct frame *x = site_frame(m, a), *y = site_frame(m, b);
	return x == y ||
	       (x && y && x->function && y->function && x->file && y->file && x->line == y->line &&
		strcmp(x->function, y->function) == 0 && strcmp(x->file, y->file) == 0);
}

static struct cell *put_change(struct model *m, struct table *t, enum row_kind kind,
			       const struct kept_change *x)
{
	struct row *r = table_row(m, t);
	r->kind = kind;
	r->cells[CHANGE].s = diff_say(m, true, x->delta);
	r->cells[OLD].s = diff_value(m, true, x->old);
	r->cells[NEW].s = diff_value(m, true, x->new);
	return r->cells;
}

/* Returns the name of a site with the type of its blocks. */
static const char *typed_site(struct model *m, const struct site *s, const char *type,
			      const struct style *st)
{
	const char *words = kept_type(m, type, st);
	return SAY("%s%s%s%s", kept_site(m, s->id, st), words ? " [" : "", words ?: "",
		   words ? "]" : "");
}

MS_COMPARE(by_delta, struct kept_change, MS_ORDER(y->delta, x->delta))

/* Fills `v` with what changed directly below keeper `i`, the sites of one place as one, the largest
 * increase first. Returns the number of elements. */
static size_t directly_below(struct model *m, size_t i, struct kept_change v[BELOW_READ])
{
	const struct diff *d = m->diff;
	const struct kept_change *x = &d->kept.v[i + 1], *end = d->kept.v + d->kept.n;
	size_t n = 0;
	for (; x < end && x->site; x++) {
		size_t k = 0;
		while (k < n && !site_is_beside(m, v[k].site, x->site))
			k++;
		if (k == BELOW_READ)
			break;
		if (k == n)
			v[n++] = (struct kept_change){.site = x->site, .keeper = x->keeper};
		v[k].old = delta_add(v[k].old, x->old);
		v[k].new = delta_add(v[k].new, x->new);
		v[k].delta = delta_add(v[k].delta, x->delta);
	}
	qsort(v, n, sizeof *v, by_delta);
	return n;
}

/* Adds the row of keeper `i`, and those of what is directly below it that retains more. */
static void put_more(struct model *m, struct table *t, size_t i, const struct style *st)
{
	const struct diff *d = m->diff;
	const struct kept_change *keeper = &d->kept.v[i];
	struct kept_change v[BELOW_READ];
	size_t n = directly_below(m, i, v);
	bool told = !keeper->below;
	put_change(m, t, ROW_ITEM, keeper)[MORE_NAME].s = keeper_label(m, &keeper->keeper, st);
	for (size_t k = 0; k < n && k < BELOW; k++) {
		const struct kept_change *x = &v[k];
		if (x->delta <= 0 || (uint64_t)x->delta < figure_or_0(d->min_change))
			break;
		put_change(m, t, ROW_OTHER, x)[MORE_NAME].s =
			SAY("  %s", typed_site(m, x->site, x->keeper.type, st));
		told |= x->site == keeper->below && x->delta >= keeper->below_bytes;
	}
	if (told)
		return;
	struct row *r = table_row(m, t);
	r->kind = ROW_OTHER;
	r->cells[MORE_NAME].s = SAY("  below it %s %s", diff_say(m, true, keeper->below_bytes),
				    typed_site(m, keeper->below, keeper->below_type, st));
}

struct table kept_more(struct model *m, size_t limit, const struct style *st)
{
	struct table t = TABLE_OF(more_columns, .title = NULL);
	const struct diff *d = m->diff;
	int64_t rest = 0;
	size_t n = 0;
	for (size_t i = 0; d && i < d->kept.n; i++) {
		const struct kept_change *x = &d->kept.v[i];
		if (x->site || x->delta <= 0 || (uint64_t)x->delta < figure_or_0(d->min_change))
			continue;
		if (n++ < limit) {
			put_more(m, &t, i, st);
		} else {
			rest = delta_add(rest, x->delta);
			t.more++;
		}
	}
	if (t.more) {
		struct row *r = table_row(m, &t);
		r->kind = ROW_MORE;
		r->cells[CHANGE].s = diff_say(m, true, rest);
		r->cells[MORE_NAME].s = SAY("%zu more", t.more);
	}
	t.title = t.n ? "KEPT MORE BY: what would be free without the keeper" : NULL;
	return t;
}

/* ---- --retained, for people ---- */

enum { RETAINS, KEEPS, TREE };
static const struct column tree_columns[] = {
	{"retains", NULL, CELL_SIZE, .sum = false},
	{"blocks", NULL, CELL_COUNT, .sum = false},
	{"keeper, and below it the blocks that it keeps", NULL, CELL_TEXT, .sum = false},
};
enum { LEVELS = 12 }; /* levels that are indented; further ones stand below each other */

static int largest_first(const void *a, const void *b, void *arg)
{
	const struct ms_kept_branch *v = arg, *x = &v[*(const uint32_t *)a],
				    *y = &v[*(const uint32_t *)b];
	return MS_ORDER(y->bytes, x->bytes) ?: MS_ORDER(x, y);
}

/* Tells for each branch whether it is one of the `limit` largest. */
static bool *choose(struct model *m, const struct ms_kept_tree *t, size_t limit)
{
	size_t n = t->b.n - 1;
	bool *shown = ms_arena_alloc(&m->arena, n + 1);
	uint32_t *order = ms_xrealloc(NULL, n + 1, sizeof *order);
	for (uint32_t i = 0; i < n; i++)
		order[i] = i + 1;
	qsort_r(order, n, sizeof *order, largest_first, t->b.v);
	for (size_t i = 0; i < n && i < limit; i++)
		shown[order[i]] = true;
	free(order);
	return shown;
}

struct drawing {
	struct model *m;
	const struct kept *k;
	const struct ms_kept_branch *v; /* the tree's */
	const struct style *st;
	const bool *shown;
	struct table *table;
};

/* Sums up the branches beside `b`, and itself, that are not shown. Returns their number. */
static size_t left_out(const struct drawing *d, uint32_t b, struct live *sum)
{
	size_t n = 0;
	*sum = (struct live){0};
	for (; b; b = d->v[b].next)
		if (!d->shown[b]) {
			live_add(sum, retained(&d->v[b]));
			n++;
		}
	return n;
}

/* Tells whether a line follows on the level of `b` below its own branches. */
static bool goes_on(const struct drawing *d, uint32_t b)
{
	struct live sum;
	for (uint32_t i = d->v[b].next; i; i = d->v[i].next)
		if (d->shown[i])
			return true;
	return left_out(d, d->v[d->v[b].parent].first, &sum) > 0;
}

/* Returns the lines that lead to something below the branch `parent`. `last`: nothing follows it
 * there. */
static const char *guides(const struct drawing *d, uint32_t parent, bool last)
{
	static const char *const glyphs[2][4] = {
		{"   ", "\u2502  ", "\u2514\u2500 ", "\u251c\u2500 "},
		{"   ", "|  ", "`- ", "|- "}};
	struct model *m = d->m;
	const char *const *g = glyphs[d->st->ascii];
	if (!parent)
		return "";
	const char *s = g[last ? 2 : 3];
	size_t level = 1;
	for (uint32_t b = parent; d->v[b].parent && level < LEVELS; b = d->v[b].parent, level++)
		s = SAY("%s%s", g[goes_on(d, b)], s);
	return s;
}

static const char *branch_text(const struct drawing *d, const struct ms_kept_branch *b)
{
	struct model *m = d->m;
	const struct kept_row *row = &d->k->rows[b->row - 1];
	if (!b->parent)
		return label_of(m, d->k, row, d->st);
	if (b->rest)
		return "smaller ones";
	const char *offset =
			   b->offset == UNKNOWN ? "" : SAY("+%llu ", (unsigned long long)b->offset),
		   *type = kept_type(m, b->type, d->st);
	const char *own = b->own_blocks == b->blocks
				  ? ""
				  : SAY(" (%s of its own)", say_count(m, b->own_blocks));
	if (row->mapped_bytes != UNKNOWN)
		own = SAY(", mappings of %s", say_size(m, row->mapped_bytes));
	return SAY("%s%s%s%s%s%s%s", offset, kept_site(m, row->site, d->st), type ? " [" : "",
		   type ?: "", type ? "]" : "", b->linked ? ", linked" : "", own);
}

static void put_line(const struct drawing *d, enum row_kind kind, struct live retained,
		     const char *before, const char *text)
{
	struct row *r = table_row(d->m, d->table);
	r->kind = kind;
	r->cells[RETAINS].n = retained.bytes;
	r->cells[KEEPS].n = retained.blocks;
	r->cells[TREE].s = ms_arena_printf(&d->m->arena, "%s%s", before, text);
}

/* Writes the branches that are not shown of those below `parent`. */
static void put_rest(const struct drawing *d, uint32_t parent)
{
	struct live sum;
	struct model *m = d->m;
	size_t n = left_out(d, d->v[parent].first, &sum);
	if (n)
		put_line(d, ROW_MORE, sum, guides(d, parent, true), SAY("%zu more", n));
}

static void draw(const struct drawing *d)
{
	const struct ms_kept_branch *v = d->v;
	uint32_t b = v[0].first;
	while (b) {
		if (d->shown[b]) {
			put_line(d, ROW_OTHER, retained(&v[b]),
				 guides(d, v[b].parent, !goes_on(d, b)), branch_text(d, &v[b]));
			if (v[b].first) {
				b = v[b].first;
				continue;
			}
		}
		while (!v[b].next && v[b].parent) {
			b = v[b].parent;
			put_rest(d, b);
		}
		b = v[b].next;
	}
	put_rest(d, 0);
}

struct table kept_tree(struct model *m, size_t limit, const struct style *st)
{
	struct table t = TABLE_OF(tree_columns, .title = "RETAINED", .empty = no_scan);
	const struct kept *k = kept_read(m, 0);
	if (!k)
		return t;
	t.empty = kept_unknown(k);
	t.title = SAY("RETAINED, %s%s", kept_when(m, k, st), t.empty ? ": not known" : "");
	if (t.empty)
		return t;
	t.title = SAY("%s: %s kept of %s live, %s unreachable", t.title, say_size(m, k->kept_bytes),
		      say_size(m, k->live_bytes), say_size(m, k->unreachable_bytes));
	t.title = table_unfiltered(m, t.title);
	t.empty = "nothing is kept";
	struct ms_kept_tree tree = kept_tree_make(m, k, !st->full_names);
	struct drawing d = {m, k, tree.b.v, st, choose(m, &tree, limit), &t};
	draw(&d);
	ms_kept_free(&tree);
	return t;
}

size_t kept_lines(struct model *m, size_t limit, const struct style *st, struct kept_line **v)
{
	const struct kept *k = kept_read(m, 0);
	if (!kept_done(k))
		return 0;
	struct ms_kept_tree t = kept_tree_make(m, k, !st->full_names);
	struct drawing d = {m, k, t.b.v, st, choose(m, &t, limit), NULL};
	uint32_t *line = ms_xrealloc(NULL, t.b.n, sizeof *line); /* by branch */
	size_t n = 0;
	*v = ms_arena_alloc(&m->arena, t.b.n * sizeof **v);
	line[0] = NONE;
	for (uint32_t b = t.b.v[0].first; b; b = kept_tree_next(&t, b)) {
		const struct ms_kept_branch *x = &t.b.v[b];
		if (!d.shown[b] || (x->parent && !d.shown[x->parent]))
			continue;
		line[b] = (uint32_t)n;
		(*v)[n++] = (struct kept_line){line[x->parent],
					       branch_text(&d, x),
					       retained(x),
					       {x->own_bytes, x->own_blocks}};
	}
	free(line);
	ms_kept_free(&t);
	return n;
}

/* ---- --retained, for programs ---- */

enum {
	R_SITE = 9,
	R_FUNCTION,
	R_PLACE,
	R_FIGURES,
};
static const struct column row_columns[] = {
	{NULL, "process", CELL_ID, .sum = false},
	{NULL, "id", CELL_ID, .sum = false},
	{NULL, "parent", CELL_ID, .sum = false},
	{NULL, "keeper", CELL_TEXT, .sum = false},
	{NULL, "name", CELL_TEXT, .sum = false},
	{NULL, "thread", CELL_TEXT, .sum = false},
	{NULL, "declared", CELL_TEXT, .sum = false},
	{NULL, "type", CELL_TEXT, .sum = false},
	{NULL, "observers", CELL_ID, .sum = false},
	{NULL, "site", CELL_ID, .sum = false},
	{NULL, "function", CELL_TEXT, .sum = false},
	{NULL, "place", CELL_TEXT, .sum = false},
	{NULL, "bytes", CELL_SIZE, .sum = false},
	{NULL, "blocks", CELL_COUNT, .sum = false},
	{NULL, "retained_bytes", CELL_SIZE, .sum = false},
	{NULL, "retained_blocks", CELL_COUNT, .sum = false},
	{NULL, "offset", CELL_ID, .sum = false},
	{NULL, "depth", CELL_ID, .sum = false},
	{NULL, "mapped_bytes", CELL_SIZE, .sum = false},
	{NULL, "rest", CELL_ID, .sum = false},
};

static void put_raw(struct model *m, const struct kept *k, struct cell *c, const struct kept_row *x)
{
	static const struct style plain = {.full_names = true};
	struct keeper name = kept_name(m, x);
	const struct site *s = x->site ? model_site(m, x->site) : NULL;
	const struct frame *f = s ? site_frame(m, s) : NULL;
	c[0].n = (uint64_t)m->processes.v[x->process].id;
	c[1].n = (uint64_t)x->id;
	c[2].n = x->parent == NONE ? UNKNOWN : (uint64_t)k->rows[x->parent].id;
	c[3].s = *name.kind ? name.kind : NULL;
	c[4].s = name.name;
	c[5].s = name.thread;
	c[6].s = name.file && name.line != UNKNOWN
			 ? SAY("%s:%llu", name.file, (unsigned long long)name.line)
			 : name.file;
	c[7].s = x->parent == NONE ? name.type : x->type;
	c[8].n = x->keeper ? x->keeper->observers : UNKNOWN;
	c[R_SITE].n = x->site ? (uint64_t)x->site : UNKNOWN;
	c[R_FUNCTION].s = f ? frame_name(&m->arena, m, f) : NULL;
	c[R_PLACE].s = f ? frame_place(&m->arena, m, f, &plain) : NULL;
	const uint64_t figures[] = {x->bytes,  x->blocks, x->retained.bytes, x->retained.blocks,
				    x->offset, x->depth,  x->mapped_bytes,   x->rest};
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		c[R_FIGURES + i].n = figures[i];
}

struct table kept_rows(struct model *m, size_t limit)
{
	struct table t = TABLE_OF(row_columns, .title = NULL);
	const struct kept *k = kept_read(m, 0);
	for (uint32_t i = k ? k->first : NONE; i != NONE && t.n < limit; i = kept_next(k, i))
		put_raw(m, k, table_row(m, &t)->cells, &k->rows[i]);
	return t;
}

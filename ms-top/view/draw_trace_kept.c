/* SPDX-License-Identifier: MIT
 * Draws what keeps blocks alive: the view of all keepers, and those of one site.
 */
#include <stdio.h>
#include <string.h>

#include "draw.h"
#include "ms-top/cells/grid.h"
#include "ms-top/cells/words.h"
#include "ms-top/trace/trace.h"
#include "libcommon/names/types.h"
#include "format/trace.h"

#define NAME_COLUMNS 48 /* most columns of a function's name */
#define FIGURES_FROM 60 /* least columns of a screen for shares and numbers of blocks */
#define SITE_KEEPERS 16 /* most keepers of a site that are shown */

struct words {
	const struct grid *g;
	struct trace *t;
	struct ms_arena a;
};
#define SAY(...) ms_arena_printf(&w->a, __VA_ARGS__)

/* ---- words, as those of ms-report ---- */

static const char *arrow(const struct words *w)
{
	return w->g->ascii ? " -> " : " → ";
}

static const char *frame_words(struct words *w, const struct trace_frame *f, bool with_place)
{
	char place[512];
	trace_frame_place(f, place, sizeof place);
	return SAY("%s%s%s", draw_frame_name(w->t, f, NAME_COLUMNS),
		   with_place && *place ? " " : "", with_place ? place : "");
}

/* Returns the words for a site and its caller, whose place is left out on a path. */
static const char *site_words(struct words *w, uint64_t stack, bool on_path)
{
	uint32_t node = kept_node(w->t, stack);
	if (!node)
		return "(no stack)";
	struct trace_site_name n = trace_site_name(w->t, node);
	const char *s = frame_words(w, &n.user, true);
	return n.has_caller ? SAY("%s < %s", s, frame_words(w, &n.caller, !on_path)) : s;
}

static const char *type_words(struct words *w, const char *type)
{
	return type && !w->t->full_names ? ms_type_short(&w->a, type) : type;
}

static const char *root_words(struct words *w, const struct ms_retention_root *root)
{
	struct keeper k = kept_keeper(w->t, &w->a, root);
	return ms_keeper_name(&w->a, &k, w->t->full_names);
}

/* Returns the words for a keeper or a set of them, with its place and type, where a mapping was
 * made, and what else reaches what it keeps. */
static const char *keeper_words(struct words *w, const struct ms_retention_row *row)
{
	if (row->flags & MS_KEPT_REST)
		return "smaller ones";
	struct keeper k = kept_name(w->t, &w->a, row);
	const char *s = ms_keeper_name(&w->a, &k, w->t->full_names), *type = type_words(w, k.type);
	const char *place = !k.file ? ""
			    : k.line == UINT64_MAX
				    ? basename(k.file)
				    : SAY("%s:%llu", basename(k.file), (unsigned long long)k.line);
	if (*place || type)
		s = SAY("%s (%s%s%s)", s, place, *place && type ? ", " : "", type ?: "");
	if (k.site)
		s = SAY("%s, by %s", s, site_words(w, (uint64_t)k.site, false));
	struct kept_observed also = kept_observed(w->t, row->root);
	if (!also.n)
		return s;
	s = SAY("%s; also reached from %s", s, root_words(w, kept_root(w->t, also.first)));
	return also.n > 1 ? SAY("%s and %zu more", s, also.n - 1) : s;
}

static const char *branch_words(struct words *w, const struct ms_kept_branch *b)
{
	const struct ms_retention_row *row = kept_row(w->t, b->row);
	if (!row->parent || row->flags & MS_KEPT_REST)
		return keeper_words(w, row);
	const char *type = row->type_size ? ms_symbol_plain(&w->a, row->type) : NULL,
		   *offset = b->offset == UINT64_MAX ? ""
						     : SAY("+%llu ", (unsigned long long)b->offset),
		   *own = b->own_blocks == b->blocks
				  ? ""
				  : SAY(" (%s of its own)", words_count((double)b->own_blocks));
	if (row->flags & MS_KEPT_MAPPING)
		own = SAY(", mappings of %s", words_size(row->mapped_bytes));
	return SAY("%s%s%s%s%s%s%s", offset, site_words(w, row->stack, false), type ? " [" : "",
		   type ? type_words(w, type) : "", type ? "]" : "", b->linked ? ", linked" : "",
		   own);
}

/* Returns the shortest path to a block of the row; NULL = it is not known. */
static const char *path_words(struct words *w, const struct ms_retention_row *row)
{
	if (!row->path_root || !row->path_count)
		return NULL;
	const char *s = root_words(w, kept_root(w->t, row->path_root));
	for (size_t i = 0; i < row->path_count; i++) {
		const struct ms_retention_step *x = &row->path[i];
		s = SAY("%s%s%s", s, arrow(w), site_words(w, x->stack, true));
		if (x->count > 1)
			s = SAY("%s (%s times)", s, words_count((double)x->count));
	}
	return row->path_cut ? SAY("%s%s...", s, arrow(w)) : s;
}

/* Draws figures of a row. Returns the column after them. */
static int draw_figures(struct grid *g, int row, uint64_t bytes, uint64_t blocks, uint64_t whole)
{
	int col = grid_print(g, row, 0, GRID_PLAIN, "  %7s ", words_size(bytes));
	if (g->cols >= FIGURES_FROM)
		col += grid_print(g, row, col, GRID_PLAIN, "%5.1f %7s ",
				  whole ? 100 * (double)bytes / (double)whole : 0,
				  words_count((double)blocks));
	return col + 1;
}

/* ---- of a site ---- */

int draw_trace_keepers(struct grid *g, int row, int end, struct trace *t, uint32_t node)
{
	struct words words = {.g = g, .t = t}, *w = &words;
	struct trace_keeper v[SITE_KEEPERS];
	uint64_t whole;
	if (!t->kept.label || end - row < 2)
		return row;
	const char *unknown = kept_unknown(t);
	size_t n = kept_of_site(t, node, v, SITE_KEEPERS, &whole), shown = 0;
	grid_print(g, row++, 1, GRID_BOLD, "kept by, %s%s%s",
		   ms_keeper_moment(&w->a, t->kept.label, t->kept.ns),
		   unknown ? ": not known: "
		   : n     ? ""
			   : ": no keeper: its blocks are unreachable, or newer than the scan",
		   unknown ?: "");
	/* the last row is for the number of those that do not fit */
	while (shown < n && shown < SITE_KEEPERS && row + (shown + 1 < n) < end) {
		const struct trace_keeper *x = &v[shown++];
		int col = draw_figures(g, row, x->bytes, x->blocks, whole);
		grid_put(g, row++, col, -1, GRID_PLAIN, keeper_words(w, kept_row(t, x->top)));
		const char *path = path_words(w, kept_row(t, x->most));
		if (path && row + (shown < n) < end)
			grid_put(g, row++, 5, -1, GRID_DIM, path);
	}
	if (shown < n)
		grid_print(g, row++, 3, GRID_DIM, "and %zu more", n - shown);
	ms_arena_free(&w->a);
	return row;
}

/* ---- the view ---- */

static void draw_missing(struct grid *g, int row, const struct trace *t)
{
	bool growing = t->follow->rec->state == MS_TRACE_GROWING;
	const char *unknown = kept_unknown(t);
	if (unknown)
		grid_print(g, row, 2, GRID_DIM, "not known: %s", unknown);
	else if (t->kept.label)
		grid_put(g, row, 2, -1, GRID_DIM, "nothing is kept");
	else
		grid_put(g, row, 2, -1, GRID_DIM,
			 t->in_past ? "no retention scan up to this moment"
			 : growing  ? "no retention scan yet: press K for one"
				    : "no retention scan in this recording: ms-record --retention");
}

static void draw_head(struct grid *g, int row, struct words *w)
{
	const struct trace *t = w->t;
	const struct ms_retention_head *h = kept_head(t);
	grid_fill(g, row, GRID_HEAD);
	int col = grid_print(g, row, 0, GRID_HEAD, "  %s",
			     g->cols >= FIGURES_FROM ? "RETAINS     %  BLOCKS  KEPT BY"
						     : "RETAINS  KEPT BY");
	if (!h)
		return;
	const char *const parts[] = {
		SAY(", %s", ms_keeper_moment(&w->a, t->kept.label, t->kept.ns)),
		SAY(": %s of %s live", words_size(h->kept_bytes), words_size(h->live_bytes)),
		SAY(", %s unreachable", words_size(h->unreachable_bytes))};
	int known = kept_unknown(t) ? 1 : 3;
	for (int i = 0; i < known && grid_width(g, parts[i]) <= g->cols - col; i++)
		col += grid_put(g, row, col, -1, GRID_HEAD, parts[i]);
}

void draw_trace_kept(struct grid *g, int row, int end, struct trace *t,
		     const struct screen_state *st)
{
	struct words words = {.g = g, .t = t}, *w = &words;
	const struct ms_retention_head *h = kept_head(t);
	draw_head(g, row++, w);
	st->list->row = row;
	size_t top = list_view(st->list, end > row ? (size_t)(end - row) : 0);
	if (!t->kept.rows.n)
		draw_missing(g, row, t);
	for (; row < end && top < t->kept.rows.n; row++, top++) {
		const struct ms_kept_branch *b = &t->kept.tree.b.v[t->kept.rows.v[top]];
		int col = draw_figures(g, row, b->bytes, b->blocks, h ? h->live_bytes : 0);
		/* the indentation of deep branches starts again at the left */
		col += (int)b->depth % (g->cols > FIGURES_FROM ? g->cols - 40 : 20);
		grid_put(g, row, col, 2, GRID_DIM, !b->first ? "  " : b->open ? "- " : "+ ");
		grid_put(g, row, col + 2, -1, GRID_PLAIN, branch_words(w, b));
		draw_trace_mark(g, row, st, b->id);
	}
	ms_arena_free(&w->a);
}

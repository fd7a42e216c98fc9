/* SPDX-License-Identifier: MIT
 * Writes folded stacks for flame graph tools: one line per path of the call tree, outermost
 * function first.
 */
#include "export.h"

#include "ms-report/model/diff.h"
#include "ms-report/model/tree.h"
#include "ms-report/words/page.h"

#include <string.h>

static const char *name_of(struct model *m, const struct branch *b, bool full)
{
	return branch_label(&m->arena, m, b, &(struct style){.full_names = full}, "");
}

/* Writes a name with each ';', which separates frames, replaced by ':'. */
static void put_name(struct out *o, const char *s)
{
	for (size_t n; *s; s += n) {
		n = strcspn(s, ";");
		out_put(o, s, n);
		if (s[n] == ';') {
			out_char(o, ':');
			n++;
		}
	}
}

static void put_tree(struct model *m, struct out *o, const struct tree *t, bool full_names)
{
	struct out path = {0};
	size_t *end = ms_arena_alloc(&m->arena, t->n * sizeof *end); /* length of each branch's
									path */
	uint32_t at = t->v[0].first_child;
	while (at != NONE) {
		const struct branch *b = &t->v[at];
		path.n = end[b->parent];
		if (path.n)
			out_char(&path, ';');
		put_name(&path, name_of(m, b, full_names));
		end[at] = path.n;
		if (b->self.a) {
			out_put(o, path.v, path.n);
			out_char(o, ' ');
			out_number(o, b->self.a);
			out_char(o, '\n');
		}
		if (b->first_child != NONE) {
			at = b->first_child;
			continue;
		}
		while (at != NONE && t->v[at].next == NONE)
			at = t->v[at].parent;
		at = at == NONE ? NONE : t->v[at].next;
	}
	out_free(&path);
	if (t->hidden.a && t->hidden.a != UNKNOWN)
		out_printf(o, "[hidden by filters] %llu\n", (unsigned long long)t->hidden.a);
	if (t->other.a && t->other.a != UNKNOWN)
		out_printf(o, "[without a site] %llu\n", (unsigned long long)t->other.a);
}

static uint64_t positive(int64_t v)
{
	return v < 0 ? 0 : (uint64_t)v;
}

static void put_change(struct out *o, uint64_t old, uint64_t new)
{
	out_printf(o, " %llu %llu\n", (unsigned long long)old, (unsigned long long)new);
}

/* Writes one line per row. Rows with equal paths are rare, and readers add them up. */
static void put_row(struct model *m, struct out *o, const struct diff_row *r, uint32_t *path,
		    bool full)
{
	size_t n = model_stack(m, r->site->stack, path);
	struct branch b = {.frame = NONE, .process = NONE};
	if (m->processes.n > 1) {
		b.process = r->site->process;
		put_name(o, name_of(m, &b, full));
		out_char(o, ';');
		b.process = NONE;
	}
	if (!n)
		put_name(o, name_of(m, &b, full));
	while (n) {
		b.frame = path[--n];
		put_name(o, name_of(m, &b, full));
		if (n)
			out_char(o, ';');
	}
}

/* Writes what filters hid from the inputs of the comparison and from its result. */
static void put_hidden(struct model *m, struct out *o, const char *figure)
{
	sqlite3_stmt *st = model_ask(m,
				     "SELECT coalesce(sum(old_%s), 0), coalesce(sum(new_%s), 0)"
				     " FROM diff_hidden",
				     figure, figure);
	while (model_next(&st)) {
		uint64_t old = positive(sqlite3_column_int64(st, 0)),
			 new = positive(sqlite3_column_int64(st, 1));
		if (!old && !new)
			continue;
		out_str(o, "[hidden by filters]");
		put_change(o, old, new);
	}
}

/* Writes a comparison as lines "root;child;leaf OLD NEW". Returns false if the figure was not
 * compared. */
static bool put_diff(struct model *m, struct out *o, enum metric metric, bool full_names)
{
	int f = export_diff_figure(export_figure_of(metric));
	const struct diff *d = m->diff;
	bool compared = false;
	for (size_t i = 0; f >= 0 && i < d->rows.n; i++)
		compared |= d->rows.v[i].delta[f] != DELTA_UNKNOWN;
	if (!compared)
		return false;
	uint32_t *path = ms_arena_alloc(&m->arena, (m->nodes.n + 1) * sizeof *path);
	for (size_t i = 0; i < d->rows.n; i++) {
		const struct diff_row *r = &d->rows.v[i];
		uint64_t old = positive(r->old[f]), new = positive(r->new[f]);
		if (!old && !new)
			continue;
		put_row(m, o, r, path, full_names);
		put_change(o, old, new);
	}
	put_hidden(m, o, diff_figure_names[f]);
	return true;
}

void export_folded(struct export *x, struct out *o)
{
	bool full = x->page->style.full_names;
	/* a comparison of two moments of one run has no peaks */
	if (x->m->diff && (put_diff(x->m, o, x->metric, full) ||
			   (x->asked == METRIC_COUNT && put_diff(x->m, o, METRIC_LIVE, full))))
		return;
	struct tree t = tree_make(x->m, x->metric, false, TREE_WHOLE, false);
	put_tree(x->m, o, &t, full);
}

/* SPDX-License-Identifier: MIT
 * What keeps blocks alive, as of a retention scan: keepers, and below each the blocks that it keeps.
 *
 * Rows are folded (kept_fold.h) by the function and line of their sites and of their callers; with
 * --full-names each row is a branch. A branch is found again by the number of its first row.
 */
#include <stdlib.h>
#include <string.h>

#include "trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/order.h"
#include "format/trace.h"
#include "format/verdict.h"

#define DEEPEST 1000u  /* limit of the depth in damaged traces */
#define OPEN_SHARE 10u /* branches with 1/OPEN_SHARE of their parent's bytes are open initially */

enum { UNDECIDED, CLOSED, OPEN };

/* ---- the scan ---- */

static const struct ms_retention_scan *scan_of(const struct trace *t)
{
	return &t->follow->rec->retention.scans.v[t->kept.scan];
}

const struct ms_retention_head *kept_head(const struct trace *t)
{
	return t->kept.label ? &scan_of(t)->head : NULL;
}

const char *kept_unknown(const struct trace *t)
{
	bool tells = !t->kept.label || strcmp(t->kept.state, "done") == 0;
	return tells ? NULL : ms_keeper_unknown(t->kept.state);
}

const struct ms_retention_row *kept_row(const struct trace *t, uint64_t number)
{
	return &t->follow->rec->retention.rows.v[scan_of(t)->first_row + number - 1];
}

const struct ms_retention_root *kept_root(const struct trace *t, uint64_t number)
{
	return &t->follow->rec->retention.roots.v[scan_of(t)->first_root + number - 1];
}

uint32_t kept_node(const struct trace *t, uint64_t stack)
{
	return stack < t->follow->rec->nodes.n ? (uint32_t)stack : 0;
}

/* Finds out which roots are observed, if the roots are not those of before. */
static void find_observers(struct trace *t)
{
	struct trace_kept *k = &t->kept;
	size_t n = k->label ? scan_of(t)->root_count : 0;
	if (k->observed_of == k->scan && k->observed_count == n)
		return;
	k->observed = ms_xgrow(k->observed, &k->observed_room, n + 1, sizeof *k->observed);
	memset(k->observed, 0, (n + 1) * sizeof *k->observed);
	k->observed_of = k->scan;
	k->observed_count = n;
	for (uint32_t i = 1; i <= n; i++) {
		uint64_t owner = kept_root(t, i)->observes;
		if (!owner || owner > n || owner == i)
			continue;
		struct kept_observed *x = &k->observed[owner];
		x->first = x->first ? x->first : i;
		x->n++;
	}
}

struct kept_observed kept_observed(const struct trace *t, uint64_t root)
{
	const struct trace_kept *k = &t->kept;
	return root && root <= k->observed_count ? k->observed[root] : (struct kept_observed){0};
}

void kept_look(struct trace *t)
{
	const struct ms_recording *rec = t->follow->rec;
	struct trace_kept *k = &t->kept;
	size_t before = k->label ? k->scan : SIZE_MAX, n = rec->retention.scans.n;
	k->label = NULL;
	for (size_t i = rec->verdicts.n; i-- > 0 && n && (!k->label || kept_unknown(t));) {
		const struct ms_verdict_record *v = &rec->verdicts.v[i];
		if (!v->is_scan || (t->in_past && v->scan.time_ns > t->total.ns))
			continue;
		while (n && rec->retention.scans.v[n - 1].head.scan > v->scan.scan)
			n--;
		const struct ms_retention_scan *s = n ? &rec->retention.scans.v[n - 1] : NULL;
		bool whole = s && s->head.scan == v->scan.scan && ms_retention_is_whole(rec, s);
		/* of those without rows the last one counts, if no earlier one has rows */
		if (!s || s->head.scan != v->scan.scan || (k->label && !whole))
			continue;
		k->label = v->scan.label;
		k->ns = v->scan.time_ns;
		k->scan = n - 1;
		k->state = whole                           ? "done"
			   : s->head.state == MS_SCAN_DONE ? "damaged"
			   : ms_scan_state_name(s->head.state) ?: "unknown";
	}
	find_observers(t);
	if (before == (k->label ? k->scan : SIZE_MAX))
		return;
	k->made = 0;
	if (k->open_room)
		memset(k->open, UNDECIDED, k->open_room);
	list_init(&t->lists[TRACE_KEPT]);
}

/* ---- keepers ---- */

struct keeper kept_keeper(const struct trace *t, struct ms_arena *a,
			  const struct ms_retention_root *root)
{
	const struct ms_recording *rec = t->follow->rec;
	const struct ms_row *m = root->module <= rec->modules.n
					 ? ms_module_of(rec, (uint32_t)root->module)
					 : NULL,
			    *thread = root->thread && root->thread <= rec->threads.n
					      ? &rec->threads.v[root->thread - 1]
					      : NULL;
	struct keeper k = {.kind = ms_keeper_word(root->kind) ?: "",
			   .module = m ? m->text[MS_MODULE_PATH - 2] : NULL,
			   .thread = thread ? thread->text[MS_THREAD_NAME - 2] : NULL,
			   .type = root->type_size ? root->type : NULL,
			   .size = root->size ? root->size : UINT64_MAX,
			   .line = UINT64_MAX};
	bool frame = root->kind == MS_KEEPER_FRAME;
	if (root->kind == MS_KEEPER_MAPPING)
		k.site = kept_node(t, root->stack);
	if (!frame)
		k.name = ms_root_name(a, root, k.module);
	if (frame && kept_node(t, root->stack)) {
		/* the physical function, into which others may be inlined */
		uint32_t number = rec->nodes.v[kept_node(t, root->stack)].frame;
		struct trace_frame f =
			trace_part(t, number, (uint16_t)(trace_parts(t, number) - 1));
		k.name = !f.note && f.full[0] ? f.full : NULL;
		k.file = f.file;
		k.line = f.line ? f.line : UINT64_MAX;
	}
	return k;
}

/* Adds where a variable is declared, and its type. */
static void declare(const struct trace *t, const struct ms_retention_root *root, struct keeper *k)
{
	struct ms_variable v;
	bool local = root->kind == MS_KEEPER_THREAD_LOCAL;
	if (!k->module || (!local && root->kind != MS_KEEPER_VARIABLE))
		return;
	ms_names_variable(t->names, t->follow->rec, (uint32_t)root->module, root->offset, local,
			  &v);
	k->file = v.file;
	k->line = v.line ? v.line : UINT64_MAX;
	k->type = k->type ?: v.type;
}

struct keeper kept_name(const struct trace *t, struct ms_arena *a,
			const struct ms_retention_row *row)
{
	struct keeper k = {.kind = "", .size = UINT64_MAX, .line = UINT64_MAX};
	if (row->root) {
		k = kept_keeper(t, a, kept_root(t, row->root));
		declare(t, kept_root(t, row->root), &k);
	}
	if (!row->set)
		return k;
	const struct ms_retention_set *set =
		&t->follow->rec->retention.sets.v[scan_of(t)->first_set + row->set - 1];
	struct keeper *v = ms_arena_alloc(a, (set->root_count + 1) * sizeof *v);
	const struct keeper **names = ms_arena_alloc(a, (set->root_count + 1) * sizeof *names);
	uint64_t *roots = ms_arena_alloc(a, (set->root_count + 1) * sizeof *roots);
	for (size_t i = 0; i < set->root_count; i++)
		roots[i] = set->roots[i];
	MS_SORT(roots, set->root_count, ms_by_first_number);
	for (size_t i = 0; i < set->root_count; i++) {
		v[i] = kept_keeper(t, a, kept_root(t, roots[i]));
		names[i] = &v[i];
	}
	k.kind = "shared";
	k.name = ms_keeper_set_name(a, &(struct keeper_set){names, set->root_count, set->others});
	return k;
}

/* ---- of a site ---- */

static int most_first(const void *a, const void *b)
{
	const struct trace_keeper *x = a, *y = b;
	return MS_ORDER(y->bytes, x->bytes) ?:
	       MS_ORDER(y->blocks, x->blocks) ?:
	       MS_ORDER(x->top, y->top);
}

size_t kept_of_site(const struct trace *t, uint32_t node, struct trace_keeper *v, size_t room,
		    uint64_t *bytes)
{
	const struct ms_replay *r = &t->follow->rec->replay;
	uint32_t site = node < r->node_count ? r->site_of_node[node] : 0;
	size_t rows = t->kept.label && !kept_unknown(t) && site ? scan_of(t)->row_count : 0, n = 0;
	/* by row: the number of its row without parent; by such a row: what it keeps */
	uint32_t *top = ms_xcalloc(rows + 1, sizeof *top);
	struct trace_keeper *all = ms_xcalloc(rows + 1, sizeof *all);
	*bytes = 0;
	for (uint32_t i = 1; i <= rows; i++) {
		const struct ms_retention_row *x = kept_row(t, i);
		top[i] = x->parent ? top[x->parent] : i;
		if (!x->parent || !x->stack || x->stack >= r->node_count ||
		    r->site_of_node[x->stack] != site)
			continue;
		struct trace_keeper *k = &all[top[i]];
		if (!k->most || x->bytes > kept_row(t, k->most)->bytes)
			k->most = i;
		k->top = top[i];
		k->bytes += x->bytes;
		k->blocks += x->blocks;
		*bytes += x->bytes;
	}
	for (size_t i = 1; i <= rows; i++)
		if (all[i].most)
			all[n++] = all[i];
	qsort(all, n, sizeof *all, most_first);
	memcpy(v, all, (n < room ? n : room) * sizeof *v);
	MS_FREE(top, all);
	return n;
}

/* ---- the tree ---- */

static uint64_t mix_frame(uint64_t h, const struct trace_frame *f)
{
	h = ms_mix_text(h, f->module);
	if (!f->function)
		return ms_mix(h, f->address);
	return ms_mix(ms_mix_text(ms_mix_text(h, f->full), f->file), f->line);
}

/* Returns the hash of the frames that a row is named after; 0 = it has none. The caller is one of
 * them, as in all lists of sites here: without it, as in ms-report, rows would lose what they show. */
static uint64_t place_of(const struct trace *t, const struct ms_retention_row *row)
{
	uint32_t node = row->parent && !t->full_names ? kept_node(t, row->stack) : 0;
	if (!node)
		return 0;
	struct trace_site_name n = trace_site_name(t, node);
	uint64_t h = n.user.note ? ms_mix(1, node) : mix_frame(1, &n.user);
	return n.has_caller ? mix_frame(h, &n.caller) : h;
}

static struct ms_kept_row row_of(void *trace, uint32_t number)
{
	const struct trace *t = trace;
	const struct ms_retention_row *x = kept_row(t, number);
	return (struct ms_kept_row){.parent = x->parent,
				    .place = place_of(t, x),
				    .bytes = x->bytes,
				    .blocks = x->blocks,
				    .retained_bytes = x->retained_bytes,
				    .retained_blocks = x->retained_blocks,
				    .offset = x->offset == MS_RETENTION_NO_OFFSET ? UINT64_MAX
										  : x->offset,
				    .depth = x->depth,
				    .rest = x->flags & MS_KEPT_REST};
}

/* Tells whether a branch is open: keepers are closed until they are opened. */
static bool is_open(const struct trace_kept *k, const struct ms_kept_branch *b)
{
	uint8_t open = k->open[b->id];
	return open == OPEN || (open == UNDECIDED && b->parent &&
				b->bytes * OPEN_SHARE >= k->tree.b.v[b->parent].bytes);
}

/* Appends rows for the children of a branch. Recurses as deep as rows are nested. */
static void put_children(struct trace_kept *k, uint32_t branch)
{
	struct ms_kept_branch *v = k->tree.b.v;
	for (uint32_t c = v[branch].first; c; c = v[c].next) {
		*MS_PUSH(&k->rows) = c;
		v[c].open = v[c].first && v[c].depth < DEEPEST && is_open(k, &v[c]);
		if (v[c].open)
			put_children(k, c);
	}
}

static void make_branches(struct trace *t)
{
	struct trace_kept *k = &t->kept;
	size_t n = scan_of(t)->row_count;
	k->open = ms_xgrow(k->open, &k->open_room, n + 1, sizeof *k->open);
	ms_kept_fold(&k->tree, n, row_of, t);
	k->top = 0;
	for (uint32_t c = k->tree.b.v[0].first; c; c = k->tree.b.v[c].next)
		k->top += !k->tree.b.v[c].rest;
}

void kept_make(struct trace *t)
{
	struct trace_kept *k = &t->kept;
	/* names change when they are found in files, or come at the end of the trace */
	uint64_t names = ms_names_answers(t->names, NULL) + t->follow->rec->chain_count,
		 made = ((uint64_t)k->scan + 1) << 40 ^ names;
	k->rows.n = 0;
	if (k->label && !kept_unknown(t)) {
		if (k->made != made)
			make_branches(t);
		k->made = made;
		put_children(k, 0);
	}
	k->ids = ms_xgrow(k->ids, &k->ids_room, k->rows.n, sizeof *k->ids);
	for (size_t i = 0; i < k->rows.n; i++)
		k->ids[i] = k->tree.b.v[k->rows.v[i]].id;
	list_set(&t->lists[TRACE_KEPT], k->ids, k->rows.n);
}

bool kept_toggle(struct trace *t, size_t row)
{
	struct trace_kept *k = &t->kept;
	const struct ms_kept_branch *b = &k->tree.b.v[k->rows.v[row]];
	if (!b->first)
		return false;
	k->open[b->id] = b->open ? CLOSED : OPEN;
	kept_make(t);
	return true;
}

void kept_forget(struct trace *t)
{
	t->kept.label = NULL;
	t->kept.observed_count = 0;
	t->kept.made = 0;
	t->kept.rows.n = 0;
	if (t->kept.open_room)
		memset(t->kept.open, UNDECIDED, t->kept.open_room);
}

void kept_free(struct trace_kept *k)
{
	ms_kept_free(&k->tree);
	MS_FREE(k->observed, k->open, k->rows.v, k->ids);
}

/* SPDX-License-Identifier: MIT
 * Sites merged into a call tree: from the program's entry down, or from the allocating function up.
 *
 * Every frame gets the number of the first frame that is the same function; a branch is found by
 * (parent, number) in one hash table for the whole tree, and the children are put in order at the
 * end.
 */
#include "tree.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/lookup.h"
#include "libcommon/base/order.h"
#include "libcommon/names/runtime.h"

struct maker {
	struct model *m;
	MS_ARRAY(struct branch) b;
	struct ms_lookup children; /* branches except the root, by parent and frame or process or
				      entry */
	uint32_t *same;            /* by frame: the first frame of the same function */
	enum tree_fold fold;
	bool *repeated;       /* by index in a path: rounds of a recursion were removed */
	const char **entries; /* by site: allocator function; NULL = not requested */
};

static int compare_frames(const struct frame *a, const struct frame *b)
{
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (!a->function || !b->function || a->note || b->note) {
		int known = !!a->function - !!b->function;
		if (known)
			return known;
		if (a->note && b->note)
			return strcmp(a->note, b->note);
		return a->address < b->address ? -1 : a->address > b->address;
	}
	return strcmp(a->function, b->function);
}

static int by_function(const void *x, const void *y)
{
	const struct frame *a = *(const struct frame *const *)x,
			   *b = *(const struct frame *const *)y;
	int c = compare_frames(a, b);
	return c ? c : a < b ? -1 : 1;
}

static void number_frames(struct maker *k)
{
	size_t n = k->m->frames.n;
	struct frame *f = k->m->frames.v;
	const struct frame **sorted = ms_xrealloc(NULL, n, sizeof *sorted);
	k->same = ms_xrealloc(NULL, n, sizeof *k->same);
	for (size_t i = 0; i < n; i++)
		sorted[i] = &f[i];
	qsort(sorted, n, sizeof *sorted, by_function);
	for (size_t i = 0; i < n; i++) {
		bool again = i && compare_frames(sorted[i], sorted[i - 1]) == 0;
		k->same[sorted[i] - f] =
			again ? k->same[sorted[i - 1] - f] : (uint32_t)(sorted[i] - f);
	}
	free(sorted);
}

static uint32_t same_as(const struct maker *k, uint32_t frame)
{
	return frame == NONE ? NONE : k->same[frame];
}

/* Returns the child of `parent` for a frame, process or allocator function, made if needed. */
static uint32_t child(struct maker *k, uint32_t parent, uint32_t frame, uint32_t process,
		      const char *entry, struct pair v)
{
	uint64_t key = (uint64_t)process << 32 | same_as(k, frame);
	key += entry ? ms_hash_text(entry) : 0;
	uint32_t hash = ms_hash(key, parent), i;
	const struct frame *f = k->m->frames.v;
	struct branch *b = NULL;
	for (size_t at = hash; (i = ms_lookup_next(&k->children, hash, &at));) {
		b = &k->b.v[i];
		if (b->parent == parent && b->process == process &&
		    same_as(k, b->frame) == same_as(k, frame) && !b->entry == !entry &&
		    (!entry || strcmp(b->entry, entry) == 0))
			break;
	}
	if (!i) {
		i = (uint32_t)k->b.n;
		b = MS_PUSH(&k->b);
		*b = (struct branch){.parent = parent,
				     .first_child = NONE,
				     .next = NONE,
				     .frame = frame,
				     .process = process,
				     .entry = entry};
		ms_lookup_add(&k->children, hash, i);
	}
	if (frame != NONE && f[b->frame].line != f[frame].line)
		b->several = true;
	b->sum = pair_add(b->sum, v);
	return i;
}

/* Tells whether the last `period` frames of a path of `n` frames have the same functions as the
 * `period` frames before. */
static bool repeats(const struct maker *k, const uint32_t *path, size_t n, size_t period)
{
	if (n < 2 * period)
		return false;
	for (size_t i = n - period; i < n; i++)
		if (k->same[path[i]] != k->same[path[i - period]])
			return false;
	return true;
}

/* Removes all rounds of a recursion but the first from a path. Returns the number of frames
 * left. */
static size_t fold_recursion(struct maker *k, uint32_t *path, size_t n)
{
	enum { LONGEST = 4 }; /* longest cycle of functions that call each other */
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		k->repeated[kept] = false;
		path[kept++] = path[i];
		for (size_t period = 1; period <= LONGEST; period++)
			if (repeats(k, path, kept, period)) {
				kept -= period;
				/* an inlined part of a function inside the same function is no
				 * recursion */
				k->repeated[kept - period] |=
					!k->m->frames.v[path[kept]].inlined &&
					!k->m->frames.v[path[kept - period]].inlined;
				break;
			}
	}
	return kept;
}

static bool is_runtime(const struct maker *k, uint32_t frame)
{
	const struct frame *f = &k->m->frames.v[frame];
	return f->runtime && !f->note;
}

/* Removes the runtime's frames from a path, innermost first, except those that user code called
 * directly; with `up` the path begins at user code. A path without user code keeps only its
 * innermost frame. Returns the number of frames left. */
static size_t fold_runtime(const struct maker *k, uint32_t *path, size_t n, bool up)
{
	size_t kept = 0, own = n;
	while (own && (is_runtime(k, path[own - 1]) || k->m->frames.v[path[own - 1]].note))
		own--;
	for (size_t i = 0; i < n; i++) {
		bool runtime = is_runtime(k, path[i]),
		     called = i + 1 < own && !is_runtime(k, path[i + 1]);
		bool left_out = runtime && (own ? !called || (up && !kept) : i > 0);
		if (!left_out)
			path[kept++] = path[i];
	}
	return kept;
}

/* Tells whether a frame belongs to the allocator function `entry`, which has a branch of its
 * own. */
static bool is_entry(const struct maker *k, uint32_t frame, const char *entry)
{
	const char *own = ms_entry_point(k->m->frames.v[frame].function);
	return own && strcmp(own, entry) == 0;
}

static void add_site(struct maker *k, const struct site *s, struct pair v, bool up, uint32_t *path)
{
	uint32_t at = 0;
	const char *entry = !k->entries ? NULL : k->entries[s - k->m->sites.v] ?: "entry not known";
	k->b.v[0].sum = pair_add(k->b.v[0].sum, v);
	if (k->m->processes.n > 1)
		at = child(k, at, NONE, s->process, NULL, v);
	if (entry && up)
		at = child(k, at, NONE, NONE, entry, v);
	size_t n = model_stack(k->m, s->stack, path);
	if (k->fold == TREE_OWN)
		n = fold_runtime(k, path, n, up);
	if (entry && n && is_entry(k, path[0], entry)) {
		n--;
		memmove(path, path + 1, n * sizeof *path);
	} else if (!n) {
		at = child(k, at, NONE, NONE, NULL, v);
	}
	for (size_t i = 0; !up && i < n / 2; i++) {
		uint32_t other = path[i];
		path[i] = path[n - 1 - i];
		path[n - 1 - i] = other;
	}
	if (k->fold)
		n = fold_recursion(k, path, n);
	for (size_t i = 0; i < n; i++) {
		at = child(k, at, path[i], NONE, NULL, v);
		k->b.v[at].repeated |= k->fold && k->repeated[i];
	}
	if (entry && !up)
		at = child(k, at, NONE, NONE, entry, v);
	k->b.v[at].self = pair_add(k->b.v[at].self, v);
}

static int smallest_first(const void *x, const void *y, void *arg)
{
	const struct branch *v = arg;
	uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
	const struct pair *a = &v[i].sum, *b = &v[j].sum;
	return MS_ORDER(a->a, b->a) ?: MS_ORDER(a->b, b->b) ?: MS_ORDER(j, i);
}

/* Links every branch in front of its parent's other children, smallest first, so that the largest
 * ends up first. */
static void link_children(struct maker *k)
{
	uint32_t *order = ms_xrealloc(NULL, k->b.n, sizeof *order);
	for (uint32_t i = 0; i < k->b.n; i++)
		order[i] = i;
	qsort_r(order, k->b.n, sizeof *order, smallest_first, k->b.v);
	for (size_t i = 0; i < k->b.n; i++) {
		struct branch *b = &k->b.v[order[i]];
		if (b->parent == NONE)
			continue;
		b->next = k->b.v[b->parent].first_child;
		k->b.v[b->parent].first_child = order[i];
	}
	free(order);
}

struct tree tree_make(struct model *m, enum metric metric, bool up, enum tree_fold fold, bool entry)
{
	struct maker k = {.m = m, .fold = fold};
	number_frames(&k);
	k.entries = entry ? model_site_texts(m, "entry") : NULL;
	*MS_PUSH(&k.b) = (struct branch){
		.parent = NONE, .first_child = NONE, .next = NONE, .frame = NONE, .process = NONE};
	uint32_t *path = ms_xrealloc(NULL, m->nodes.n, sizeof *path);
	k.repeated = ms_xcalloc(m->nodes.n + 1, sizeof *k.repeated);
	for (size_t i = 0; i < m->sites.n; i++) {
		struct pair v = site_pair(&m->sites.v[i], metric);
		/* trees for people show numbers of blocks, so include sites with only 0-byte
		 * blocks */
		bool blocks = fold && metric_is_bytes(metric) && figure_some(v.b);
		if (v.a != UNKNOWN && (v.a || blocks))
			add_site(&k, &m->sites.v[i], v, up, path);
	}
	link_children(&k);
	struct tree t = {.metric = metric, .up = up, .n = k.b.n};
	t.v = ms_arena_alloc(&m->arena, k.b.n * sizeof *t.v);
	memcpy(t.v, k.b.v, k.b.n * sizeof *t.v);
	t.total = total_pair(m, metric);
	t.hidden = hidden_pair(m, metric);
	t.other.a = figure_sub(figure_sub(t.total.a, t.hidden.a), t.v[0].sum.a);
	MS_FREE(path, k.repeated, k.same, k.children.slots, k.b.v);
	return t;
}

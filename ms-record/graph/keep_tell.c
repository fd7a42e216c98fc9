/* SPDX-License-Identifier: MIT
 * Leaves out rows that are too small, and hands out the others, in their order, with paths.
 */
#include <stdlib.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/order.h"
#include "keep_work.h"

/* ---- which rows ---- */

/* Keeps the rows that retain `least` bytes or more. Returns how many these are, with the rows for
 * what is left out. */
static uint32_t keep_rows(struct keep *k, uint64_t least)
{
	uint32_t n = 0;
	for (uint32_t r = 0; r < k->row_count; r++) {
		struct keep_tree_row *x = &k->rows[r], *up = &k->rows[x->parent];
		x->left_bytes = x->left_blocks = 0;
		x->kept = !r || (x->retained_blocks && x->retained_bytes >= least);
		n += x->kept;
		if (x->kept || !up->kept || !x->retained_blocks)
			continue;
		n += !up->left_blocks;
		up->left_bytes += x->retained_bytes;
		up->left_blocks += x->retained_blocks;
	}
	return n - 1;
}

/* Decides which rows are kept. Returns their number, as keep_rows does. */
static uint32_t choose_rows(struct keep *k)
{
	double share = k->in->least * (double)k->live_bytes;
	uint64_t least = share > 0 ? (uint64_t)share + ((double)(uint64_t)share < share) : 0;
	uint64_t enough = k->live_bytes + 1; /* no row retains so much */
	uint32_t n = keep_rows(k, least);
	if (n <= k->in->rows_most)
		return n;
	while (enough - least > 1) { /* `least` keeps too many */
		uint64_t middle = least + (enough - least) / 2;
		if (keep_rows(k, middle) > k->in->rows_most)
			least = middle;
		else
			enough = middle;
	}
	return keep_rows(k, enough);
}

/* ---- their order ---- */

struct order {
	uint32_t parent, row;
	uint64_t bytes, blocks, key; /* key: what stays the same in another run */
	uint8_t kind;
};

static int by_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;
	int c = MS_ORDER(x->parent, y->parent) ?: MS_ORDER(y->bytes, x->bytes);
	c = c ?: MS_ORDER(y->blocks, x->blocks) ?: MS_ORDER(x->kind, y->kind);
	return c ?: MS_ORDER(x->key, y->key);
}

/* Returns the kept rows by their parents, siblings with the largest first. */
static struct order *sort_rows(struct keep *k, uint32_t n)
{
	struct order *v = keep_take(k, (uint64_t)n + 1, sizeof *v);
	uint32_t at = 0;
	for (uint32_t r = 1; r < k->row_count && v; r++) {
		const struct keep_tree_row *x = &k->rows[r];
		if (x->kept)
			v[at++] = (struct order){
				.parent = x->parent,
				.row = r,
				.bytes = x->retained_bytes,
				.blocks = x->retained_blocks,
				.key = x->kind == ROW_SET ? k->masks[x->key] : x->key,
				.kind = x->kind,
			};
	}
	if (at)
		qsort(v, at, sizeof *v, by_order);
	for (uint32_t i = 0; i < at; i++)
		if (!i || v[i].parent != v[i - 1].parent)
			k->rows[v[i].parent].first = i + 1;
	return v;
}

/* ---- paths ---- */

struct way {
	uint32_t row, class;
	uint64_t blocks;
};

static int by_row(const void *a, const void *b)
{
	const struct way *x = a, *y = b;
	return MS_ORDER(x->row, y->row) ?: MS_ORDER(x->class, y->class);
}

/* Sets for each kept row the path of most of its blocks. */
static void choose_paths(struct keep *k)
{
	struct way *v = keep_take(k, (uint64_t)k->pair_count + 1, sizeof *v), sum = {0};
	uint32_t n = 0;
	for (uint32_t i = 0; i < k->pair_count && v; i++)
		if (k->rows[k->pairs[i].row].kept)
			v[n++] = (struct way){k->pairs[i].row, k->pairs[i].class,
					      k->pairs[i].blocks};
	if (n)
		qsort(v, n, sizeof *v, by_row);
	for (uint32_t i = 0; i < n; i++) {
		sum.blocks = i && !by_row(&v[i], &v[i - 1]) ? sum.blocks : 0;
		sum.blocks += v[i].blocks;
		struct keep_tree_row *r = &k->rows[v[i].row];
		if (sum.blocks > r->path_blocks ||
		    (sum.blocks == r->path_blocks && keep_class_before(k, v[i].class, r->path))) {
			r->path = v[i].class;
			r->path_blocks = sum.blocks;
		}
	}
	keep_drop(k, v);
}

/* ---- the result ---- */

/* Returns 1 + the caller's index of a root. */
static uint32_t told_root(const struct keep *k, uint32_t root)
{
	uint32_t own = k->in->root_count;
	return 1 + (root < own ? k->outer[root] : own + k->by_size[root - own]);
}

static void tell_path(const struct keep *k, struct keep_path *p, uint32_t class, uint32_t stack)
{
	const struct keep_class *c = &k->classes[class];
	*p = (struct keep_path){.root = told_root(k, c->root),
				.count = c->depth,
				.cut = c->mapping || c->stack != stack};
	for (uint32_t i = c->depth; i--; c = &k->classes[c->parent])
		p->steps[i] = (struct keep_step){c->stack, c->run, c->mapping};
}

static void tell_set(const struct keep *k, struct keep_set *s, uint64_t mask)
{
	*s = (struct keep_set){.others = mask >> KEEP_SET_ROOTS};
	for (uint64_t m = mask << 1 >> 1; m; m &= m - 1) {
		uint32_t group = k->bit_group[__builtin_ctzll(m)];
		uint32_t root = keep_root_of(k, k->vertex[k->group_at[group]]);
		s->roots[s->count++] = told_root(k, root);
	}
}

static void tell_row(const struct keep *k, struct keep_result *out, const struct keep_tree_row *r,
		     uint32_t parent)
{
	bool below = r->kind >= ROW_BLOCKS,
	     lone = r->kind == ROW_ROOT && r->key >= k->in->root_count;
	struct keep_row row = {
		.parent = parent,
		.root = r->kind == ROW_ROOT ? told_root(k, r->key) : 0,
		.stack = below ? r->key : 0,
		.mapping = r->kind == ROW_MAPPINGS || lone,
		.bytes = r->bytes,
		.blocks = r->blocks,
		.retained_bytes = r->retained_bytes,
		.retained_blocks = r->retained_blocks,
		.mapped_bytes = r->mapped_bytes,
		.offset = below ? r->offset : KEEP_NONE,
		.from = r->to == KEEP_NONE ? KEEP_NONE : r->from,
		.to = r->to,
		.depth = r->depth,
		.type = r->type,
		.path = KEEP_NONE,
		.path_blocks = r->path_blocks,
	};
	if (r->kind == ROW_SET) {
		tell_set(k, &out->sets[out->set_count++], k->masks[r->key]);
		row.set = out->set_count;
	}
	if (r->path_blocks) {
		row.path = out->path_count++;
		tell_path(k, &out->paths[row.path], r->path, r->key);
	}
	out->rows[out->row_count++] = row;
}

static void tell_rest(struct keep_result *out, const struct keep_tree_row *r, uint32_t parent)
{
	out->rows[out->row_count++] = (struct keep_row){
		.parent = parent,
		.rest = true,
		.bytes = r->left_bytes,
		.blocks = r->left_blocks,
		.retained_bytes = r->left_bytes,
		.retained_blocks = r->left_blocks,
		.offset = KEEP_NONE,
		.from = KEEP_NONE,
		.depth = 1,
		.path = KEEP_NONE,
	};
}

/* Hands out the rows below those that were handed out, in the order of these. */
static void tell_rows(struct keep *k, struct keep_result *out, const struct order *v, uint32_t n)
{
	uint32_t *inner = keep_take(k, (uint64_t)n + 1, sizeof *inner); /* 0: the top, or a rest */
	for (uint32_t at = 0; inner && at <= out->row_count; at++) {
		const struct keep_tree_row *up = &k->rows[inner[at]];
		if (at && !inner[at])
			continue;
		for (uint32_t i = up->first; i && v[i - 1].row && v[i - 1].parent == inner[at];
		     i++) {
			tell_row(k, out, &k->rows[v[i - 1].row], at);
			inner[out->row_count] = v[i - 1].row;
		}
		if (up->left_blocks)
			tell_rest(out, up, at);
	}
	keep_drop(k, inner);
}

void keep_tell(struct keep *k, struct keep_result *out)
{
	uint32_t n = choose_rows(k), sets = 0;
	struct order *v = sort_rows(k, n);
	choose_paths(k);
	for (uint32_t r = 1; r < k->row_count; r++)
		sets += k->rows[r].kept && k->rows[r].kind == ROW_SET;
	if (keep_over(k))
		return;
	out->rows = ms_xcalloc((size_t)n + 1, sizeof *out->rows);
	out->paths = ms_xcalloc((size_t)n + 1, sizeof *out->paths);
	out->sets = ms_xcalloc((size_t)sets + 1, sizeof *out->sets);
	tell_rows(k, out, v, n);
	out->kept_bytes = k->rows[0].retained_bytes;
	out->kept_blocks = k->rows[0].retained_blocks;
}

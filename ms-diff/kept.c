/* SPDX-License-Identifier: MIT
 * Compares what keeps blocks alive. A keeper is the same in both runs if its kind, module and name
 * are, and the names of its thread and program; several of one name are added up. A set of keepers
 * is the same if its keepers are.
 */
#include "kept.h"

#include "libcommon/base/err.h"
#include "libcommon/base/order.h"
#include "libcommon/model/facts.h"
#include "libcommon/model/kept.h"
#include "libcommon/snapshot/snapshot_insert.h"

#include <stdlib.h>
#include <string.h>

/* Holds what a keeper, or a set, keeps on each side. */
struct keeping {
	const struct kept_row *row;  /* a row of it, in the newest run that has it */
	const struct keeper *keeper; /* NULL = a set */
	struct live sides[2];
	int64_t below_site, below_bytes; /* site below it that grew most, and by how much */
	const char *below_type;
	uint32_t number; /* number in `keys` */
};

/* Holds the blocks of the sites of one place below a keeper. */
struct below {
	uint32_t keeping; /* number of the keeper */
	int64_t sides[2];
	struct live retained[2]; /* by rows directly below the keeper */
	int64_t site, most;      /* site of the new run with most bytes, and these */
	const char *type;
};

struct comparing {
	const struct matching *m;
	struct intern keys, places;       /* names of keepers; pairs of a keeper and a place */
	MS_ARRAY(struct keeping) keepers; /* by number in `keys` */
	MS_ARRAY(struct below) below;     /* by number in `places` */
	struct ms_arena arena;
};

/* ---- keys ---- */

/* Returns a text that is equal for the keepers of both runs that are the same. */
static const char *key_of(struct comparing *c, const struct keeper *x)
{
	const char *const parts[] = {x->kind, x->module ? basename(x->module) : NULL, x->name,
				     x->thread};
	const char *key = "";
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		key = ms_arena_printf(&c->arena, "%s%s\x1f", key, parts[i] ?: "");
	return key;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *set_key(struct comparing *c, const struct keeper_set *set)
{
	const char **v = ms_arena_alloc(&c->arena, (set->n + 1) * sizeof *v),
		   *key = set->others ? "others" : "set";
	for (size_t i = 0; i < set->n; i++)
		v[i] = key_of(c, set->v[i]);
	MS_SORT(v, set->n, by_text);
	for (size_t i = 0; i < set->n; i++)
		key = ms_arena_printf(&c->arena, "%s\x1e%s", key, v[i]);
	return key;
}

/* Returns the number of the keeper, or set, of a top-level row. */
static uint32_t keeping_of(struct comparing *c, const struct run *r, const struct kept_row *row)
{
	const char *key = row->keeper ? key_of(c, row->keeper)
			  : row->set  ? set_key(c, row->set)
				      : "",
		   *exe = r->m.processes.v[row->process].exe;
	if (r->m.processes.n > 1 && exe)
		key = ms_arena_printf(&c->arena, "%s\x1d%s", basename(exe), key);
	uint32_t n = intern_text(&c->keys, key);
	if (n == c->keepers.n)
		*MS_PUSH(&c->keepers) = (struct keeping){0};
	c->keepers.v[n].row = row;
	c->keepers.v[n].keeper = row->keeper;
	return n;
}

/* ---- sums ---- */

/* Adds the blocks of a row to the sum of its keeper and place. */
static void add_below(struct comparing *c, const struct run *r, const struct kept *k,
		      uint32_t keeping, const struct kept_row *row)
{
	const struct run_site *s = row->site ? MS_FIND_ID(r->sites.v, r->sites.n, row->site) : NULL;
	if (!s || row->bytes > INT64_MAX / 4)
		return;
	const uint32_t pair[2] = {keeping, c->m->s->all.v[s->spot].row};
	uint32_t n = intern(&c->places, pair, sizeof pair);
	if (n == c->below.n)
		*MS_PUSH(&c->below) = (struct below){.keeping = keeping};
	struct below *b = &c->below.v[n];
	b->sides[r->side] = delta_add(b->sides[r->side], (int64_t)row->bytes);
	if (k->rows[row->parent].parent == NONE)
		live_add(&b->retained[r->side], row->retained);
	if (r->side == NEW && (!b->site || (int64_t)row->bytes > b->most)) {
		b->site = row->site;
		b->most = (int64_t)row->bytes;
		b->type = row->type;
	}
}

static void add_run(struct comparing *c, const struct run *r, const struct kept *k)
{
	uint32_t *number = ms_xrealloc(NULL, k->n + 1, sizeof *number); /* by top-level row */
	for (uint32_t i = 0; i < k->n; i++) {
		const struct kept_row *row = &k->rows[i];
		if (row->parent == NONE) {
			number[i] = keeping_of(c, r, row);
			live_add(&c->keepers.v[number[i]].sides[r->side], row->retained);
		} else {
			add_below(c, r, k, number[row->top], row);
		}
	}
	free(number);
}

static int64_t change(const struct keeping *x)
{
	return (int64_t)(x->sides[NEW].bytes - x->sides[OLD].bytes);
}

/* Orders keepers by how much more they keep, the most first. */
static int by_change(const void *a, const void *b)
{
	const struct keeping *x = a, *y = b;
	return MS_ORDER(change(y), change(x)) ?:
	       MS_ORDER(y->sides[NEW].bytes, x->sides[NEW].bytes) ?:
	       strcmp(x->keeper ? x->keeper->kind : "", y->keeper ? y->keeper->kind : "") ?:
	       strcmp(x->keeper && x->keeper->name ? x->keeper->name : "",
		      y->keeper && y->keeper->name ? y->keeper->name : "");
}

static int64_t retained_change(const struct below *b)
{
	return (int64_t)(b->retained[NEW].bytes - b->retained[OLD].bytes);
}

/* Orders places by their keepers, those of one keeper by how much more they retain, the most
 * first. */
static int by_retained(const void *a, const void *b)
{
	const struct below *x = a, *y = b;
	return MS_ORDER(x->keeping, y->keeping) ?:
	       MS_ORDER(retained_change(y), retained_change(x)) ?:
	       MS_ORDER(x->site, y->site);
}

static void finish(struct comparing *c)
{
	for (size_t i = 0; i < c->below.n; i++) {
		const struct below *b = &c->below.v[i];
		struct keeping *x = &c->keepers.v[b->keeping];
		int64_t grown = delta_sub(b->sides[NEW], b->sides[OLD]);
		if (!b->site || grown <= x->below_bytes)
			continue;
		x->below_site = b->site;
		x->below_bytes = grown;
		x->below_type = b->type;
	}
	MS_SORT(c->below.v, c->below.n, by_retained);
	for (uint32_t i = 0; i < c->keepers.n; i++)
		c->keepers.v[i].number = i;
	MS_SORT(c->keepers.v, c->keepers.n, by_change);
}

/* ---- the table ---- */

static struct ms_value known(const char *column, uint64_t v)
{
	return ms_int_if(column, v != UNKNOWN && v <= INT64_MAX, v);
}

static struct ms_value signed_number(const char *column, int64_t v)
{
	return ms_address(column, (uint64_t)v);
}

/* Holds a row of table kept_diff. */
struct diff_row {
	int64_t id, parent, site; /* parent, site: 0 = none */
	const char *kind, *name;
	const struct keeper *keeper;
	const struct live *sides;  /* old, new */
	const struct keeping *own; /* the keeper's own row; NULL = of what is below it */
};

static void put(struct ms_insert *in, const struct diff_row *r)
{
	const struct keeper *k = r->keeper;
	const struct live *old = &r->sides[OLD], *new = &r->sides[NEW];
	bool below = r->own && r->own->below_bytes > 0;
	ms_put_row(in, signed_number("id", r->id),
		   ms_int_if("parent", r->parent, (uint64_t)r->parent),
		   ms_int_if("site", r->site, (uint64_t)r->site), ms_text("kind", r->kind),
		   ms_text("name", r->name), ms_text("module", k->module), known("size", k->size),
		   ms_text("file", k->file), known("line", k->line), ms_text("type", k->type),
		   ms_text("thread", k->thread), known("old_bytes", old->bytes),
		   known("old_blocks", old->blocks), known("new_bytes", new->bytes),
		   known("new_blocks", new->blocks),
		   signed_number("delta_bytes", (int64_t)(new->bytes - old->bytes)),
		   signed_number("delta_blocks", (int64_t)(new->blocks - old->blocks)),
		   ms_int_if("below_site", below, below ? (uint64_t)r->own->below_site : 0),
		   ms_int_if("below_bytes", below, below ? (uint64_t)r->own->below_bytes : 0),
		   ms_text("below_type", below ? r->own->below_type : NULL));
}

/* Writes the row of a keeper, and those of the places directly below it that changed. Returns the
 * number of the last row; `id`: that of the first. */
static int64_t put_keeping(struct comparing *c, struct ms_insert *in, const struct keeping *x,
			   int64_t id)
{
	static const struct keeper none = {.kind = "other", .size = UNKNOWN, .line = UNKNOWN};
	const struct keeper *k = x->keeper ?: &none;
	const struct keeper_set *set = x->row->set;
	struct diff_row row = {.id = id, .keeper = k, .sides = x->sides, .own = x};
	row.kind = set ? "shared" : k->kind;
	row.name = set ? ms_keeper_set_name(&c->arena, set) : k->name;
	put(in, &row);
	size_t i = x->number ? MS_COUNT_UP_TO(c->below.v, c->below.n, keeping, x->number - 1) : 0;
	for (; i < c->below.n && c->below.v[i].keeping == x->number; i++) {
		const struct below *b = &c->below.v[i];
		const struct keeper typed = {.type = b->type, .size = UNKNOWN, .line = UNKNOWN};
		if (b->site && retained_change(b))
			put(in, &(struct diff_row){++row.id, id, b->site, "site", NULL, &typed,
						   b->retained, NULL});
	}
	return row.id;
}

/* Reads the last scan up to the moment that is compared; NULL = there is none. */
static const struct kept *read_run(struct run *r)
{
	if (r->missing)
		return NULL;
	r->m.at_time_ns = moment_sum(&r->m, r->label).time_ns;
	const struct kept *k = kept_read(&r->m, 0);
	return kept_done(k) ? k : NULL;
}

int kept_compare(const struct matching *m, const struct opened *runs, struct ms_err *err)
{
	struct run *old = runs->shown[OLD], *new = runs->shown[NEW];
	const struct kept *before = read_run(old), *after = read_run(new);
	struct comparing c = {.m = m};
	if (ms_sql_exec(new->db, "DELETE FROM kept_diff", err) != 0)
		return -1;
	if (!before || !after)
		return 0;
	add_run(&c, old, before);
	add_run(&c, new, after);
	finish(&c);
	struct ms_insert in = ms_insert(new->db, "kept_diff", err);
	int64_t id = 0;
	for (size_t i = 0; i < c.keepers.n; i++)
		id = put_keeping(&c, &in, &c.keepers.v[i], id + 1);
	int rc = ms_insert_close(&in);
	MS_FREE(c.keepers.v, c.below.v);
	intern_free(&c.keys);
	intern_free(&c.places);
	ms_arena_free(&c.arena);
	return rc;
}

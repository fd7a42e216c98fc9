/* SPDX-License-Identifier: MIT
 * --why: what keeps the blocks of one place alive.
 *
 *   Session::Session svc.cc:40: 161.5 MiB in 1,480,000 blocks, at request at 12m 31s
 *     kept by     global g_sessions, all of it
 *     within      fill svc.cc:94 (linked) -> +40 fill svc.cc:93 [Session] -> Session::Session svc.cc:40
 *     path        g_sessions -> fill svc.cc:94 (3 times) -> fill svc.cc:93 -> Session::Session svc.cc:40
 */
#include "kept.h"

#include "names.h"

#include "libcommon/base/err.h"
#include "libcommon/base/order.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

enum { STEPS = 16, PARTS = 5, FACTS = 4 * PARTS + 1 };

/* ---- which sites ---- */

/* Holds what the argument of --why means. */
struct wanted {
	struct model *m;
	int64_t number;            /* of a site; 0 = it is no number */
	const char *text;          /* function, or file with `line` */
	size_t length;             /* length of the file's name */
	unsigned long line;        /* 0 = it is a function */
	const struct frame *place; /* only sites of this place; NULL = all */
};

static struct wanted parse(struct model *m, const char *s)
{
	struct wanted w = {.m = m, .text = s, .length = strlen(s)};
	const char *colon = strrchr(s, ':');
	size_t digits = strspn(s, "0123456789");
	if (*s && digits == w.length && digits < 19) {
		w.number = strtoll(s, NULL, 10);
	} else if (colon && colon > s && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")]) {
		w.length = (size_t)(colon - s);
		w.line = strtoul(colon + 1, NULL, 10);
	}
	return w;
}

/* Tells whether `file` is, or ends with, the path that is wanted. */
static bool is_file(const struct wanted *w, const char *file)
{
	size_t n = file ? strlen(file) : 0;
	const char *end = n >= w->length ? file + n - w->length : NULL;
	return end && memcmp(end, w->text, w->length) == 0 && (end == file || end[-1] == '/');
}

static bool is_function(const struct wanted *w, const struct frame *f)
{
	struct model *m = w->m;
	const char *name = frame_name(&m->arena, m, f), *brief = ms_name_short(&m->arena, name);
	size_t n = strlen(brief), k = strlen(w->text);
	bool last = n > k + 2 && strcmp(brief + n - k, w->text) == 0 &&
		    strncmp(brief + n - k - 2, "::", 2) == 0;
	return last || fnmatch(w->text, name, 0) == 0 || fnmatch(w->text, brief, 0) == 0;
}

static bool is_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_place(const struct frame *x, const struct frame *y)
{
	return x == y || (x->function && is_equal(x->function, y->function) &&
			  is_equal(x->file, y->file) && x->line == y->line);
}

static bool is_wanted(void *arg, const struct site *s)
{
	const struct wanted *w = arg;
	const struct frame *f = site_frame(w->m, s);
	if (w->number)
		return s->id == w->number;
	if (w->place)
		return f && is_same_place(f, w->place);
	return f && (w->line ? f->line == w->line && is_file(w, f->file) : is_function(w, f));
}

int kept_why_check(struct model *m, const char *place, struct ms_err *err)
{
	struct wanted w = parse(m, place);
	const struct kept *k = kept_read(m, 0);
	if (!k)
		return ms_err_set(err, "--why needs a recording with a retention scan: ms-record "
				       "--retention, or ms-record --tell FILE retention");
	if (kept_unknown(k))
		return ms_err_set(err, "--why: the retention scan has no result: %s",
				  kept_unknown(k));
	for (size_t i = 0; i < m->sites.n; i++)
		if (is_wanted(&w, &m->sites.v[i]))
			return 0;
	return ms_err_set(err,
			  "--why: no site '%s' in this snapshot: expected the number of a site, a "
			  "function or FILE:LINE",
			  place);
}

/* ---- the places ---- */

struct place {
	struct wanted wanted;
	const struct site *site; /* the first of its sites */
	struct live live;
	struct kept_part *parts;
	size_t part_count;
};

static int by_bytes(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	return MS_ORDER(y->live.bytes, x->live.bytes) ?:
	       MS_ORDER(y->live.blocks, x->live.blocks) ?:
	       MS_ORDER(x->site->id, y->site->id);
}

/* Returns the places of the wanted sites, most bytes first, without those of which nothing is kept
 * if there are others. */
static struct place *find_places(struct model *m, const struct kept *k, const char *text, size_t *n)
{
	struct wanted w = parse(m, text);
	MS_ARRAY(struct place) v = {0};
	for (size_t i = 0; i < m->sites.n; i++) {
		const struct site *s = &m->sites.v[i];
		size_t at = 0;
		if (!is_wanted(&w, s))
			continue;
		while (at < v.n && !is_wanted(&v.v[at].wanted, s))
			at++;
		if (at < v.n)
			continue;
		struct place *x = MS_PUSH(&v);
		*x = (struct place){.wanted = w, .site = s};
		x->wanted.place = site_frame(m, s);
		x->part_count = kept_parts(m, k, is_wanted, &x->wanted, &x->parts);
		for (size_t p = 0; p < x->part_count; p++)
			live_add(&x->live, x->parts[p].live);
	}
	MS_SORT(v.v, v.n, by_bytes);
	for (*n = 0; *n < v.n && (*n == 0 || v.v[*n].part_count);)
		++*n;
	struct place *places = ms_arena_alloc(&m->arena, (v.n + 1) * sizeof *places);
	if (v.n)
		memcpy(places, v.v, v.n * sizeof *places);
	free(v.v);
	return places;
}

/* ---- words ---- */

static const char *arrow(const struct style *st)
{
	return st->ascii ? " -> " : " \u2192 ";
}

/* Returns the rows from below the keeper down to `row`: each of them alone keeps the next. */
static const char *within(struct model *m, const struct kept *k, const struct kept_row *row,
			  const struct style *st)
{
	const char *s = NULL;
	for (; row->parent != NONE; row = &k->rows[row->parent]) {
		const char *offset = row->offset == UNKNOWN
					     ? ""
					     : SAY("+%llu ", (unsigned long long)row->offset),
			   *type = row->type ? SAY(" [%s]", kept_type(m, row->type, st)) : "";
		s = SAY("%s%s%s%s%s%s", offset, kept_site(m, row->site, st), type,
			row->depth > 1 ? " (linked)" : "", s ? arrow(st) : "", s ?: "");
	}
	return s;
}

/* Returns the shortest path to a block of the row, or NULL. */
static const char *on_the_way(struct model *m, const struct kept *k, const struct kept_row *row,
			      const struct style *st)
{
	const struct keeper *root;
	struct kept_step v[STEPS];
	size_t n = kept_path(m, k, row, &root, v, STEPS);
	if (!n)
		return NULL;
	struct kept_row top = {.keeper = root};
	struct keeper name = kept_name(m, &top);
	const char *s = keeper_short(m, &name, st);
	for (size_t i = 0; i < n; i++)
		s = SAY("%s%s%s%s", s, arrow(st), kept_site(m, v[i].site, st),
			v[i].count > 1 && v[i].count != UNKNOWN
				? SAY(" (%s)", say_things(m, v[i].count, "time"))
				: "");
	return row->path_cut ? SAY("%s%s...", s, arrow(st)) : s;
}

static void add(struct kept_why *w, const char *label, const char *text)
{
	if (text && w->n < FACTS)
		((struct kept_fact *)w->v)[w->n++] = (struct kept_fact){label, text};
}

static void tell_part(struct model *m, const struct kept *k, const struct place *x,
		      const struct kept_part *part, const struct style *st, struct kept_why *w)
{
	const struct kept_row *row = &k->rows[part->most];
	const char *much = x->part_count == 1
				   ? "all of it"
				   : SAY("%s: %s", say_share(m, part->live.bytes, x->live.bytes),
					 say_live(m, part->live));
	const char *also = kept_observers(m, k, &k->rows[part->top], st);
	add(w, "kept by",
	    SAY("%s, %s%s%s", kept_label(m, k, &k->rows[part->top], st), much,
		also ? "; also reached from " : "", also ?: ""));
	const char *share =
		row->blocks < part->live.blocks
			? SAY(": %s of these blocks", say_share(m, row->blocks, part->live.blocks))
			: "";
	const char *in = within(m, k, row, st);
	add(w, "within", in ? SAY("%s%s", in, share) : NULL);
	add(w, "path", on_the_way(m, k, row, st));
}

static struct kept_why tell(struct model *m, const struct kept *k, const struct place *x,
			    const struct style *st)
{
	struct kept_why w = {.v = ms_arena_alloc(&m->arena, FACTS * sizeof *w.v)};
	const char *name = kept_site(m, x->site->id, st), *when = kept_when(m, k, st);
	if (x->wanted.number)
		name = SAY("SITE %lld  %s", (long long)x->site->id, name);
	w.title = !x->part_count ? SAY("%s: no keeper of its blocks is known, %s: they were "
				       "unreachable or not live then, or too few to be listed",
				       name, when)
				 : SAY("%s: %s, %s", name, say_live(m, x->live), when);
	for (size_t i = 0; i < x->part_count && i < PARTS; i++)
		tell_part(m, k, x, &x->parts[i], st, &w);
	if (x->part_count > PARTS)
		add(&w, "and by", SAY("%zu more", x->part_count - PARTS));
	return w;
}

size_t kept_why(struct model *m, const char *place, size_t limit, const struct style *st,
		const struct kept_why **v)
{
	const struct kept *k = kept_read(m, 0);
	size_t n = 0;
	struct place *places = k ? find_places(m, k, place, &n) : NULL;
	n = n < limit ? n : limit;
	struct kept_why *w = ms_arena_alloc(&m->arena, (n + 1) * sizeof *w);
	for (size_t i = 0; i < n; i++)
		w[i] = tell(m, k, &places[i], st);
	*v = w;
	return n;
}

/* ---- for programs ---- */

static const struct column why_columns[] = {
	{NULL, "function", CELL_TEXT, .sum = false}, {NULL, "place", CELL_TEXT, .sum = false},
	{NULL, "process", CELL_ID, .sum = false},    {NULL, "keeper", CELL_TEXT, .sum = false},
	{NULL, "name", CELL_TEXT, .sum = false},     {NULL, "thread", CELL_TEXT, .sum = false},
	{NULL, "bytes", CELL_SIZE, .sum = false},    {NULL, "blocks", CELL_COUNT, .sum = false},
	{NULL, "row", CELL_ID, .sum = false},        {NULL, "within", CELL_TEXT, .sum = false},
	{NULL, "path", CELL_TEXT, .sum = false},
};

struct table kept_why_table(struct model *m, const char *place, size_t limit)
{
	static const struct style plain = {.full_names = true, .ascii = true};
	struct table t = TABLE_OF(why_columns, .title = NULL);
	const struct kept *k = kept_read(m, 0);
	size_t n = 0;
	struct place *places = k ? find_places(m, k, place, &n) : NULL;
	for (size_t i = 0; i < n; i++) {
		const struct place *x = &places[i];
		const struct frame *f = site_frame(m, x->site);
		for (size_t p = 0; p < x->part_count && t.n < limit; p++) {
			const struct kept_row *row = &k->rows[x->parts[p].most];
			struct keeper name = kept_name(m, &k->rows[x->parts[p].top]);
			struct cell *c = table_row(m, &t)->cells;
			c[0].s = f ? frame_name(&m->arena, m, f) : NULL;
			c[1].s = f ? frame_place(&m->arena, m, f, &plain) : NULL;
			c[2].n = (uint64_t)m->processes.v[row->process].id;
			c[3].s = name.kind;
			c[4].s = name.name;
			c[5].s = name.thread;
			c[6].n = x->parts[p].live.bytes;
			c[7].n = x->parts[p].live.blocks;
			c[8].n = (uint64_t)row->id;
			c[9].s = within(m, k, row, &plain);
			c[10].s = on_the_way(m, k, row, &plain);
		}
	}
	return t;
}

/* SPDX-License-Identifier: MIT
 * Reads the tables of ms-diff.
 */
#include "diff.h"

#include "libcommon/model/rows.h"

#include "libcommon/base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns of the current row ---- */

static int64_t number(struct reader *r)
{
	int c = r->col++;
	int64_t v = sqlite3_column_int64(r->st, c);
	return sqlite3_column_type(r->st, c) != SQLITE_INTEGER ? DELTA_UNKNOWN : v;
}

static struct limits limits(struct reader *r)
{
	struct limits l;
	l.low = number(r);
	l.high = number(r);
	return l;
}

/* ---- one function per table ---- */

static void read_key(struct reader *r)
{
	struct diff *d = r->m->diff;
	const char *key = reader_text(r), *value = reader_text(r);
	r->col = 1;
	uint64_t n = reader_number(r);
	const struct {
		const char *key, **text;
		uint64_t *number;
	} keys[] = {{"old", &d->old, NULL},
		    {"new", &d->new, NULL},
		    {"old_point", &d->old_point, NULL},
		    {"new_point", &d->new_point, NULL},
		    {"per", &d->per, NULL},
		    {"history", &d->history, NULL},
		    {"old_nameless", &d->nameless[0], NULL},
		    {"new_nameless", &d->nameless[1], NULL},
		    {"min_change", NULL, &d->min_change},
		    {"old_runs", NULL, &d->old_runs},
		    {"new_runs", NULL, &d->new_runs},
		    {"old_operations", NULL, &d->old_operations},
		    {"new_operations", NULL, &d->new_operations}};
	for (size_t i = 0; key && i < sizeof keys / sizeof *keys; i++) {
		if (strcmp(key, keys[i].key) != 0)
			continue;
		if (keys[i].text && value)
			*keys[i].text = value;
		else if (keys[i].number)
			*keys[i].number = n;
	}
	if (key && strcmp(key, "old_missing") == 0)
		d->old_missing = n == 1;
	if (key && strcmp(key, "same_program") == 0)
		d->same_program = n != 0;
}

static void read_run(struct reader *r)
{
	const char *side = reader_text(r);
	struct diff_run *x = MS_PUSH(&r->m->diff->runs);
	*x = (struct diff_run){.old = side && strcmp(side, "old") == 0};
	x->reference = number(r) == 1;
	x->name = reader_text(r);
	x->name = x->name ? x->name : "?";
	x->exe = reader_text(r);
	x->started_ns = reader_number(r);
	x->complete = number(r) == 1;
	x->events_lost = reader_number(r);
	x->sampled_bytes = reader_number(r);
}

static void read_total(struct reader *r)
{
	struct diff_total *t = MS_PUSH(&r->m->diff->totals);
	*t = (struct diff_total){.figure = reader_text(r)};
	t->figure = t->figure ? t->figure : "";
	t->old = number(r);
	t->new = number(r);
	t->delta = number(r);
	t->of_delta = limits(r);
	t->of_old = limits(r);
	t->of_new = limits(r);
	t->significant = number(r) == 1;
}

static int kind_of(const char *s)
{
	for (int k = 0; s && k < DIFF_KINDS; k++)
		if (strcmp(s, diff_kind_names[k]) == 0)
			return k;
	return DIFF_UNCHANGED;
}

static unsigned figures_of(const char *names)
{
	unsigned bits = 0;
	for (size_t n; names && *names; names += n + (names[n] == ',')) {
		n = strcspn(names, ",");
		bits |= 1U << diff_figure_named(names, n);
	}
	return bits;
}

static void read_row(struct reader *r)
{
	struct diff_row x = {.site = model_site(r->m, (int64_t)reader_number(r)),
			     .over = DELTA_UNKNOWN};
	x.kind = (enum diff_kind)kind_of(reader_text(r));
	x.significant = number(r) == 1;
	x.figures = reader_text(r);
	x.changed = figures_of(x.figures);
	x.matched = reader_text(r);
	x.weak = number(r) == 1;
	x.evidence = reader_text(r);
	x.sites = reader_number(r);
	x.old_sites = reader_number(r);
	x.old_site = reader_number(r);
	double share = sqlite3_column_double(r->st, r->col++);
	x.share = share >= -1 && share <= 1 ? share : 0;
	int64_t *const parts[] = {x.old, x.new, x.delta};
	for (int part = 0; part < 3; part++)
		for (int f = 0; f < DIFF_FIGURES; f++)
			parts[part][f] = number(r);
	if (x.site)
		*MS_PUSH(&r->m->diff->rows) = x;
}

static void read_kept(struct reader *r)
{
	struct diff *d = r->m->diff;
	struct kept_change x = {.keeper = {.kind = reader_text(r), .name = NULL}};
	struct keeper *k = &x.keeper;
	k->kind = k->kind ?: "";
	k->name = reader_text(r);
	k->module = reader_text(r);
	k->file = reader_text(r);
	k->type = reader_text(r);
	k->thread = reader_text(r);
	k->size = reader_number(r);
	k->line = reader_number(r);
	int64_t *const figures[] = {&x.old,        &x.new,        &x.delta,
				    &x.old_blocks, &x.new_blocks, &x.delta_blocks};
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		*figures[i] = number(r);
	x.below = model_site(r->m, (int64_t)reader_number(r));
	x.below_bytes = number(r);
	x.below_type = reader_text(r);
	uint64_t site = reader_number(r);
	x.site = site == UNKNOWN ? NULL : model_site(r->m, (int64_t)site);
	/* without a site that was hidden, or rows before their keeper's */
	if (site == UNKNOWN || (x.site && d->kept.n))
		*MS_PUSH(&d->kept) = x;
}

static void read_known(struct reader *r)
{
	const struct site *s = model_site(r->m, (int64_t)reader_number(r));
	if (s)
		r->m->diff->known[s - r->m->sites.v] = reader_text(r);
}

static void read_hidden(struct reader *r)
{
	uint64_t sites = reader_number(r);
	r->m->diff->hidden_sites = figure_add(r->m->diff->hidden_sites, sites);
	for (int f = 0; f < DIFF_FIGURES; f++)
		r->m->diff->hidden_delta[f] = delta_add(r->m->diff->hidden_delta[f], number(r));
}

MS_COMPARE(by_site, struct diff_row, MS_ORDER(x->site->id, y->site->id))

static void read_range(struct reader *r)
{
	struct site at = {.id = (int64_t)reader_number(r)};
	struct diff_row want = {.site = &at};
	const char *figure = reader_text(r);
	struct diff_row *x = r->m->diff->rows.n ? bsearch(&want, r->m->diff->rows.v,
							  r->m->diff->rows.n, sizeof want, by_site)
						: NULL;
	int f = figure ? diff_figure_named(figure, strlen(figure)) : DIFF_FIGURES;
	if (x && figure && strcmp(figure, "max_live_bytes") == 0) {
		r->col += 4; /* skips old_low to new_high */
		x->over = number(r);
		r->m->diff->peak_moved |= x->over != DELTA_UNKNOWN;
	}
	if (!x || f == DIFF_FIGURES)
		return;
	if (!x->ranges) {
		x->ranges = ms_arena_alloc(&r->m->arena, DIFF_FIGURES * sizeof *x->ranges);
		for (int i = 0; i < DIFF_FIGURES * 3; i++)
			x->ranges[i / 3][i % 3] = (struct limits){DELTA_UNKNOWN, DELTA_UNKNOWN};
	}
	for (int i = 0; i < 3; i++)
		x->ranges[f][i] = limits(r);
}

#define SITE_FIGURES(side)                                                                         \
	side "_live_bytes, " side "_live_blocks, " side "_peak_bytes, " side "_peak_blocks, " side \
	     "_allocations, " side "_frees, " side "_allocated_bytes, " side "_temporary"

static const struct {
	reader_row *row;
	const char *sql;
} tables[] = {
	{read_key, "SELECT key, value FROM diff"},
	{read_run, "SELECT side, reference, name, exe, started_ns, complete, events_lost,"
		   " sampled_bytes FROM diff_run ORDER BY id"},
	{read_total, "SELECT figure, old, new, delta, delta_low, delta_high, old_low, old_high,"
		     " new_low, new_high, significant FROM diff_total"},
	{read_row, "SELECT site, kind, significant, figures, matched, weak, evidence, sites,"
		   " old_sites, old_site, share, " SITE_FIGURES("old") ", " SITE_FIGURES(
			   "new") ", " SITE_FIGURES("delta") " FROM site_diff ORDER BY site"},
	{read_range, "SELECT site, figure, old_low, old_high, new_low, new_high, delta_low,"
		     " delta_high FROM site_diff_range"},
	{read_known, "SELECT site, verdict FROM diff_known"},
	{read_kept, "SELECT kind, name, module, file, type, thread, size, line, old_bytes,"
		    " new_bytes, delta_bytes, old_blocks, new_blocks, delta_blocks, below_site,"
		    " below_bytes, below_type, site FROM kept_diff ORDER BY id"},
	{read_hidden,
	 "SELECT sites, new_live_bytes - old_live_bytes, new_live_blocks - old_live_blocks,"
	 " new_peak_bytes - old_peak_bytes, new_peak_blocks - old_peak_blocks,"
	 " new_allocations - old_allocations, new_frees - old_frees,"
	 " new_allocated_bytes - old_allocated_bytes, new_temporary - old_temporary"
	 " FROM diff_hidden"},
};

/* ---- order and sums ---- */

static int64_t known(int64_t v)
{
	return v == DELTA_UNKNOWN ? 0 : v;
}

/* Lists the figures whose change makes a site count as changed, see ms-diff(1). */
static const enum diff_figure counted[] = {DIFF_LIVE, DIFF_PEAK, DIFF_ALLOCATIONS, DIFF_ALLOCATED};

bool diff_grew(const struct diff *d, const struct diff_row *x)
{
	for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
		if (x->changed & ~d->level & 1U << counted[i] &&
		    known(diff_blame(x, counted[i])) > 0)
			return true;
	return false;
}

bool diff_changed(const struct diff *d)
{
	for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
		const struct diff_total *t = diff_total(d, diff_figure_names[counted[i]]);
		if (t && t->significant)
			return true;
	}
	return false;
}

static int64_t size_of_change(const struct diff_row *x)
{
	int64_t live = llabs(known(x->delta[DIFF_LIVE])), peak = llabs(known(x->delta[DIFF_PEAK]));
	return live > peak ? live : peak;
}

static int by_weight(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	if (x->significant != y->significant)
		return x->significant ? -1 : 1;
	int growth =
		MS_ORDER(y->share > 0, x->share > 0) ?: MS_ORDER(fabs(y->share), fabs(x->share));
	return (x->significant ? growth : 0)
		       ?: MS_ORDER(size_of_change(y), size_of_change(x))
		       ?: MS_ORDER(known(y->delta[DIFF_ALLOCATED]), known(x->delta[DIFF_ALLOCATED]))
		       ?: by_site(a, b);
}

void diff_sort(struct diff_row *v, size_t n)
{
	MS_SORT(v, n, by_weight);
}

void diff_sum_add(struct diff_sum *s, const struct diff_row *x, const int64_t *figures)
{
	s->sites++;
	s->significant += x->significant;
	for (int f = 0; f < DIFF_FIGURES; f++)
		s->figures[f] = delta_add(s->figures[f], figures[f]);
}

static void sum_rows(struct diff *d)
{
	struct diff_sum all = {0};
	for (size_t i = 0; i < d->rows.n; i++) {
		const struct diff_row *x = &d->rows.v[i];
		d->significant += x->significant;
		diff_sum_add(&all, x, x->delta);
		diff_sum_add(&d->kinds[x->kind], x,
			     x->kind == DIFF_NEW    ? x->new
			     : x->kind == DIFF_GONE ? x->old
						    : x->delta);
		if (x->kind < DIFF_UNCHANGED && !x->significant)
			diff_sum_add(&d->noise, x, x->delta);
		if (x->matched && strcmp(x->matched, "renamed") == 0)
			diff_sum_add(&d->renamed, x, x->delta);
	}
	for (int f = 0; f < DIFF_FIGURES; f++)
		d->level |= all.figures[f] == 0 ? 1U << f : 0;
}

int diff_read(struct model *m, struct ms_err *err)
{
	if (ms_sql_int(m->db, "SELECT count(*) FROM diff", 0) == 0)
		return 0;
	struct diff *d = ms_arena_alloc(&m->arena, sizeof *d);
	m->diff = d;
	d->old = d->new = "?";
	d->old_point = d->new_point = "end";
	d->same_program = true;
	d->known = ms_arena_alloc(&m->arena, (m->sites.n + 1) * sizeof *d->known);
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		if (reader_read(m, tables[i].row, tables[i].sql, err) != 0)
			return -1;
	diff_sort(d->rows.v, d->rows.n);
	sum_rows(d);
	m->quality.complete = m->quality.complete && !diff_cut_run(m);
	return 0;
}

void diff_free(struct model *m)
{
	if (m->diff)
		MS_FREE(m->diff->rows.v, m->diff->totals.v, m->diff->runs.v, m->diff->kept.v);
}

const struct diff_total *diff_total(const struct diff *d, const char *figure)
{
	for (size_t i = 0; i < d->totals.n; i++)
		if (strcmp(d->totals.v[i].figure, figure) == 0)
			return &d->totals.v[i];
	return NULL;
}

const struct diff_run *diff_cut_run(const struct model *m)
{
	const struct diff *d = m->diff;
	for (size_t i = 0; d && i < d->runs.n; i++)
		if (!d->runs.v[i].complete)
			return &d->runs.v[i];
	return NULL;
}

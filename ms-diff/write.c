/* SPDX-License-Identifier: MIT
 * The tables of a comparison, written into the snapshot of the new run.
 */
#include "write.h"

#include "gone.h"
#include "nameless.h"

#include "libcommon/base/err.h"

#include <stdio.h>
#include <string.h>

/* A row on its way into a table. */
struct insert {
	sqlite3 *db;
	sqlite3_stmt *st;
	struct ms_err *err;
	int column, rc;
};

static void put(struct insert *in, int64_t v)
{
	if (v == UNKNOWN)
		in->column++;
	else
		sqlite3_bind_int64(in->st, ++in->column, v);
}

static void put_text(struct insert *in, const char *s)
{
	in->column++;
	if (s)
		sqlite3_bind_text(in->st, in->column, s, -1, SQLITE_TRANSIENT);
}

static void put_interval(struct insert *in, struct interval x)
{
	put(in, x.low);
	put(in, x.high);
}

static void put_row(struct insert *in)
{
	if (in->rc == 0 && sqlite3_step(in->st) != SQLITE_DONE)
		in->rc = ms_err_set(in->err, "snapshot database: %s", sqlite3_errmsg(in->db));
	sqlite3_reset(in->st);
	sqlite3_clear_bindings(in->st);
	in->column = 0;
}

/* Into a table of so many columns, all of them. */
static int insert_begin(struct insert *in, sqlite3 *db, const char *table, int columns,
			struct ms_err *err)
{
	char sql[256], *to = sql + sprintf(sql, "INSERT INTO %s VALUES(?", table);
	for (int i = 1; i < columns; i++)
		to = stpcpy(to, ",?");
	strcpy(to, ")");
	*in = (struct insert){.db = db, .err = err, .st = ms_sql_prepare(db, sql, err)};
	in->rc = in->st ? 0 : -1;
	return in->rc;
}

static int insert_end(struct insert *in)
{
	sqlite3_finalize(in->st);
	return in->rc;
}

/* ---- what was compared ---- */

static void put_key(struct insert *in, const char *key, const char *text, int64_t number)
{
	put_text(in, key);
	if (text)
		put_text(in, text);
	else
		put(in, number);
	put_row(in);
}

static int write_keys(sqlite3 *db, struct matching *m, const struct opened *runs,
		      const struct options *o, struct ms_err *err)
{
	const struct spots *s = m->s;
	struct insert in;
	if (insert_begin(&in, db, "diff", 2, err) != 0)
		return -1;
	for (int side = OLD; side <= NEW; side++) {
		const struct run *r = runs->shown[side];
		bool new = side == NEW;
		put_key(&in, side_names[side], r->name, 0);
		put_key(&in, new ? "new_point" : "old_point", r->label, 0);
		put_key(&in, new ? "new_runs" : "old_runs", NULL,
			side == OLD && runs->missing ? 0 : (int64_t)s->runs[side].n);
		const char *nameless = nameless_modules(m, (enum side)side);
		if (nameless)
			put_key(&in, new ? "new_nameless" : "old_nameless", nameless, 0);
		if (o->per)
			put_key(&in, new ? "new_operations" : "old_operations", NULL,
				r->operations);
	}
	if (o->per)
		put_key(&in, "per", o->per, 0);
	put_key(&in, "min_change", NULL, o->min_change);
	put_key(&in, "old_missing", NULL, runs->missing);
	put_key(&in, "same_program", NULL, runs->same_program);
	return insert_end(&in);
}

static int64_t total_named(const struct run *r, const char *name)
{
	for (int i = 0; i < TOTALS; i++)
		if (strcmp(totals[i].name, name) == 0)
			return r->totals[i];
	return UNKNOWN;
}

static int write_runs(sqlite3 *db, const struct spots *s, const struct opened *runs,
		      struct ms_err *err)
{
	struct insert in;
	int64_t id = 0;
	if (insert_begin(&in, db, "diff_run", 17, err) != 0)
		return -1;
	for (int side = OLD; side <= NEW; side++)
		for (size_t i = 0; i < s->runs[side].n; i++) {
			const struct run *r = s->runs[side].v[i];
			const struct run_process *p = r->processes.v;
			if (r->missing)
				continue;
			put(&in, ++id);
			put_text(&in, side_names[side]);
			put(&in, r == runs->shown[side]);
			put_text(&in, r->name);
			put_text(&in, r->label);
			put_text(&in, p->exe);
			put_text(&in, p->command);
			put(&in, r->started_ns);
			put(&in, (int64_t)r->processes.n);
			put(&in, r->complete);
			put(&in, r->events_lost);
			put(&in, r->sampled_bytes);
			put_text(&in, r->filters);
			put(&in, r->operations);
			put(&in, total_named(r, "live_bytes"));
			put(&in, total_named(r, "peak_bytes"));
			put(&in, total_named(r, "allocations"));
			put_row(&in);
		}
	return insert_end(&in);
}

static int write_totals(sqlite3 *db, const struct changes *c, struct ms_err *err)
{
	struct insert in;
	if (insert_begin(&in, db, "diff_total", 11, err) != 0)
		return -1;
	for (int i = 0; i < TOTALS; i++) {
		const struct total_change *t = &c->totals[i];
		put_text(&in, totals[i].name);
		put(&in, t->values[OLD]);
		put(&in, t->values[NEW]);
		put(&in, t->delta);
		put_interval(&in, t->delta_sampled);
		put_interval(&in, t->ranges[OLD]);
		put_interval(&in, t->ranges[NEW]);
		put(&in, t->significant);
		put_row(&in);
	}
	return insert_end(&in);
}

static int write_hidden(sqlite3 *db, const struct opened *runs, struct ms_err *err)
{
	struct insert in;
	const struct run *old = runs->shown[OLD], *new = runs->shown[NEW];
	if (insert_begin(&in, db, "diff_hidden", 3 + 2 * FIGURES, err) != 0)
		return -1;
	put(&in, 0);
	put_text(&in, NULL);
	put(&in, figure_add(old->hidden_sites, new->hidden_sites));
	for (int side = OLD; side <= NEW; side++)
		for (int f = 0; f < FIGURES; f++)
			put(&in, runs->shown[side]->hidden[f]);
	put_row(&in);
	return insert_end(&in);
}

/* ---- sites ---- */

static const char *figures_text(const struct change *c, char *buf)
{
	char *to = buf;
	*buf = 0;
	for (int f = 0; f < FIGURES; f++)
		if (c->significant >> f & 1) {
			to = stpcpy(to, to > buf ? "," : "");
			to = stpcpy(to, figure_names[f]);
		}
	return *buf ? buf : NULL;
}

static bool has_range(const struct change *c, int f)
{
	for (int side = OLD; side <= NEW; side++)
		if (c->ranges[side][f].low != c->ranges[side][f].high)
			return true;
	return c->delta_sampled[f].low != UNKNOWN;
}

static void write_ranges(struct insert *in, const struct change *c, int64_t site)
{
	for (int f = 0; f < FIGURES; f++) {
		if (!has_range(c, f))
			continue;
		put(in, site);
		put_text(in, figure_names[f]);
		put_interval(in, c->ranges[OLD][f]);
		put_interval(in, c->ranges[NEW][f]);
		put_interval(in, c->delta_sampled[f]);
		put_row(in);
	}
}

static void write_site(struct insert *in, const struct change *c, int64_t site, int64_t old_site)
{
	char buf[200];
	const struct row *r = c->row;
	put(in, site);
	put_text(in, kind_names[c->kind]);
	put(in, change_counts(c));
	put_text(in, figures_text(c, buf));
	put_text(in, matched_names[r->matched]);
	put(in, r->weak);
	put_text(in, r->evidence);
	put(in, (int64_t)c->sites[NEW]);
	put(in, (int64_t)c->sites[OLD]);
	put(in, old_site);
	for (int side = OLD; side <= NEW; side++)
		for (int f = 0; f < FIGURES; f++)
			put(in, c->figures[side][f]);
	for (int f = 0; f < FIGURES; f++)
		put(in, c->delta[f]);
	put_row(in);
}

static int write_sites(sqlite3 *db, const struct changes *c, const struct opened *runs,
		       struct ms_err *err)
{
	const struct run *old = runs->shown[OLD], *new = runs->shown[NEW];
	struct gone g = {.old = old, .new = new, .db = db};
	struct insert rows = {0}, ranges = {0};
	int rc = gone_begin(&g, err) ||
		 insert_begin(&rows, db, "site_diff", 10 + 3 * FIGURES, err) ||
		 insert_begin(&ranges, db, "site_diff_range", 8, err);
	for (size_t i = 0; rc == 0 && i < c->n; i++) {
		const struct change *x = &c->v[i];
		int64_t old_site = x->site[OLD] == NONE ? UNKNOWN : old->sites.v[x->site[OLD]].id;
		int64_t site = x->site[NEW] == NONE ? gone_add(&g, x->site[OLD])
						    : new->sites.v[x->site[NEW]].id;
		if (!site)
			break;
		write_site(&rows, x, site, old_site);
		write_ranges(&ranges, x, site);
		rc = rows.rc || ranges.rc;
	}
	rc = insert_end(&rows) || insert_end(&ranges) || rc || err->text[0] ? -1 : 0;
	gone_end(&g);
	return rc;
}

static int exec(sqlite3 *db, const char *sql, struct ms_err *err)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return ms_err_set(err, "snapshot database: %s", sqlite3_errmsg(db));
}

/* What an earlier comparison wrote goes. */
static const char forget[] =
	"DELETE FROM diff; DELETE FROM diff_run; DELETE FROM diff_total; DELETE FROM site_diff;"
	" DELETE FROM site_diff_range; DELETE FROM diff_hidden;";

int write_changes(const struct changes *c, struct matching *m, const struct opened *runs,
		  const struct options *o, struct ms_err *err)
{
	const struct spots *s = m->s;
	sqlite3 *db = runs->shown[NEW]->db;
	if (exec(db, "BEGIN", err) != 0 || exec(db, forget, err) != 0)
		return -1;
	if (write_keys(db, m, runs, o, err) != 0 || write_runs(db, s, runs, err) != 0 ||
	    write_totals(db, c, err) != 0 || write_hidden(db, runs, err) != 0 ||
	    write_sites(db, c, runs, err) != 0)
		return -1;
	return exec(db, "COMMIT", err);
}

/* SPDX-License-Identifier: MIT
 * --cohorts: what was allocated in each part of a run, and what of that is still live later.
 */
#include "cohorts.h"

#include "names.h"

#include "libcommon/base/units.h"

#include <string.h>

#define ENDS_MAX 64u /* more than there are in a snapshot that ms-snap made */
#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

const char *const cohort_kinds[COHORT_KINDS] = {"time", "mark", "label"};

/* ---- reading ---- */

/* Returns the process whose triangle is shown. */
static const struct process *shown_process(struct model *m, const struct site *site)
{
	const struct process *most = &m->processes.v[0];
	for (size_t i = 1; i < m->processes.n; i++)
		if (figure_or_0(m->processes.v[i].totals.peak_bytes) >
		    figure_or_0(most->totals.peak_bytes))
			most = &m->processes.v[i];
	return site ? &m->processes.v[site->process] : most;
}

/* Returns how many parts make one row: 1, 2 or 5 of times that are round, so that the rows are, too. */
static uint64_t merged(uint64_t parts, size_t most)
{
	return parts <= most ? 1 : parts <= 2 * most ? 2 : parts <= 5 * most ? 5 : parts / most + 1;
}

#define OF_COHORT "FROM cohort WHERE process = %lld AND site = %lld AND kind = %Q"

/* Reads the ends that are shown: the last of each `each` parts. */
static void read_ends(struct model *m, struct cohorts *c, uint64_t each)
{
	uint64_t last = figure_or_0(
		model_number(m, "SELECT max(at_part) " OF_COHORT, c->process, c->site, c->kind));
	c->ends = ms_arena_alloc(&m->arena, ENDS_MAX * sizeof *c->ends);
	sqlite3_stmt *q = model_ask(m,
				    "SELECT DISTINCT at_part, at_ns " OF_COHORT
				    " AND (at_part %% %llu = 0 OR at_part = %llu) ORDER BY 1",
				    c->process, c->site, c->kind, (unsigned long long)each,
				    (unsigned long long)last);
	while (model_next(&q))
		if (c->end_count < ENDS_MAX)
			c->ends[c->end_count++] =
				(struct cohort_end){.part = figure_in(q, 0), .ns = figure_in(q, 1)};
}

static void read_rows(struct model *m, struct cohorts *c, uint64_t each)
{
	uint64_t n = model_number(m, "SELECT count(DISTINCT part) " OF_COHORT, c->process, c->site,
				  c->kind);
	c->rows = ms_arena_alloc(&m->arena, (figure_or_0(n) + 1) * sizeof *c->rows);
	uint64_t unit =
		c->by != COHORT_TIME
			? 0
			: model_number(m, "SELECT max(to_ns - from_ns) " OF_COHORT " AND part > 0",
				       c->process, c->site, c->kind);
	/* a row begins with its first part, which may have no rows, and has the name of the first
	 * that has */
	sqlite3_stmt *q = model_ask(
		m,
		"SELECT (part + %llu) / %llu,"
		" substr(min(printf('%%08d', part) || coalesce(mark, label, '')), 9),"
		" min(from_ns) - (min(part) - 1) %% %llu * %llu, max(to_ns),"
		" sum(allocated_bytes) " OF_COHORT " GROUP BY 1 ORDER BY 1",
		(unsigned long long)each - 1, (unsigned long long)each, (unsigned long long)each,
		(unsigned long long)figure_or_0(unit), c->process, c->site, c->kind);
	while (model_next(&q)) {
		struct cohort *x = &c->rows[c->n++];
		const char *name = (const char *)sqlite3_column_text(q, 1);
		*x = (struct cohort){.part = figure_in(q, 0),
				     .name = name && *name ? ms_arena_strdup(&m->arena, name)
							   : NULL,
				     .from_ns = figure_in(q, 2),
				     .to_ns = figure_in(q, 3),
				     .allocated = figure_in(q, 4)};
		x->live = ms_arena_alloc(&m->arena, (c->end_count + 1) * sizeof *x->live);
		for (size_t i = 0; i < c->end_count; i++)
			if (x->from_ns != UNKNOWN && c->ends[i].ns <= x->from_ns && x->part)
				x->live[i] = UNKNOWN;
	}
}

/* Reads what is live of each row at the ends that are shown. */
static void read_live(struct model *m, struct cohorts *c, uint64_t each)
{
	size_t row = 0, end = 0;
	sqlite3_stmt *q =
		model_ask(m,
			  "SELECT (part + %llu) / %llu, at_part, sum(live_bytes) " OF_COHORT
			  " GROUP BY 1, 2 ORDER BY 1, 2",
			  (unsigned long long)each - 1, (unsigned long long)each, c->process,
			  c->site, c->kind);
	while (model_next(&q)) {
		uint64_t part = figure_in(q, 0), at = figure_in(q, 1);
		for (; row < c->n && c->rows[row].part < part; row++)
			end = 0;
		while (end < c->end_count && c->ends[end].part < at)
			end++;
		if (row < c->n && end < c->end_count && c->ends[end].part == at)
			c->rows[row].live[end] = figure_in(q, 2);
	}
}

struct cohorts cohorts_read(struct model *m, enum cohort_kind kind, const struct site *site,
			    size_t most)
{
	const struct process *p = shown_process(m, site);
	struct cohorts c = {.by = kind,
			    .kind = cohort_kinds[kind],
			    .process = p->id,
			    .pid = p->pid,
			    .site = site ? site->id : 0};
	uint64_t parts = model_number(m, "SELECT max(at_part) " OF_COHORT, c.process, c.site,
				      c.kind),
		 each = merged(figure_or_0(parts), most);
	read_ends(m, &c, each);
	each = kind == COHORT_LABEL ? 1 : each;
	read_rows(m, &c, each);
	read_live(m, &c, each);
	return c;
}

/* ---- the triangle ---- */

/* Returns a size in at most five columns: "1.2M". */
static const char *short_size(struct model *m, uint64_t bytes)
{
	double v = (double)bytes;
	const char *unit = "BKMGTPE";
	if (bytes == UNKNOWN)
		return "";
	for (; v >= 999.5 && unit[1]; unit++)
		v /= 1024;
	return SAY(v < 9.95 && *unit != 'B' ? "%.1f%c" : "%.0f%c", v, *unit);
}

static const char *seconds(struct model *m, uint64_t ns)
{
	char buf[MS_UNIT_BUF];
	return ns == UNKNOWN ? "" : SAY("%s", ms_format_seconds(buf, ns));
}

static const char *title(struct model *m, const struct cohorts *c)
{
	static const char *const by[COHORT_KINDS] = {"in each part of the run", "from mark to mark",
						     "under each label"};
	const char *of = c->site ? SAY(" of site %lld", c->site) : "";
	if (m->processes.n > 1)
		of = SAY("%s of pid %llu", of, (unsigned long long)c->pid);
	const char *s = SAY("COHORTS%s: allocated %s, and live of that at the end of each part%s",
			    of, by[c->by], m->est ? " (estimates)" : "");
	return c->site ? s : table_unfiltered(m, s);
}

/* Returns why there are no cohorts. */
static const char *none(struct model *m, const struct cohorts *c)
{
	uint64_t any =
		model_number(m, "SELECT EXISTS(SELECT 1 FROM cohort WHERE site = %lld)", c->site);
	return any != 1 && c->site    ? "the trace is needed to tell this of one site"
	       : any != 1             ? "no allocations were recorded"
	       : c->by == COHORT_MARK ? "no mark was set"
				      : "no labels were set";
}

enum { FROM, MARK, LABEL, ALLOCATED, ENDS };

/* Adds a column per end. */
static struct column *make_columns(struct model *m, const struct cohorts *c)
{
	static const struct column first[ENDS] = {
		[FROM] = {"from", NULL, CELL_VALUE, .sum = false},
		[MARK] = {"mark", NULL, CELL_TEXT, .sum = false},
		[LABEL] = {"label", NULL, CELL_TEXT, .sum = false},
		[ALLOCATED] = {"allocated", NULL, CELL_SIZE, .sum = true},
	};
	struct column *v = ms_arena_alloc(&m->arena, (ENDS + c->end_count) * sizeof *v);
	memcpy(v, first, sizeof first);
	v[c->by == COHORT_LABEL ? MARK : LABEL].title = NULL;
	if (c->by == COHORT_TIME)
		v[MARK].title = NULL;
	if (c->by == COHORT_LABEL)
		v[FROM].title = NULL;
	for (size_t i = 0; i < c->end_count; i++)
		v[ENDS + i] = (struct column){.title = seconds(m, c->ends[i].ns),
					      .kind = CELL_VALUE,
					      .optional = i + 1 < c->end_count};
	return v;
}

struct table cohorts_table(struct model *m, enum cohort_kind kind, const struct site *site,
			   size_t limit)
{
	struct cohorts c = cohorts_read(m, kind, site, COHORT_SHOWN);
	struct table t = {.title = title(m, &c),
			  .empty = none(m, &c),
			  .columns = make_columns(m, &c),
			  .column_count = ENDS + c.end_count};
	uint64_t *sums = ms_arena_alloc(&m->arena, (c.end_count + 1) * sizeof *sums);
	for (size_t i = 0; i < c.n; i++) {
		struct cell *cells = table_row(m, &t)->cells;
		cells[FROM].s = c.rows[i].part ? seconds(m, c.rows[i].from_ns) : "before";
		cells[MARK].s = cells[LABEL].s = c.rows[i].name;
		if (kind == COHORT_LABEL && !c.rows[i].name)
			cells[LABEL].s = "(none)";
		cells[ALLOCATED].n = c.rows[i].allocated;
		for (size_t k = 0; k < c.end_count; k++) {
			cells[ENDS + k].s = short_size(m, c.rows[i].live[k]);
			cells[ENDS + k].n = c.rows[i].live[k];
			sums[k] = figure_add(sums[k], figure_or_0(c.rows[i].live[k]));
		}
	}
	if (kind == COHORT_LABEL)
		table_finish(m, &t, ENDS + (int64_t)c.end_count - 1, limit, "label", TOTAL_NONE);
	if (!t.n)
		return t;
	struct row *total = table_row(m, &t);
	total->kind = ROW_TOTAL;
	total->cells[FROM].s = total->cells[LABEL].s = "total";
	for (size_t i = 0; i < c.n; i++)
		total->cells[ALLOCATED].n =
			figure_add(total->cells[ALLOCATED].n, c.rows[i].allocated);
	for (size_t k = 0; k < c.end_count; k++)
		total->cells[ENDS + k].s = short_size(m, sums[k]);
	return t;
}

/* ---- for machines ---- */

static const struct column row_columns[] = {
	{NULL, "process", CELL_ID, .sum = false},
	{NULL, "site", CELL_ID, .sum = false},
	{NULL, "part", CELL_ID, .sum = false},
	{NULL, "mark", CELL_TEXT, .sum = false},
	{NULL, "label", CELL_TEXT, .sum = false},
	{NULL, "from_ns", CELL_TIME, .sum = false},
	{NULL, "to_ns", CELL_TIME, .sum = false},
	{NULL, "allocated_bytes", CELL_SIZE, .sum = false},
	{NULL, "allocated_blocks", CELL_COUNT, .sum = false},
	{NULL, "at_part", CELL_ID, .sum = false},
	{NULL, "at_ns", CELL_TIME, .sum = false},
	{NULL, "live_bytes", CELL_SIZE, .sum = false},
	{NULL, "live_blocks", CELL_COUNT, .sum = false},
};

struct table cohorts_rows(struct model *m, enum cohort_kind kind, const struct site *site,
			  size_t limit)
{
	struct table t = TABLE_OF(row_columns, .title = NULL);
	table_query(m, &t,
		    "FROM cohort WHERE site = %lld AND kind = %Q ORDER BY process, part, at_part",
		    site ? (long long)site->id : 0LL, cohort_kinds[kind]);
	table_finish(m, &t, -1, limit, "row", TOTAL_NONE);
	return t;
}

/* SPDX-License-Identifier: MIT
 * Mapped address space and usable sizes, read from the database into the model.
 */
#include "mmap_usage.h"

#include "libcommon/base/err.h"

#include <stdlib.h>
#include <string.h>

static void read_process(struct model *m, sqlite3_stmt *st)
{
	uint32_t i = MODEL_FIND(m->processes, sqlite3_column_int64(st, 0));
	if (i == NONE)
		return;
	struct totals *t = &m->processes.v[i].totals;
	uint64_t *const figures[] = {&t->peak_usable, &t->unfreed_usable,     &t->maps,
				     &t->unmaps,      &t->mapped_bytes,       &t->mapped_peak,
				     &t->mapped_end,  &t->mapped_peak_time_ns};
	for (int k = 0; k < 8; k++)
		*figures[k] = figure_in(st, k + 1);
}

static void read_snapshot(struct model *m, sqlite3_stmt *st)
{
	uint32_t i = MODEL_FIND(m->snapshots, sqlite3_column_int64(st, 0));
	if (i == NONE)
		return;
	m->snapshots.v[i].mmap.usable = figure_in(st, 1);
	m->snapshots.v[i].mmap.mapped = figure_in(st, 2);
}

static void read_site(struct model *m, sqlite3_stmt *st)
{
	uint32_t i = MODEL_FIND(m->sites, sqlite3_column_int64(st, 0));
	if (i == NONE)
		return;
	m->sites.v[i].maps = figure_in(st, 1);
	m->sites.v[i].mapped_bytes = figure_in(st, 2);
}

static void read_stat(struct model *m, sqlite3_stmt *st)
{
	uint32_t snap = MODEL_FIND(m->snapshots, sqlite3_column_int64(st, 0)),
		 site = MODEL_FIND(m->sites, sqlite3_column_int64(st, 1));
	if (snap == NONE || site == NONE || strcmp(m->snapshots.v[snap].label, m->at_label) != 0)
		return;
	m->sites.v[site].at_mmap.usable = figure_in(st, 2);
	m->sites.v[site].at_mmap.mapped = figure_in(st, 3);
}

static void read_hidden(struct model *m, sqlite3_stmt *st)
{
	struct hidden *h = &m->hidden;
	if (sqlite3_column_type(st, 0) == SQLITE_NULL) {
		h->maps = figure_add(h->maps, figure_in(st, 1));
		return;
	}
	uint32_t snap = MODEL_FIND(m->snapshots, sqlite3_column_int64(st, 0));
	if (snap != NONE && strcmp(m->snapshots.v[snap].label, m->at_label) == 0)
		h->at_mapped = figure_add(h->at_mapped, figure_in(st, 2));
}

/* Sites without a row have nothing, if the moment's figures are known at all. */
static void begin_sites(struct model *m)
{
	struct mmap_usage *of = ms_arena_alloc(&m->arena, (m->processes.n + 1) * sizeof *of);
	for (size_t i = 0; i < m->processes.n; i++)
		of[i] = (struct mmap_usage){UNKNOWN, UNKNOWN};
	for (size_t i = 0; i < m->snapshots.n; i++) {
		const struct snapshot *s = &m->snapshots.v[i];
		if (strcmp(s->label, m->at_label) != 0)
			continue;
		of[s->process].usable = s->mmap.usable == UNKNOWN ? UNKNOWN : 0;
		of[s->process].mapped = s->mmap.mapped == UNKNOWN ? UNKNOWN : 0;
	}
	for (size_t i = 0; i < m->sites.n; i++)
		m->sites.v[i].at_mmap = of[m->sites.v[i].process];
}

int mmap_usage_read(struct model *m, struct ms_err *err)
{
	static const struct {
		void (*row)(struct model *m, sqlite3_stmt *st);
		const char *sql;
	} tables[] = {
		{read_process,
		 "SELECT id, peak_usable_bytes, unfreed_usable_bytes, maps, unmaps, mapped_bytes,"
		 " mapped_peak_bytes, mapped_end_bytes, mapped_peak_time_ns FROM process"},
		{read_snapshot, "SELECT id, usable_bytes, mapped_bytes FROM snapshot"},
		{read_site, "SELECT id, maps, mapped_bytes FROM site"},
		{read_stat, "SELECT snapshot, site, usable_bytes, mapped_bytes FROM site_stat"
			    " WHERE usable_bytes IS NOT NULL OR mapped_bytes IS NOT NULL"},
		{read_hidden, "SELECT snapshot, maps, mapped_bytes FROM hidden"},
	};
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		sqlite3_stmt *st = ms_sql_prepare(m->db, tables[i].sql, err);
		if (!st)
			return -1;
		int rc;
		if (tables[i].row == read_stat)
			begin_sites(m);
		while ((rc = sqlite3_step(st)) == SQLITE_ROW)
			tables[i].row(m, st);
		sqlite3_finalize(st);
		if (rc != SQLITE_DONE)
			return ms_err_set(err, "cannot read the snapshot: %s",
					  sqlite3_errmsg(m->db));
	}
	return 0;
}

/* ---- at a moment ---- */

struct mmap_usage mmap_usage_at(const struct model *m, const char *label)
{
	struct mmap_usage sum = {0, 0};
	bool found = false;
	for (size_t i = 0; i < m->snapshots.n; i++) {
		const struct snapshot *s = &m->snapshots.v[i];
		if (strcmp(s->label, label) != 0)
			continue;
		found = true;
		sum.usable = figure_add(sum.usable, s->mmap.usable);
		sum.mapped = figure_add(sum.mapped, s->mmap.mapped);
	}
	return found ? sum : (struct mmap_usage){UNKNOWN, UNKNOWN};
}

bool mmap_usage_one_peak(const struct model *m)
{
	return m->processes.n == 1;
}

void mmap_usage_live(const struct model *m, const char *label, uint64_t *live, uint64_t *rss)
{
	*live = *rss = 0;
	for (size_t i = 0; i < m->snapshots.n; i++) {
		const struct snapshot *s = &m->snapshots.v[i];
		if (strcmp(s->label, label) != 0)
			continue;
		*live = figure_add(*live, s->live.bytes);
		*rss = figure_add(*rss, s->rss_bytes);
	}
	/* a process that is gone has no RSS: the last known */
	if (*rss == UNKNOWN && strcmp(label, "end") == 0)
		*rss = m->totals.end_rss_bytes;
}

bool mmap_usage_heap_is_apart(const struct model *m)
{
	for (size_t i = 0; i < m->processes.n; i++) {
		const char *a = m->processes.v[i].allocator;
		if (!a || strncmp(a, "glibc ", 6) != 0 || strchr(a, ','))
			return false;
	}
	return true;
}

/* SPDX-License-Identifier: MIT
 * Writes the live bytes of sites at several moments, for ranges of time in a page.
 *
 * All moments of all sites would be most of a page. So only some moments are chosen, about evenly
 * spaced, and the sites that changed most between those moments; of the other sites the page has
 * the sum.
 */
#include "html_data.h"

#include "libcommon/base/order.h"

#include <stdlib.h>

#define MOMENTS 64
#define CELLS 40000 /* maximum number of moments times sites */

static int by_time(const void *x, const void *y, void *arg)
{
	const struct snapshot *v = arg;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	return MS_ORDER(v[a].time_ns, v[b].time_ns) ?: MS_ORDER(a, b);
}

/* Chooses indices in m->snapshots, in order of time, one per time. Returns none for several
 * processes, because they share no moment. */
static size_t choose(const struct model *m, uint32_t *v)
{
	size_t n = 0, kept = 0;
	for (uint32_t i = 0; i < m->snapshots.n && m->processes.n == 1; i++)
		if (m->snapshots.v[i].time_ns != UNKNOWN && m->snapshots.v[i].live.bytes != UNKNOWN)
			v[n++] = i;
	qsort_r(v, n, sizeof *v, by_time, m->snapshots.v);
	for (size_t i = 0; i < n; i++)
		if (!kept || m->snapshots.v[v[i]].time_ns > m->snapshots.v[v[kept - 1]].time_ns)
			v[kept++] = v[i];
	for (size_t i = 0; kept > MOMENTS && i < MOMENTS; i++)
		v[i] = v[i * (kept - 1) / (MOMENTS - 1)];
	return kept < MOMENTS ? kept : MOMENTS;
}

/* Reads the live bytes of each site of the page at `snapshot`. */
static void read_live(const struct model *m, const struct html_sites *s, int64_t snapshot,
		      uint64_t *live)
{
	sqlite3_stmt *q =
		model_ask(m, "SELECT site, live_bytes FROM site_stat WHERE snapshot = %lld",
			  (long long)snapshot);
	while (model_next(&q)) {
		uint32_t site = MODEL_FIND(m->sites, sqlite3_column_int64(q, 0));
		if (site != NONE && s->row[site] != NONE)
			live[s->row[site]] = figure_in(q, 1);
	}
}

struct moved {
	uint64_t bytes;
	uint32_t row;
};

MS_COMPARE(most_first, struct moved, MS_ORDER(y->bytes, x->bytes) ?: MS_ORDER(x->row, y->row))

MS_COMPARE(by_row, struct moved, MS_ORDER(x->row, y->row))

/* Chooses the sites that changed most, in the order of their rows. */
static size_t most_moved(const uint64_t *live, size_t moments, size_t sites, struct moved *v)
{
	size_t n = sites < CELLS / moments ? sites : CELLS / moments;
	for (uint32_t i = 0; i < sites; i++) {
		uint64_t most = 0, least = UNKNOWN;
		for (size_t k = 0; k < moments; k++) {
			uint64_t x = figure_or_0(live[k * sites + i]);
			most = x > most ? x : most;
			least = x < least ? x : least;
		}
		v[i] = (struct moved){most - least, i};
	}
	qsort(v, sites, sizeof *v, most_first);
	qsort(v, n, sizeof *v, by_row);
	return n;
}

void html_moments_write(struct model *m, const struct html_sites *s, struct html_columns *c)
{
	uint32_t *at = ms_xrealloc(NULL, m->snapshots.n + 1, sizeof *at);
	size_t moments = m->diff || !s->n ? 0 : choose(m, at);
	if (moments < 2) {
		free(at);
		return;
	}
	uint64_t *live = ms_xcalloc(moments * s->n, sizeof *live);
	struct moved *v = ms_xrealloc(NULL, s->n, sizeof *v);
	for (size_t k = 0; k < moments; k++)
		read_live(m, s, m->snapshots.v[at[k]].id, &live[k * s->n]);
	size_t n = most_moved(live, moments, s->n, v);
	uint64_t before = 0;
	html_column(c, moments, "plain", "moment_at");
	for (size_t k = 0; k < moments; k++)
		html_plain(c, at[k]);
	html_column(c, n, "delta", "moment_site");
	for (size_t i = 0; i < n; i++)
		html_delta(c, &before, v[i].row);
	for (size_t k = 0; k < moments; k++) {
		html_column(c, n, k ? "change" : "figure", "moment_%zu", k);
		for (size_t i = 0; i < n; i++) {
			uint64_t x = live[k * s->n + v[i].row];
			if (k)
				html_change(c, live[(k - 1) * s->n + v[i].row], x);
			else
				html_figure(c, x);
		}
	}
	MS_FREE(at, live, v);
}

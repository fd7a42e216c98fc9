/* SPDX-License-Identifier: MIT
 * What the scan at the end of each process found.
 */
#include "facts.h"

#include "model.h"

#include <string.h>

static uint64_t column(sqlite3_stmt *st, int i)
{
	int64_t v = sqlite3_column_int64(st, i);
	return v < 0 ? 0 : (uint64_t)v;
}

static void take_site(struct model *m, sqlite3_stmt *st)
{
	uint32_t i = MODEL_FIND(m->sites, sqlite3_column_int64(st, 0));
	if (i == NONE)
		return;
	struct site *s = &m->sites.v[i];
	s->lost = (struct live){.bytes = column(st, 1), .blocks = column(st, 2)};
	s->retained_bytes = column(st, 3);
}

/* Why the scan at the end told nothing. */
static void take_scan(struct model *m, sqlite3_stmt *st)
{
	static const char *const states[UNSCANNED_COUNT] = {[UNSCANNED_KILLED] = "killed",
							    [UNSCANNED_TIME] = "time",
							    [UNSCANNED_UNREADABLE] = "unreadable",
							    [UNSCANNED_THREADS] = "threads",
							    [UNSCANNED_LOST] = "lost",
							    [UNSCANNED_SAMPLED] = "sampled",
							    [UNSCANNED_MEMORY] = "memory",
							    [UNSCANNED_STOPPED] = "stopped"};
	const char *state = (const char *)sqlite3_column_text(st, 0);
	for (int i = UNSCANNED_NOT + 1; state && !m->unscanned && i < UNSCANNED_COUNT; i++)
		if (!strcmp(state, states[i]))
			m->unscanned = (enum unscanned)i;
}

/* What filters took away has verdicts too. */
static void find_hidden(struct model *m)
{
	struct live sum = {0};
	for (size_t i = 0; i < m->sites.n; i++) {
		sum.bytes += m->sites.v[i].lost.bytes;
		sum.blocks += m->sites.v[i].lost.blocks;
	}
	const struct totals *t = &m->totals;
	bool hides = m->hidden.filters && t->unreachable_bytes != UNKNOWN;
	m->hidden.lost.bytes =
		hides && t->unreachable_bytes > sum.bytes ? t->unreachable_bytes - sum.bytes : 0;
	m->hidden.lost.blocks = hides && t->unreachable_blocks > sum.blocks
					? t->unreachable_blocks - sum.blocks
					: 0;
}

int verdicts_read(struct model *m, struct ms_err *err)
{
	static const char sites[] =
		"SELECT v.site, sum(v.bytes), sum(v.blocks), sum(coalesce(v.retained_bytes, 0))"
		" FROM site_verdict v JOIN site s ON s.id = v.site"
		" JOIN scan c ON c.process = s.process AND c.scan = v.scan"
		" WHERE c.label = 'end' AND c.state = 'done'"
		" AND v.verdict IN ('unreachable', 'indirect') GROUP BY v.site";
	if (model_each(m, sites, take_site, err) != 0 ||
	    model_each(m, "SELECT state FROM scan WHERE label = 'end' ORDER BY process", take_scan,
		       err) != 0)
		return -1;
	find_hidden(m);
	return 0;
}

bool verdicts_known(const struct model *m)
{
	return !strcmp(m->at_label, "end") && m->totals.unreachable_bytes != UNKNOWN;
}

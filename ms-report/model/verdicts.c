/* SPDX-License-Identifier: MIT
 * What the scan at the end of each process found.
 */
#include "facts.h"

#include "model_rows.h"

#include <string.h>

static void take_site(struct reader *r)
{
	uint32_t i = MODEL_FIND(r->m->sites, reader_id(r));
	if (i == NONE)
		return;
	struct site *s = &r->m->sites.v[i];
	s->lost.bytes = reader_number_or_0(r);
	s->lost.blocks = reader_number_or_0(r);
	s->retained_bytes = reader_number_or_0(r);
}

/* Why the scan at the end told nothing. */
static void take_scan(struct reader *r)
{
	static const char *const states[UNSCANNED_COUNT] = {[UNSCANNED_KILLED] = "killed",
							    [UNSCANNED_TIME] = "time",
							    [UNSCANNED_UNREADABLE] = "unreadable",
							    [UNSCANNED_THREADS] = "threads",
							    [UNSCANNED_LOST] = "lost",
							    [UNSCANNED_SAMPLED] = "sampled",
							    [UNSCANNED_MEMORY] = "memory",
							    [UNSCANNED_STOPPED] = "stopped"};
	const char *state = reader_text(r);
	for (int i = UNSCANNED_NOT + 1; state && !r->m->unscanned && i < UNSCANNED_COUNT; i++)
		if (!strcmp(state, states[i]))
			r->m->unscanned = (enum unscanned)i;
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
	if (hides)
		m->hidden.lost = (struct live){figure_sub(t->unreachable_bytes, sum.bytes),
					       figure_sub(t->unreachable_blocks, sum.blocks)};
}

int verdicts_read(struct model *m, struct ms_err *err)
{
	static const char sites[] =
		"SELECT v.site, sum(v.bytes), sum(v.blocks), sum(coalesce(v.retained_bytes, 0))"
		" FROM site_verdict v JOIN site s ON s.id = v.site"
		" JOIN scan c ON c.process = s.process AND c.scan = v.scan"
		" WHERE c.label = 'end' AND c.state = 'done'"
		" AND v.verdict IN ('unreachable', 'indirect') GROUP BY v.site";
	if (reader_read(m, take_site, sites, err) != 0 ||
	    reader_read(m, take_scan, "SELECT state FROM scan WHERE label = 'end' ORDER BY process",
			err) != 0)
		return -1;
	find_hidden(m);
	return 0;
}

bool verdicts_known(const struct model *m)
{
	return !strcmp(m->at_label, "end") && m->totals.unreachable_bytes != UNKNOWN;
}

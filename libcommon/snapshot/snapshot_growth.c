/* SPDX-License-Identifier: MIT
 * Writes the rows of growth: the trends of the sites' live bytes and of the whole heap.
 */
#include "libcommon/replay/replay_growth.h"
#include "libcommon/replay/replay_sampled.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"

#include <math.h>

static struct ms_value rounded(const char *column, bool known, double v)
{
	int64_t whole = llround(fmax(-9e18, fmin(9e18, v)));
	return known ? ms_address(column, (uint64_t)whole) : ms_null(column);
}

static void put_grown(struct ms_insert *in, int64_t process, int64_t site, const struct ms_grown *g)
{
	const struct ms_trend *t = &g->trend;
	bool told = t->kind != MS_TREND_SHORT, survival = g->survivors != 0;
	ms_put_row(in, ms_int("process", process), ms_int("site", site),
		   ms_text("trend", ms_trend_word(t->kind)),
		   rounded("from_ns", true, t->from * 1e9), rounded("to_ns", true, t->to * 1e9),
		   rounded("rise_bytes", told, t->rise),
		   rounded("bytes_per_minute", told, t->slope * 60),
		   rounded("low", told, t->low * 60), rounded("high", told, t->high * 60),
		   told ? ms_real("p", t->p) : ms_null("p"), ms_real("confidence", t->confidence),
		   ms_int_if("survival_ns", survival, g->survival_ns),
		   ms_int_if("survivors", survival, g->survivors),
		   ms_int_if("victims", survival, g->victims),
		   rounded("teardown_ns", t->teardown > 0, t->teardown * 1e9));
}

/* Widens the interval of the slope for a sampled recording. The interval assumes independent
 * samples, but the sampling error of a block is the same in all samples taken during its life:
 * growth by n recorded blocks has an error of sqrt(n) blocks. */
static struct ms_trend widened(struct ms_trend t, double mean)
{
	double seconds = t.to - t.from;
	if (t.kind == MS_TREND_SHORT || mean <= 0 || seconds <= 0)
		return t;
	double half = 1.96 * sqrt((fabs(t.rise) + mean) * mean) / seconds;
	t.low = t.slope - hypot(t.slope - t.low, half);
	t.high = t.slope + hypot(t.high - t.slope, half);
	return t;
}

int ms_put_growth(struct ms_filling *f, int64_t process, const struct ms_trend *t)
{
	struct ms_insert in = ms_insert(f->db, "growth", f->err);
	put_grown(&in, process, 0, &(struct ms_grown){.site = UINT32_MAX, .trend = *t});
	return ms_insert_close(&in);
}

int ms_fill_growth(struct ms_fill *w)
{
	const struct ms_growth *g = w->r->growth;
	const struct ms_sampled *sampled = w->r->sampled;
	struct ms_insert in = ms_rows(w, "growth");
	for (size_t i = 0; i < g->grown_count; i++) {
		struct ms_grown one = g->grown[i];
		one.trend = widened(one.trend, sampled ? (double)sampled->mean : 0);
		put_grown(&in, w->p->id, one.site == UINT32_MAX ? 0 : w->row_of_site[one.site],
			  &one);
	}
	return ms_insert_close(&in);
}

/* SPDX-License-Identifier: MIT
 * The rows of growth: which sites' live bytes, and whether the whole heap's, trend upwards.
 */
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/replay/replay_growth.h"
#include "libcommon/replay/replay_sampled.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"

#include <math.h>

static void put_rounded(struct ms_insert *in, double v)
{
	ms_put_address(in, (uint64_t)(int64_t)llround(fmax(-9e18, fmin(9e18, v))));
}

static void put_grown(struct ms_insert *in, int64_t process, int64_t site, const struct ms_grown *g)
{
	const struct ms_trend *t = &g->trend;
	bool told = t->kind != MS_TREND_SHORT;
	bool survival = g->survivors != 0;
	ms_put(in, (uint64_t)process);
	ms_put(in, (uint64_t)site);
	ms_put_text(in, ms_trend_word(t->kind));
	put_rounded(in, t->from * 1e9);
	put_rounded(in, t->to * 1e9);
	for (unsigned i = 0; i < 4; i++) {
		const double v[] = {t->rise, t->slope * 60, t->low * 60, t->high * 60};
		if (told)
			put_rounded(in, v[i]);
		else
			ms_put_null(in);
	}
	if (told)
		ms_put_real(in, t->p);
	else
		ms_put_null(in);
	ms_put_real(in, t->confidence);
	ms_put_if(in, survival, g->survival_ns);
	ms_put_if(in, survival, g->survivors);
	ms_put_if(in, survival, g->victims);
	ms_put_row(in);
}

/* Samples of a block stand for what the block is worth as long as it lives, so they err together,
 * which the interval of the slope takes no notice of: of a rise of n samples by n's root. */
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

static int64_t row_of(const struct ms_grown *g, const int64_t *row_of_site)
{
	return g->site == UINT32_MAX ? 0 : row_of_site[g->site];
}

/* A site that a scan found to be worse, or of which it could only say that it is still held, keeps
 * what is worse. */
static int set_verdicts(struct ms_filling *f, const struct ms_kept_process *p)
{
	char *sql = sqlite3_mprintf(
		"UPDATE site SET verdict = 'growing' WHERE process = %lld AND id IN"
		" (SELECT site FROM growth WHERE process = %lld AND trend = 'growing')"
		" AND coalesce(verdict, '') NOT IN ('unreachable', 'indirect')",
		(long long)p->id, (long long)p->id);
	int rc = ms_sql_exec(f->db, sql, f->err);
	sqlite3_free(sql);
	return rc;
}

static void open_growth(struct ms_insert *in, struct ms_filling *f)
{
	ms_insert_open(in, f->db, "growth",
		       "process, site, trend, from_ns, to_ns, rise_bytes, bytes_per_minute, low, "
		       "high, p, confidence, survival_ns, survivors, victims",
		       f->err);
}

int ms_put_growth(struct ms_filling *f, int64_t process, const struct ms_trend *t)
{
	struct ms_insert in;
	open_growth(&in, f);
	put_grown(&in, process, 0, &(struct ms_grown){.site = UINT32_MAX, .trend = *t});
	return ms_insert_close(&in);
}

int ms_fill_growth(struct ms_filling *f, const struct ms_kept_process *p,
		   const int64_t *row_of_site)
{
	const struct ms_growth *g = p->rec->replay.growth;
	struct ms_insert in;
	open_growth(&in, f);
	const struct ms_sampled *sampled = p->rec->replay.sampled;
	for (size_t i = 0; i < g->grown_count; i++) {
		struct ms_grown one = g->grown[i];
		one.trend = widened(one.trend, sampled ? (double)sampled->mean : 0);
		put_grown(&in, p->id, row_of(&one, row_of_site), &one);
	}
	if (ms_insert_close(&in) != 0)
		return -1;
	/* of a sampled recording there are rates, but no verdict */
	return p->rec->replay.sampled ? 0 : set_verdicts(f, p);
}

/* SPDX-License-Identifier: MIT
 * Computes what both runs held in the phases of their peaks.
 *
 * To find the phase of a peak in the other run, a site is used that is in both runs and has the
 * largest excess at that peak over the other peak. The moment is at the same part of the time
 * between the site's first and last allocation, so neither the length of the runs nor their
 * beginnings matter. Between two points of the timeline only the maximum is known, so the other
 * run's figure is its maximum near that moment.
 */
#include "phases.h"

/* Divisor of the run's duration: the window extends by this part before and after a moment. */
#define ABOUT 100

/* Queries a figure of a run with a single process. Returns DELTA_UNKNOWN if it has no value, or
 * there are several processes. */
static int64_t ask(const struct run *r, struct ms_arena *a, const char *sql, int64_t id)
{
	return r->m.processes.n == 1
		       ? ms_sql_int(r->db, ms_arena_printf(a, sql, (long long)id), DELTA_UNKNOWN)
		       : DELTA_UNKNOWN;
}

/* Finds the site in both runs whose bytes at the peak of side `peak` most exceed its bytes at the
 * other side's peak; NULL = none. */
static const struct change *most_typical(const struct changes *c, enum side peak)
{
	const struct change *found = NULL;
	int64_t most = 0;
	for (size_t i = 0; i < c->n; i++) {
		const struct change *x = &c->v[i];
		const int64_t *v = x->figures[DIFF_PEAK].values;
		if (x->site[OLD] == NONE || x->site[NEW] == NONE || v[OLD] < 0 || v[NEW] < 0 ||
		    v[peak] - v[!peak] <= most)
			continue;
		most = v[peak] - v[!peak];
		found = x;
	}
	return found;
}

/* Finds the moment of `other` that corresponds to the peak of `of`. Returns DELTA_UNKNOWN if that
 * is not known. */
static int64_t moment_in(const struct run *of, const struct run *other, const struct change *x,
			 struct ms_arena *a)
{
	const struct run *runs[] = {of, other};
	int64_t from[2], to[2], peak = ask(of, a, "SELECT peak_time_ns FROM process", 0);
	for (int i = 0; i < 2; i++) {
		int64_t id = runs[i]->sites.v[x->site[runs[i]->side]].id;
		from[i] = ask(runs[i], a, "SELECT first_ns FROM site WHERE id = %lld", id);
		to[i] = ask(runs[i], a, "SELECT last_ns FROM site WHERE id = %lld", id);
		if (from[i] < 0 || to[i] < from[i])
			return DELTA_UNKNOWN;
	}
	double part = to[0] > from[0] ? (double)(peak - from[0]) / (double)(to[0] - from[0]) : 1;
	part = part < 0 ? 0 : part > 1 ? 1 : part;
	return peak < 0 ? DELTA_UNKNOWN : from[1] + (int64_t)(part * (double)(to[1] - from[1]));
}

static int64_t held_about(const struct run *r, int64_t at, struct ms_arena *a)
{
	int64_t near = ask(r, a, "SELECT duration_ns FROM process", 0) / ABOUT;
	long long from = at > near ? at - near : 0, to = at + near;
	const char *sql = ms_arena_printf(
		a,
		"SELECT max(live_max) FROM timeline WHERE time_ns <= %lld AND time_ns >="
		" (SELECT coalesce(max(time_ns), 0) FROM timeline WHERE time_ns <= %lld)",
		to, from);
	return near < 0 ? DELTA_UNKNOWN : ask(r, a, sql, 0);
}

bool phase_of(const struct changes *c, const struct opened *runs, enum side peak, int64_t bytes[2])
{
	const struct run *of = runs->shown[peak], *other = runs->shown[!peak];
	const struct change *x = most_typical(c, peak);
	struct ms_arena a = {0};
	int64_t at = x ? moment_in(of, other, x, &a) : DELTA_UNKNOWN;
	bytes[peak] = run_total(of, "peak_bytes");
	bytes[!peak] = at == DELTA_UNKNOWN ? DELTA_UNKNOWN : held_about(other, at, &a);
	ms_arena_free(&a);
	return bytes[OLD] >= 0 && bytes[NEW] >= 0 && of->sampled_bytes <= 0 &&
	       other->sampled_bytes <= 0;
}

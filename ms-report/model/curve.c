/* SPDX-License-Identifier: MIT
 * Live heap and RSS over time, resampled to a number of columns.
 */
#include "curve.h"

#include <string.h>

/* Returns the index of the span that a time falls in, among n spans of a run of `whole` ns. */
static size_t span_at(uint64_t time_ns, uint64_t whole, size_t n)
{
	size_t i = whole ? (size_t)((double)time_ns / (double)whole * (double)n) : 0;
	return i < n ? i : n - 1;
}

/* Adds one process's `count` points, in order of time, to the `n` spans. */
static void add_points(struct span *s, size_t n, const struct point *p, size_t count,
		       uint64_t whole)
{
	uint64_t live = 0, blocks = 0, mapped = 0, limits[2] = {0, 0};
	size_t at = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t low = live, high = live;
		for (bool first = true; at < count && span_at(p[at].time_ns, whole, n) == i; at++) {
			uint64_t min = figure_or_0(p[at].live_min),
				 max = figure_or_0(p[at].live_max);
			low = first || min < low ? min : low;
			high = first || max > high ? max : high;
			first = false;
			live = figure_or_0(p[at].live_last);
			blocks = p[at].blocks_last;
			mapped = p[at].mapped_last;
			bool exact = p[at].live_high == UNKNOWN;
			limits[0] = exact ? live : p[at].live_low;
			limits[1] = exact ? live : p[at].live_high;
			s[i].estimated |= !exact;
			s[i].allocations = figure_add(s[i].allocations, p[at].allocations);
			s[i].frees = figure_add(s[i].frees, p[at].frees);
			s[i].allocated_bytes =
				figure_add(s[i].allocated_bytes, p[at].allocated_bytes);
		}
		s[i].live_min = figure_add(s[i].live_min, low);
		s[i].live_max = figure_add(s[i].live_max, high);
		s[i].live_last = figure_add(s[i].live_last, live);
		s[i].blocks_last = figure_add(s[i].blocks_last, blocks);
		s[i].mapped = figure_add(s[i].mapped, mapped);
		/* adding the intervals of several processes gives one that is wider than
		 * necessary */
		for (int k = 0; k < 2; k++)
			s[i].live_limits[k] = figure_add(s[i].live_limits[k], limits[k]);
		s[i].estimated |= i && s[i - 1].estimated;
	}
}

static void add_samples(struct span *s, size_t n, const struct sample *p, size_t count,
			uint64_t whole)
{
	uint64_t rss = UNKNOWN;
	size_t at = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t high = rss;
		for (bool first = true; at < count && span_at(p[at].time_ns, whole, n) == i; at++) {
			rss = p[at].rss_bytes;
			high = first || rss > high ? rss : high;
			first = false;
		}
		if (high != UNKNOWN)
			s[i].rss = s[i].rss == UNKNOWN ? high : figure_add(s[i].rss, high);
	}
}

/* Sets the figures of spans whose events were dropped or not selected to UNKNOWN, except for RSS
 * samples. */
static void forget_unknown(const struct model *m, struct span *s, size_t n)
{
	uint64_t from = m->from_ns == UNKNOWN ? 0 : m->from_ns;
	if (m->processes.n == 1 && m->gaps.dropped_until_ns != UNKNOWN &&
	    m->gaps.dropped_until_ns > from)
		from = m->gaps.dropped_until_ns;
	for (size_t i = 0; i < n; i++)
		if (s[i].to_ns <= from || s[i].from_ns > m->to_ns)
			s[i].live_min = s[i].live_max = s[i].live_last = s[i].blocks_last =
				s[i].allocations = s[i].frees = s[i].allocated_bytes = s[i].mapped =
					UNKNOWN;
}

/* Returns `time_ns`, or the start of the process's next program image (exec) if that is earlier.
 * Without a usable processor counter, times are interpolated between rounds of the recorder, and an
 * image's last events may get times after its end. */
static uint64_t within(const struct model *m, uint32_t process, uint64_t time_ns)
{
	uint32_t became = m->processes.v[process].became;
	uint64_t end = became == NONE ? UNKNOWN : m->processes.v[became].offset_ns;
	return time_ns < end ? time_ns : end;
}

/* Copies the elements of process `p` and of the program images that it became by exec, in order of
 * time, as one curve: an image's memory is gone when the next image begins. `next` holds each
 * process's first index in an array sorted by process. */
#define CHAIN(m, a, next, p, to, count)                                                            \
	for (uint32_t q = p; q != NONE; q = (m)->processes.v[q].became)                            \
		for (size_t i = (next)[q]; i < (a).n && (a).v[i].process == q; i++, (count)++) {   \
			(to)[count] = (a).v[i];                                                    \
			(to)[count].time_ns = within(m, q, (to)[count].time_ns);                   \
		}

/* Fills `next` with the index of each process's first element in `a`, which is sorted by
 * process. */
#define BEGINS(a, next)                                                                            \
	for (size_t i = (a).n; i-- > 0;)                                                           \
	(next)[(a).v[i].process] = i

static void add_all(struct model *m, struct span *s, size_t n, uint64_t whole)
{
	size_t processes = m->processes.n + 1;
	struct ms_arena_mark mark = ms_arena_mark(&m->arena);
	struct point *points = ms_arena_alloc(&m->arena, (m->points.n + 1) * sizeof *points);
	struct sample *samples = ms_arena_alloc(&m->arena, (m->samples.n + 1) * sizeof *samples);
	size_t *point = ms_arena_alloc(&m->arena, processes * sizeof *point),
	       *sample = ms_arena_alloc(&m->arena, processes * sizeof *sample);
	bool *follows = ms_arena_alloc(&m->arena, processes * sizeof *follows);
	memset(point, 0xff, processes * sizeof *point);
	memset(sample, 0xff, processes * sizeof *sample);
	memset(follows, 0, processes * sizeof *follows);
	BEGINS(m->points, point);
	BEGINS(m->samples, sample);
	for (uint32_t p = 0; p < m->processes.n; p++) {
		size_t np = 0, ns = 0;
		uint32_t became = m->processes.v[p].became;
		if (became != NONE)
			follows[became] = true;
		if (follows[p])
			continue;
		CHAIN(m, m->points, point, p, points, np)
		CHAIN(m, m->samples, sample, p, samples, ns)
		if (np)
			add_points(s, n, points, np, whole);
		if (ns)
			add_samples(s, n, samples, ns, whole);
	}
	ms_arena_release(&m->arena, mark);
}

size_t curve_make(struct model *m, size_t n, struct span **out)
{
	if (!m->points.n || !n)
		return 0;
	uint64_t whole = m->duration_ns;
	for (size_t i = 0; i < m->points.n; i++)
		if (m->points.v[i].time_ns > whole)
			whole = m->points.v[i].time_ns;
	struct span *s = *out = ms_arena_alloc(&m->arena, n * sizeof *s);
	for (size_t i = 0; i < n; i++) {
		s[i].from_ns = (uint64_t)((double)whole / (double)n * (double)i);
		s[i].to_ns = i + 1 == n ? whole
					: (uint64_t)((double)whole / (double)n * (double)(i + 1));
		s[i].rss = UNKNOWN;
	}
	add_all(m, s, n, whole);
	forget_unknown(m, s, n);
	return n;
}

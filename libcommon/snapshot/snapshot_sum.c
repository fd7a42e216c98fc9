/* SPDX-License-Identifier: MIT
 * Keeps the sum of the live bytes of all processes.
 *
 * Each process's bytes at the peak are found without visiting all processes whenever the sum
 * rises: a process that has not changed since a peak still holds the same bytes, so they are
 * noted at its next change.
 */
#include "snapshot_sum.h"

#include <string.h>

#define FIRST_WIDTH_NS UINT64_C(100000)

/* Merges pairs of buckets until `now_ns` falls into one. */
static void widen(struct ms_sum *s, uint64_t now_ns)
{
	if (!s->width_ns)
		s->width_ns = FIRST_WIDTH_NS;
	while (now_ns / s->width_ns >= MS_SUM_BUCKETS) {
		for (size_t i = 0; i < MS_SUM_BUCKETS / 2; i++) {
			bool first = s->bucket[2 * i].used, second = s->bucket[2 * i + 1].used;
			s->bucket[i] = s->bucket[2 * i + (second && !first)];
			if (!first || !second)
				continue;
			if (s->bucket[2 * i + 1].most > s->bucket[i].most)
				s->bucket[i].most = s->bucket[2 * i + 1].most;
			if (s->bucket[2 * i + 1].processes > s->bucket[i].processes)
				s->bucket[i].processes = s->bucket[2 * i + 1].processes;
			s->bucket[i].last = s->bucket[2 * i + 1].last;
			s->bucket[i].processes_last = s->bucket[2 * i + 1].processes_last;
		}
		memset(&s->bucket[MS_SUM_BUCKETS / 2], 0, sizeof s->bucket / 2);
		s->buckets = (s->buckets + 1) / 2;
		s->width_ns *= 2;
	}
}

uint64_t ms_sum_until(struct ms_sum *s, uint64_t now_ns)
{
	widen(s, now_ns);
	uint64_t end = (now_ns / s->width_ns + 1) * s->width_ns - 1;
	return end >= now_ns ? end : UINT64_MAX;
}

/* Records in the bucket of `now_ns` that the sum reached `most` and the number of processes
 * `processes`, and the current values of both. */
static void note(struct ms_sum *s, uint64_t now_ns, uint64_t most, uint64_t processes)
{
	widen(s, now_ns);
	size_t i = (size_t)(now_ns / s->width_ns);
	if (!s->bucket[i].used || most > s->bucket[i].most)
		s->bucket[i].most = most;
	if (processes > s->bucket[i].processes)
		s->bucket[i].processes = processes;
	s->bucket[i].last = s->live;
	s->bucket[i].processes_last = s->processes;
	s->bucket[i].used = true;
	if (s->buckets <= i)
		s->buckets = i + 1;
}

/* Stores a process's bytes at the last peak, which have not changed since. */
void ms_sum_settle(const struct ms_sum *s, struct ms_sum_share *p)
{
	if (p->peaks != s->peaks)
		p->at_peak = p->live;
	p->peaks = s->peaks;
}

void ms_sum_change(struct ms_sum *s, struct ms_sum_share *p, uint64_t now_ns, uint64_t live,
		   uint64_t most, uint64_t most_ns)
{
	uint64_t sum = s->live - p->live + most, before = s->live;
	ms_sum_settle(s, p);
	s->processes += !p->in;
	p->in = true;
	if (sum > s->peak) {
		s->peak = sum;
		s->peak_ns = most_ns;
		p->peaks = ++s->peaks;
		p->at_peak = most;
	}
	s->live = s->live - p->live + live;
	p->live = live;
	note(s, now_ns, sum > before ? sum : before, s->processes);
}

void ms_sum_leave(struct ms_sum *s, struct ms_sum_share *p, uint64_t now_ns)
{
	uint64_t before = s->live;
	ms_sum_settle(s, p);
	s->live -= p->live;
	s->processes -= p->in;
	note(s, now_ns, before, s->processes + p->in);
	p->live = 0;
	p->in = false;
}

/* SPDX-License-Identifier: MIT
 * What all processes had at a moment.
 */
#include "facts.h"

#include <string.h>

struct moment moment_sum(const struct model *m, const char *label)
{
	struct moment sum = {.time_ns = UNKNOWN, .rss_bytes = 0};
	bool found = false;
	for (size_t i = 0; i < m->snapshots.n; i++) {
		const struct snapshot *s = &m->snapshots.v[i];
		if (strcmp(s->label, label) != 0)
			continue;
		uint64_t t = figure_add(s->time_ns, m->processes.v[s->process].offset_ns);
		if (t != UNKNOWN && (sum.time_ns == UNKNOWN || t > sum.time_ns))
			sum.time_ns = t;
		live_add(&sum.live, s->live);
		sum.rss_bytes = figure_add(sum.rss_bytes, s->rss_bytes);
		sum.mmap.usable = figure_add(sum.mmap.usable, s->mmap.usable);
		sum.mmap.mapped = figure_add(sum.mmap.mapped, s->mmap.mapped);
		found = true;
	}
	return found ? sum
		     : (struct moment){UNKNOWN, UNKNOWN, {UNKNOWN, UNKNOWN}, {UNKNOWN, UNKNOWN}};
}

bool moment_heap_is_apart(const struct model *m)
{
	for (size_t i = 0; i < m->processes.n; i++) {
		const char *a = m->processes.v[i].allocator;
		if (!a || strncmp(a, "glibc ", 6) != 0 || strchr(a, ','))
			return false;
	}
	return true;
}

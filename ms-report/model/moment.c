/* SPDX-License-Identifier: MIT
 * Mapped address space and usable sizes at a moment.
 */
#include "facts.h"

#include <string.h>

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

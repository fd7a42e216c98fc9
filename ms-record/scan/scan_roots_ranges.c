/* SPDX-License-Identifier: MIT
 * Finds the mappings of the program's own, which keep blocks and are kept like them.
 */
#include <stdlib.h>

#include "libcommon/base/order.h"
#include "libcommon/base/ranges.h"
#include "scan_roots_work.h"

static bool in_module(const struct roots_kept *k, uint64_t address)
{
	const struct graph_range *v = k->graph.types;
	size_t i = MS_COUNT_UP_TO(v, k->graph.type_count, start, address);
	return i && address < v[i - 1].end;
}

/* Tells whether a mapping is private memory that the program may have mapped for itself. `before`:
 * the mapping below it, or NULL. Memory right above a module's data begins with the rest of that
 * module, and what was mapped later may follow in the same mapping. */
static bool is_own(const struct roots *r, const struct memory_map *m,
		   const struct memory_map *before)
{
	bool rest = before && before->end == m->start && !before->anonymous && before->write;
	return roots_may_hold(r, m) && m->write && !m->shared && m->anonymous && !m->heap &&
	       !m->stack && (!rest || in_module(r->kept, before->start));
}

/* Adds the memory of threads in a mapping: storage and control blocks, and stacks. If it is not
 * known where a stack ends, that is all of the mapping. */
static void add_threads(const struct roots *r, const struct memory_map *m, struct spans *none)
{
	for (size_t i = 0; i < r->thread_count; i++) {
		const struct scan_thread *t = &r->threads[i];
		if (t->sp - m->start >= m->end - m->start)
			continue;
		struct span s = roots_stack_of(r, t->tp, t->sp, m->end);
		roots_add_span(none, s.end ? s.start : m->start, s.end ? s.end : m->end);
	}
	for (size_t i = 0; i < r->kept->locals.n; i++) {
		const struct graph_range *l = &r->kept->locals.v[i];
		if (l->start < m->end && l->end > m->start)
			roots_add_span(none, l->start, l->end);
	}
}

/* Adds the whole pages of [start, end) to the ranges; the mappings in it are ranges of their own. */
static void add_range(struct roots_kept *k, uint64_t start, uint64_t end)
{
	start = (start + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	end &= ~(uint64_t)(PAGE - 1);
	size_t i = MS_COUNT_UP_TO(k->mapped, k->mapped_count, end, start);
	for (uint64_t stop; start < end; start = stop) {
		const struct ms_range *m = i < k->mapped_count ? &k->mapped[i] : NULL;
		bool inside = m && m->start <= start;
		stop = inside ? m->end : m ? m->start : end;
		stop = stop < end ? stop : end;
		i += inside;
		*MS_PUSH(&k->ranges) = (struct graph_range){start, stop};
	}
}

void roots_find_ranges(const struct roots *r, const struct spans *cut)
{
	struct roots_kept *k = r->kept;
	struct spans none = {0};
	size_t at = 0;
	for (size_t i = 0; i < cut->n; i++)
		*MS_PUSH(&none) = cut->v[i];
	for (size_t i = 0; i < k->heaps.n; i++)
		roots_add_span(&none, k->heaps.v[i].start, k->heaps.v[i].end);
	for (size_t i = 0; i < k->graph.type_count; i++)
		roots_add_span(&none, k->graph.types[i].start, k->graph.types[i].end);
	for (size_t i = 0; i < k->before.n; i++)
		if (k->before.v[i].end - k->before.v[i].start >= PAGE)
			roots_add_span(&none, k->before.v[i].start, k->before.v[i].end);
	for (size_t i = 0; i < r->memory->maps.n; i++)
		add_threads(r, &r->memory->maps.v[i], &none);
	if (none.n)
		qsort(none.v, none.n, sizeof *none.v, ms_by_first_number);
	if (k->heaps.n)
		qsort(k->heaps.v, k->heaps.n, sizeof *k->heaps.v, ms_by_first_number);
	for (size_t i = 0; i < r->memory->maps.n; i++) {
		const struct memory_map *m = &r->memory->maps.v[i];
		uint64_t from = m->start;
		if (!is_own(r, m, i ? m - 1 : NULL))
			continue;
		while (at < none.n && none.v[at].end <= m->start)
			at++;
		for (size_t c = at; c < none.n && none.v[c].start < m->end; c++) {
			add_range(k, from, none.v[c].start);
			from = none.v[c].end > from ? none.v[c].end : from;
		}
		add_range(k, from, m->end);
	}
	free(none.v);
	for (size_t i = 0; i < k->before.n; i++)
		*MS_PUSH(&k->ranges) = k->before.v[i];
	if (k->before.n)
		qsort(k->ranges.v, k->ranges.n, sizeof *k->ranges.v, ms_by_first_number);
	k->graph.ranges = k->ranges.v;
	k->graph.range_count = k->ranges.n;
	graph_keep(r->graph, &k->graph);
}

/* SPDX-License-Identifier: MIT
 * Reads one process from /proc.
 */
#include "process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/err.h"

#define DEAR_PART 100u /* reading smaps takes at most 1/DEAR_PART of the time */

/* Reads the arguments, separated by blanks. */
static void read_command(struct process *p)
{
	size_t n = sizeof p->command;
	if (!ms_proc_text_at(p->proc.folder, "cmdline", p->command, n) || !p->command[0])
		snprintf(p->command, n, "%s", p->proc.name);
	while (n > 0 && !p->command[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		if (!p->command[i])
			p->command[i] = ' ';
}

int process_open(struct process *p, const char *root, pid_t pid, const struct history *rss,
		 struct ms_err *err)
{
	*p = (struct process){.open = true, .figures = SOURCE_NOTHING};
	p->rss = rss ? *rss : p->rss;
	if (ms_proc_open(&p->proc, root, pid, err) != 0)
		return -1;
	read_command(p);
	process_look(p);
	return 0;
}

static void take_stat(struct process *p, double seconds)
{
	struct ms_proc_stat st;
	if (!ms_proc_read_stat(&p->proc, &st))
		return;
	uint64_t cpu = st.field[MS_STAT_UTIME] + st.field[MS_STAT_STIME];
	uint64_t tick = p->proc.tick_ns;
	if (p->cpu_ticks && seconds > 0 && cpu >= p->cpu_ticks)
		p->cpu = (double)(cpu - p->cpu_ticks) * (double)tick / 1e9 / seconds;
	p->cpu_ticks = cpu;
	p->state = st.state;
	p->threads = (uint32_t)st.field[MS_STAT_THREADS];
	uint64_t started = st.field[MS_STAT_START] * tick, boot = ms_clock_ns(CLOCK_BOOTTIME);
	p->up_s = boot > started ? (boot - started) / 1000000000u : 0;
}

static bool larger(const struct process *p, uint32_t a, uint32_t b)
{
	const struct ms_region *x = &p->regions.v[a], *y = &p->regions.v[b];
	if (x->memory.rss != y->memory.rss)
		return x->memory.rss > y->memory.rss;
	uint64_t m = x->map.end - x->map.start, n = y->map.end - y->map.start;
	return m != n ? m > n : a < b;
}

/* Sorts the regions by resident size; equal ones stay in order of address. A Shell sort allocates
 * no memory, unlike qsort_r(). */
static void sort_regions(struct process *p)
{
	size_t n = p->regions.n, gap = 1;
	p->order = ms_xgrow(p->order, &p->order_room, n, sizeof *p->order);
	p->ids = ms_xgrow(p->ids, &p->ids_room, n, sizeof *p->ids);
	for (size_t i = 0; i < n; i++)
		p->order[i] = (uint32_t)i;
	while (gap < n / 3)
		gap = 3 * gap + 1;
	for (; gap; gap /= 3)
		for (size_t i = gap; i < n; i++) {
			uint32_t x = p->order[i];
			size_t k = i;
			for (; k >= gap && larger(p, x, p->order[k - gap]); k -= gap)
				p->order[k] = p->order[k - gap];
			p->order[k] = x;
		}
	for (size_t i = 0; i < n; i++)
		p->ids[i] = p->regions.v[p->order[i]].map.start;
}

static void sum_kinds(struct process *p)
{
	memset(p->kinds, 0, sizeof p->kinds);
	for (size_t i = 0; i < p->regions.n; i++) {
		const struct ms_region *r = &p->regions.v[i];
		struct process_kind *k = &p->kinds[r->kind];
		k->count++;
		k->size += r->map.end - r->map.start;
		ms_proc_memory_add(&k->memory, &r->memory);
	}
}

/* Reads regions and sums from smaps. False = not permitted, or empty. */
static bool take_regions(struct process *p)
{
	errno = 0;
	if (ms_regions_read(&p->proc, true, &p->regions) != 0) {
		p->figures.denied = errno == EACCES || errno == EPERM;
		return false;
	}
	if (!p->regions.n)
		return false;
	p->has_regions = true;
	ms_regions_sum(&p->regions, &p->memory, NULL);
	source_take(&p->figures, SOURCE_SMAPS, &p->memory);
	p->figures.heap = ms_regions_heap(&p->regions);
	sum_kinds(p);
	sort_regions(p);
	return true;
}

static void remember(struct history *h, uint64_t now_ns, uint64_t bytes)
{
	if (bytes != SOURCE_UNKNOWN)
		history_add(h, now_ns, bytes);
}

static void take_dear(struct process *p)
{
	uint64_t start = ms_clock_ns(CLOCK_MONOTONIC);
	if (start < p->next_dear_ns)
		return;
	if (p->figures.denied || !take_regions(p)) {
		p->has_regions = false;
		p->regions.n = 0;
		source_read(p->proc.folder, p->proc.page_bytes, &p->figures);
	}
	p->dear_cost_ns = ms_clock_ns(CLOCK_MONOTONIC) - start;
	p->next_dear_ns = start + p->dear_cost_ns * DEAR_PART;
	p->dear_ns = p->now_ns;
	remember(&p->pss, p->now_ns, p->figures.pss);
	remember(&p->uss, p->now_ns, p->figures.uss);
	remember(&p->heap, p->now_ns, p->figures.heap);
	remember(&p->swap, p->now_ns, p->figures.swap);
}

/* Judges the trend: the heap's, unless its history is less than half as long as that of the RSS. */
static void judge(struct process *p)
{
	uint64_t rss_ns = p->rss.last_ns - p->rss.first_ns,
		 heap_ns = p->heap.last_ns - p->heap.first_ns;
	p->trend_of_heap = p->heap.step && heap_ns >= rss_ns / 2;
	p->trend = history_trend(p->trend_of_heap ? &p->heap : &p->rss, p->ended);
}

void process_look(struct process *p)
{
	p->last_ns = p->now_ns;
	p->now_ns = ms_clock_ns(CLOCK_MONOTONIC);
	if (p->ended)
		return;
	if (!ms_proc_alive(&p->proc) || !ms_proc_read_statm(&p->proc, &p->statm)) {
		p->ended = !ms_proc_alive(&p->proc);
		if (p->ended)
			judge(p);
		return;
	}
	take_stat(p, p->last_ns ? (double)(p->now_ns - p->last_ns) / 1e9 : 0);
	history_add(&p->rss, p->now_ns, p->statm.rss);
	take_dear(p);
	judge(p);
	limits_read(&p->limits, p->proc.folder);
}

void process_close(struct process *p)
{
	if (p->open)
		ms_proc_close(&p->proc);
	ms_regions_free(&p->regions);
	MS_FREE(p->order, p->ids);
	*p = (struct process){0};
}

/* SPDX-License-Identifier: MIT
 * What is resident of a process that stands still: its mappings, pages, and glibc's heaps.
 *
 * Where the kernel can tell spans of pages it is asked for all at once (Linux 6.7): that takes a few
 * milliseconds a gigabyte, and a reservation of a terabyte costs nothing. Elsewhere smaps tells of
 * which mappings something is resident, and their page maps are read until that was found.
 */
#include "resident.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/order.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/ptrace/hijack_private.h"
#include "ms-record/session/session.h"
#include "scan_work.h"

#define PAGE UINT64_C(4096)
#define HEAP_MOST (UINT64_C(64) << 20) /* glibc's heaps begin at multiples of that */
#define ARENA_FIRST 0x18u              /* and their arenas so far behind, at least; at most: */
#define ARENA_LAST 0x100u
#define RSS_ROUGHLY (UINT64_C(1) << 20) /* what the kernel counts in batches */

struct taking {
	struct resident *r;
	uint64_t found, most; /* bytes of a region: of its runs, as smaps says */
};

static void add_run(void *arg, uint64_t start, uint64_t end, bool swapped)
{
	struct taking *t = arg;
	*MS_PUSH(&t->r->runs) = (struct resident_run){start, end, swapped};
	if (!swapped)
		t->found += end - start;
}

/* Takes back runs beyond what smaps counts: the page map also shows the kernel's page of zeros,
 * which is in no count. */
static void drop_excess(struct taking *t)
{
	struct resident *r = t->r;
	while (t->found > t->most) {
		struct resident_run *last = &r->runs.v[r->runs.n - 1];
		uint64_t size = last->end - last->start, over = t->found - t->most;
		uint64_t less = last->swapped || size < over ? size : over;
		if (!last->swapped)
			t->found -= less;
		last->end -= less;
		r->runs.n -= last->end == last->start;
	}
	r->missing += t->most - t->found;
}

/* A heap that begins there has in front: its arena, the heap before it, its size. */
static void look_for_heap(struct resident *r, struct memory *m, uint64_t at, uint64_t region_end)
{
	uint64_t info[3];
	if (!memory_get(m, at, info, sizeof info) || info[0] % 8 || info[1] % HEAP_MOST ||
	    info[2] % PAGE || !info[2] || info[2] > HEAP_MOST || info[2] > region_end - at)
		return;
	uint64_t base = info[0] & ~(HEAP_MOST - 1), behind = info[0] - base;
	if (behind >= ARENA_FIRST && behind <= ARENA_LAST && (info[1] != 0) == (base != at))
		*MS_PUSH(&r->heaps) = (struct resident_heap){at, at + info[2], info[0]};
}

/* The brk area, arenas, and what another allocator mapped for itself. */
static void find_heaps(struct work *w, struct memory *m)
{
	struct resident *r = &w->resident;
	struct mg_arenas a;
	size_t k = 0;
	for (size_t i = 0; i < r->regions.n; i++) {
		const struct ms_proc_map *map = &r->regions.v[i].map;
		bool brk = r->regions.v[i].kind == MS_REGION_HEAP;
		bool memory = r->glibc && !map->inode && !strcmp(map->perms, "rw-p");
		if (brk)
			*MS_PUSH(&r->heaps) = (struct resident_heap){map->start, map->end, 0};
		for (; k < r->runs.n && r->runs.v[k].start < map->end; k++) {
			const struct resident_run *run = &r->runs.v[k];
			uint64_t at = (run->start + HEAP_MOST - 1) & ~(HEAP_MOST - 1);
			for (; at < run->end && !run->swapped && memory && !brk; at += HEAP_MOST)
				look_for_heap(r, m, at, map->end);
		}
	}
	scan_read_arenas(m, w->s, &a);
	for (uint32_t i = 0; i < a.count; i++)
		*MS_PUSH(&r->heaps) = (struct resident_heap){a.span[i][0], a.span[i][1], 0};
	if (r->heaps.n)
		qsort(r->heaps.v, r->heaps.n, sizeof *r->heaps.v, ms_by_first_number);
}

static void take_region(struct resident *r, struct memory *m, const struct ms_region *v)
{
	struct taking t = {.r = r, .most = v->memory.rss};
	if (!v->memory.rss && !v->memory.swap)
		return;
	memory_runs(m, v->map.start, v->map.end, v->memory.rss + v->memory.swap, add_run, &t);
	drop_excess(&t);
}

/* Takes what is resident by the texts of /proc alone. */
static bool take_slowly(struct resident *r, struct memory *m, const struct ms_proc *p)
{
	struct ms_proc_memory all;
	if (ms_regions_read(p, true, &r->regions))
		return false;
	for (size_t i = 0; i < r->regions.n; i++)
		take_region(r, m, &r->regions.v[i]);
	ms_regions_sum(&r->regions, &all, NULL);
	r->rss = all.rss;
	r->swap = all.swap;
	return r->regions.n != 0;
}

/* A run in pieces, of one mapping each. The kernel's own page is in no figure of RSS. */
static void add_pieces(struct resident *r, const struct resident_run *run, size_t *region)
{
	for (uint64_t at = run->start; at < run->end && *region < r->regions.n;) {
		const struct ms_region *v = &r->regions.v[*region];
		uint64_t end = run->end < v->map.end ? run->end : v->map.end;
		if (v->map.end <= at) {
			++*region;
			continue;
		}
		at = at > v->map.start ? at : v->map.start;
		if (end > at && strncmp(v->map.path, "[vvar", 5)) {
			*MS_PUSH(&r->runs) = (struct resident_run){at, end, run->swapped};
			*(run->swapped ? &r->swap : &r->rss) += end - at;
		}
		at = end > at ? end : run->end;
	}
}

/* Compares with VmRSS. The page tables are exact, but a large difference (memory that a device has
 * mapped) is not hidden. */
static void check_rss(struct resident *r, const struct work *w, pid_t tid)
{
	uint64_t said = hijack_status(w->s->process.folder, tid, "\nVmRSS:", 10) * 1024;
	uint64_t off = said > r->rss ? said - r->rss : r->rss - said;
	if (said && off > r->rss / 50 + RSS_ROUGHLY)
		r->rss = said;
	/* Pages that the program itself made inaccessible look as if they were swapped out. */
	uint64_t swap = hijack_status(w->s->process.folder, tid, "\nVmSwap:", 10) * 1024;
	if (said && r->swap > swap)
		r->swap = swap;
}

static bool take_at_once(struct work *w, struct memory *m, const struct ms_proc *p, pid_t tid)
{
	struct resident *r = &w->resident, all = {0};
	struct taking t = {.r = &all};
	size_t region = 0;
	bool good = memory_all_runs(m, add_run, &t) && !ms_regions_read(p, false, &r->regions) &&
		    r->regions.n;
	for (size_t i = 0; i < all.runs.n && good; i++)
		add_pieces(r, &all.runs.v[i], &region);
	free(all.runs.v);
	if (good)
		check_rss(r, w, tid);
	return good;
}

void resident_take(struct work *w, pid_t tid)
{
	struct resident *r = &w->resident;
	struct memory m = MEMORY_CLOSED;
	char name[32];
	uint64_t begin = clock_mono();
	snprintf(name, sizeof name, "task/%d", (int)tid);
	const struct ms_proc p = {
		.folder = openat(w->s->process.folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	const char *allocator = w->s->mem->allocator; /* alone, and nothing that merely begins so */
	r->glibc = !strncmp(allocator, "glibc", 5) && (!allocator[5] || allocator[5] == ' ') &&
		   !strchr(allocator, ',');
	r->taken = p.folder >= 0 &&
		   !memory_open_pages(&m, w->s->process.folder, tid, w->deadline_ns) &&
		   (take_at_once(w, &m, &p, tid) ||
		    (clock_mono() < w->deadline_ns && take_slowly(r, &m, &p)));
	r->late = clock_mono() >= w->deadline_ns; /* then runs may be missing */
	r->taken &= !r->late;
	if (r->taken)
		find_heaps(w, &m);
	memory_close(&m);
	descriptor_close(p.folder);
	r->pause_ns = clock_mono() - begin;
}

void resident_free(struct work *w)
{
	struct resident *r = &w->resident;
	ms_regions_free(&r->regions);
	MS_FREE(r->runs.v, r->heaps.v, r->sites, r->region_bytes);
}

/* SPDX-License-Identifier: MIT
 * Reads the resident memory of a stopped process: its mappings, pages, and glibc's heaps.
 *
 * If the kernel reports runs of pages (Linux 6.7), all are read at once: that takes a few
 * milliseconds per gigabyte, and a reservation of a terabyte costs nothing. Otherwise smaps shows
 * which mappings have resident pages, and their page maps are read until those pages are found.
 */
#include "resident.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "libcommon/base/order.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/ptrace/hijack_private.h"
#include "ms-record/session/session.h"
#include "scan_work.h"

#define PAGE UINT64_C(4096)
#define HEAP_MOST (UINT64_C(64) << 20) /* alignment of glibc's heaps */
#define ARENA_FIRST 0x18u              /* minimum offset of an arena in its heap */
#define ARENA_LAST 0x100u
#define TMPFS_MOST 256u /* mounted file systems in memory that are looked at */
/* tolerated error of VmRSS, whose counters the kernel updates in batches */
#define RSS_ROUGHLY (UINT64_C(1) << 20)

struct taking {
	struct resident *r;
	/* resident bytes of a region: found = in its runs, most = according to smaps */
	uint64_t found, most;
};

static void add_run(void *arg, uint64_t start, uint64_t end, bool swapped)
{
	struct taking *t = arg;
	*MS_PUSH(&t->r->runs) = (struct resident_run){start, end, swapped};
	if (!swapped)
		t->found += end - start;
}

/* Drops runs beyond the resident bytes of smaps: the page map also shows the kernel's zero page,
 * which smaps does not count. */
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

/* Adds the heap that begins at `at`, if there is one; its first words are its arena, the heap
 * before it, and its size. */
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

/* Finds the brk area, glibc's arenas, and the memory that another allocator mapped. */
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

/* Finds the resident pages from smaps and the page maps alone. */
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

/* Adds a run, cut where mappings meet. Leaves out the kernel's [vvar] pages, which RSS does not
 * count. */
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

/* Replaces r->rss by VmRSS if the two differ by much. The page tables are exact, but a large
 * difference, for example by memory that a device has mapped, must show in the figures. */
static void check_rss(struct resident *r, const struct work *w, pid_t tid)
{
	uint64_t said = hijack_status(w->s->process.folder, tid, "\nVmRSS:", 10) * 1024;
	uint64_t off = said > r->rss ? said - r->rss : r->rss - said;
	if (said && off > r->rss / 50 + RSS_ROUGHLY)
		r->rss = said;
	/* Pages that the program made inaccessible look as if they were swapped out. */
	uint64_t swap = hijack_status(w->s->process.folder, tid, "\nVmSwap:", 10) * 1024;
	if (said && r->swap > swap)
		r->swap = swap;
}

/* ---- shared memory ---- */

/* Finds the devices of file systems that keep files in memory: what is mapped of them cannot be
 * dropped as pages of other files can. */
static void find_tmpfs(struct resident *r, int folder)
{
	int fd = openat(folder, "mountinfo", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;
	unsigned major, minor;
	while (f && r->tmpfs.n < TMPFS_MOST && getline(&line, &room, f) > 0) {
		const char *type = strstr(line, " - ");
		if (type &&
		    (!strncmp(type + 3, "tmpfs ", 6) || !strncmp(type + 3, "ramfs ", 6) ||
		     !strncmp(type + 3, "devtmpfs ", 9)) &&
		    sscanf(line, "%*u %*u %u:%u", &major, &minor) == 2)
			*MS_PUSH(&r->tmpfs) = makedev(major, minor);
	}
	free(line);
	if (f)
		fclose(f);
	else
		descriptor_close(fd);
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
	const char *allocator = w->s->mem->allocator; /* r->glibc is set only if glibc's allocator
							 is the only one */
	r->glibc = !strncmp(allocator, "glibc", 5) && (!allocator[5] || allocator[5] == ' ') &&
		   !strchr(allocator, ',');
	r->taken = p.folder >= 0 &&
		   !memory_open_pages(&m, w->s->process.folder, tid, w->deadline_ns) &&
		   (take_at_once(w, &m, &p, tid) ||
		    (clock_mono() < w->deadline_ns && take_slowly(r, &m, &p)));
	if (r->taken) {
		r->huge = hijack_status(w->s->process.folder, tid, "\nHugetlbPages:", 10) * 1024;
		find_tmpfs(r, p.folder);
	}
	r->late = clock_mono() >= w->deadline_ns; /* if time ran out, runs may be missing */
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
	MS_FREE(r->runs.v, r->heaps.v, r->tmpfs.v, r->sites, r->region_bytes);
}

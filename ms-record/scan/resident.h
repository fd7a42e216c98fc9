/* SPDX-License-Identifier: MIT
 * Finds which of a process's memory is resident at a moment, and its use (internal to room scan).
 *
 * While the process is stopped, only the kernel's figures are read, and a few words of glibc's
 * (resident_take). The use of each page is found afterwards, page by page (resident_solve):
 *
 *   page    | file, shared memory, recorder's, stack |  as a whole
 *           | of the heap             |  live data of each block on it | slack | free
 *           | other                   |  as a whole
 *
 * The heap is the brk area, glibc's arenas, the mappings that another allocator is known to have
 * made or has blocks in, and each page that a block is on. So all parts add up to RSS.
 */
#pragma once

#include "libcommon/base/arena.h"
#include "libcommon/proc/proc.h"

struct work;

/* Describes a run of pages in one mapping. */
struct resident_run {
	uint64_t start, end;
	bool swapped;
};
/* Describes memory that the allocator uses for small blocks. */
struct resident_heap {
	uint64_t start, end;
	uint64_t arena; /* address of glibc's arena; 0 = the main arena, or another allocator */
};
/* Counts the blocks of one call stack; all members except `blocks` are bytes. */
struct resident_site {
	uint64_t blocks, bytes;
	uint64_t live;      /* bytes of blocks on resident heap pages */
	uint64_t elsewhere; /* bytes of the site's blocks that are swapped out, or on pages outside
			       the heap */
	uint64_t pinned;    /* the site's share of free memory on pages that hold its blocks */
	uint64_t alone;     /* bytes of resident pages that hold blocks of this site only */
};

struct resident {
	bool wanted, taken, late, glibc; /* late: time ran out before everything was read */
	uint64_t pause_ns;
	uint64_t state; /* MS_SCAN_* */
	/* memory that was resident when measured */
	struct ms_regions regions;
	MS_ARRAY(struct resident_run) runs;   /* sorted by address */
	MS_ARRAY(struct resident_heap) heaps; /* sorted by address */
	uint64_t rss, swap;
	uint64_t huge;            /* bytes of hugetlbfs pages, which RSS does not count */
	uint64_t missing;         /* bytes of resident pages that were not found in time */
	MS_ARRAY(uint64_t) tmpfs; /* devices of mounted file systems in memory */
	/* The members below hold resident bytes by use. */
	struct resident_site *sites; /* indexed by stack node */
	size_t site_count;
	uint64_t *region_bytes; /* resident bytes of a file, or of shared memory, in each region */
	uint64_t files, shared, recorder, stacks, slack, free, other, pinned, trim, arenas,
		arena_free, gaps;
};

/* Reads which memory is resident. The process is stopped; `tid` is one of its threads. */
void resident_take(struct work *w, pid_t tid);
/* Tells whether a mapping is of shared memory that is no file of a disk. `own_device`: the device of
 * a memfd, which is that of all shared memory without a mounted file system; 0 = not known. */
bool resident_is_shared(const struct resident *r, const struct ms_proc_map *map,
			uint64_t own_device);
/* Finds the use of each resident page, once the live blocks and their stacks are known. */
void resident_solve(struct work *w);
/* Writes the records of the resident memory to the session, under its lock, also if the state is
 * not MS_SCAN_DONE. */
void resident_put(struct work *w, const char *label, uint64_t time_ns, uint64_t event);
/* Returns MS_SCAN_DONE, or the MS_SCAN_* reason why the resident memory is not known. */
uint64_t resident_state(const struct resident *r);
/* Formats a summary: "RSS 60 MiB: 12 MiB live, ...". Returns false if the figures are not known. */
bool resident_say(const struct work *w, char *text, size_t room);
void resident_free(struct work *w);

/* SPDX-License-Identifier: MIT
 * What of a process's memory is resident at a moment, and for what (inside of room scan).
 *
 * While the process stands still only what the kernel says is read, and a few words of glibc's
 * (resident_take). What each page is for is found afterwards, page by page (resident_solve):
 *
 *   page    | file, recorder's, stack |  as a whole
 *           | of the heap             |  live data of each block on it | slack | free
 *           | other                   |  as a whole
 *
 * Of the heap are the brk area, glibc's arenas, what another allocator is known to have mapped or has
 * blocks in, and each page that a block is on. So all parts add up to what is resident.
 */
#pragma once

#include "libcommon/base/arena.h"
#include "libcommon/proc/proc.h"

struct work;

/* Pages, of one mapping. */
struct resident_run {
	uint64_t start, end;
	bool swapped;
};
/* Memory that the allocator has for small blocks. */
struct resident_heap {
	uint64_t start, end;
	uint64_t arena; /* address of glibc's arena; 0 = the main one, or not glibc's */
};
/* The blocks of one call stack: bytes. */
struct resident_site {
	uint64_t blocks, bytes;
	uint64_t live;      /* on resident pages of the heap */
	uint64_t elsewhere; /* swapped out, or on pages that are not of the heap */
	uint64_t pinned;    /* free on pages that it is on: its part */
	uint64_t alone;     /* of pages that no other site is on */
};

struct resident {
	bool wanted, taken, late, glibc; /* late: its time was over before all was read */
	uint64_t pause_ns;
	uint64_t state; /* MS_SCAN_* */
	/* what was resident at the moment */
	struct ms_regions regions;
	MS_ARRAY(struct resident_run) runs;   /* by address */
	MS_ARRAY(struct resident_heap) heaps; /* by address */
	uint64_t rss, swap;
	uint64_t missing; /* resident pages that were not found in time */
	/* bytes by what they are for */
	struct resident_site *sites; /* by stack node */
	size_t site_count;
	uint64_t *region_bytes; /* of each region, what is the file's */
	uint64_t files, recorder, stacks, slack, free, other, pinned, trim, arenas, arena_free,
		gaps;
};

/* Reads what is there; the process stands still, `tid` is one of its threads. */
void resident_take(struct work *w, pid_t tid);
/* Finds what it is for, once it is known what was live, and the stacks of that. */
void resident_solve(struct work *w);
/* Puts it into the records of the session, under its lock; so too when it is not known. */
void resident_put(struct work *w, const char *label, uint64_t time_ns, uint64_t event);
/* MS_SCAN_*: DONE, or why it is not known. */
uint64_t resident_state(const struct resident *r);
/* For people: "RSS 60 MiB: 12 MiB live, ..."; false: it is not known. */
bool resident_say(const struct work *w, char *text, size_t room);
void resident_free(struct work *w);

/* SPDX-License-Identifier: MIT
 * Samples of a process's memory: cheap ones often, exact ones as often as they may cost.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proc.h"

/* One sample. Bytes; times in ns, since whatever the caller counts from. */
struct ms_proc_sample {
	uint64_t ns;
	uint64_t rss, vsz, heap;
	bool exact; /* the kernel counted pages just now (smaps): the others are of then, too */
	uint64_t pss, private, shared, swap;
	bool counted; /* the following are known */
	uint64_t minflt, majflt, utime, stime, threads;
	uint64_t peak_rss; /* so far, by the kernel's account; 0 = not known */
};

/* The most that was resident in a recording. The kernel's figure may be of before its beginning,
 * so it counts where the process began with the recording, or once it has risen. */
struct ms_proc_peak {
	bool noted, known;
	uint64_t before, bytes;
};
void ms_proc_peak_note(struct ms_proc_peak *p, const struct ms_proc_sample *s, bool mid_run);

/* How the figures of a process are taken.
 *
 * statm costs a microsecond, but counts pages of files that were written, and stacks, with the
 * anonymous ones, and is some pages wrong on machines with many cores. smaps tells it all, at the
 * cost of looking at every page. So smaps is read at most once a second and for at most a
 * hundredth of the time, and between two readings RSS and heap are what statm says, moved by what
 * it was off at the last reading. */
struct ms_proc_sampler {
	struct ms_proc proc;
	struct ms_regions regions;
	uint64_t detail_ns;             /* when smaps may be read next */
	uint64_t counts_ns;             /* and stat */
	int64_t rss_off, heap_off;      /* exact figure minus statm's */
	bool detailed, denied;          /* smaps was read; must not be */
	struct ms_proc_sample last_one; /* the last exact one */
};
/* Takes a sample at `ns` (of the same clock as detail_ns). False: the process has no memory any
 * more. */
bool ms_proc_sample_take(struct ms_proc_sampler *t, uint64_t ns, bool want_detail,
			 struct ms_proc_sample *out);
/* Takes what is in stat and status, if these can be read, into a sample. `stat`: all of the first. */
void ms_proc_sample_counts(const struct ms_proc *p, struct ms_proc_sample *out,
			   struct ms_proc_stat *stat);

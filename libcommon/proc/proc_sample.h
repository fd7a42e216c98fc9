/* SPDX-License-Identifier: MIT
 * Samples of a process's memory: cheap ones often, exact ones as often as the cost limit permits.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proc.h"

/* Holds one sample of a process: in bytes; times in ns since a time that the caller chooses. */
struct ms_proc_sample {
	uint64_t ns;
	uint64_t rss, vsz, heap;
	bool exact; /* the figures are from smaps, read for this sample; else the next four members
		       are unknown */
	uint64_t pss, private, shared, swap;
	bool counted; /* the figures below are known */
	uint64_t minflt, majflt, utime, stime, threads;
	uint64_t peak_rss; /* bytes since the process's exec, from the kernel; 0 = not known */
};

/* Tracks the peak of resident memory in a recording, in bytes. The kernel's peak may precede the
 * recording, so it counts only if the process began with the recording, or if it has risen
 * since. */
struct ms_proc_peak {
	bool noted, known;
	uint64_t before, bytes;
};
void ms_proc_peak_note(struct ms_proc_peak *p, const struct ms_proc_sample *s, bool mid_run);

/* Holds the state of sampling a process.
 *
 * statm costs a microsecond, but counts written pages of files and stacks as anonymous memory, and
 * is wrong by some pages on machines with many cores. smaps is exact, but reading it makes the
 * kernel visit every page. So smaps is read at most once a second and for at most a hundredth of
 * the time. In between, RSS and heap are computed from statm plus the difference found at the last
 * reading of smaps. */
struct ms_proc_sampler {
	struct ms_proc proc;
	struct ms_regions regions;
	uint64_t detail_ns;             /* earliest time to read smaps again */
	uint64_t counts_ns;             /* earliest time to read stat again */
	int64_t rss_off, heap_off;      /* exact figure minus statm's */
	bool detailed, denied;          /* detailed: smaps was read; denied: permission to read
					   smaps is missing */
	struct ms_proc_sample last_one; /* latest exact sample */
};
/* Takes a sample at time `ns`, on the clock of detail_ns. False: the process has ended. */
bool ms_proc_sample_take(struct ms_proc_sampler *t, uint64_t ns, bool want_detail,
			 struct ms_proc_sample *out);
/* Fills the sample from /proc/PID/stat and status, as far as they can be read; `stat` receives all
 * of stat. */
void ms_proc_sample_counts(const struct ms_proc *p, struct ms_proc_sample *out,
			   struct ms_proc_stat *stat);

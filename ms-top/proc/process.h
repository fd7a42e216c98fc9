/* SPDX-License-Identifier: MIT
 * One process, reread from /proc at each update: figures, their history, its regions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "history.h"
#include "limits.h"
#include "source.h"
#include "libcommon/proc/proc.h"

struct ms_err;

struct process_kind { /* all regions of one kind; bytes */
	uint64_t count, size;
	struct ms_proc_memory memory;
};

struct process {
	struct ms_proc proc;
	bool open, ended;
	bool has_regions; /* smaps was read */
	char state;
	uint32_t threads;
	double cpu; /* in cores */
	uint64_t cpu_ticks;
	uint64_t now_ns, last_ns, up_s;
	uint64_t dear_ns, next_dear_ns; /* time smaps was read, and time it may be read again */
	uint64_t dear_cost_ns;          /* duration of reading smaps */
	struct ms_proc_statm statm;     /* bytes */
	struct ms_proc_memory memory;   /* sum of all regions, if has_regions */
	struct source_figures figures;  /* heap: brk and private anonymous memory */
	struct history rss, pss, uss, heap, swap;
	struct limits limits;
	struct ms_trend
		trend; /* trend of the heap, or of the RSS if the heap's history is too short */
	bool trend_of_heap;
	struct process_kind kinds[MS_REGION_KINDS];
	struct ms_regions regions;
	uint32_t *order; /* indices of regions by resident size, largest first */
	uint64_t *ids;   /* start addresses of the regions, in that order */
	size_t order_room, ids_room;
	char command[512];
};

/* Opens a process. `rss`: its history so far; NULL = none. Returns 0, or -1 with `err` set: no such
 * process. Call process_close in both cases. */
int process_open(struct process *p, const char *root, pid_t pid, const struct history *rss,
		 struct ms_err *err);
/* Updates the figures. Rereads smaps only so often that reading it takes at most a hundredth of
 * the elapsed time. */
void process_look(struct process *p);
void process_close(struct process *p);

/* SPDX-License-Identifier: MIT
 * One process, as /proc shows it from one look to the next: figures, their history, its regions.
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

struct process_kind { /* regions of a kind together; bytes */
	uint64_t count, size;
	struct ms_proc_memory memory;
};

struct process {
	struct ms_proc proc;
	bool open, ended;
	bool has_regions; /* smaps was read */
	char state;
	uint32_t threads;
	double cpu; /* of a core */
	uint64_t cpu_ticks;
	uint64_t now_ns, last_ns, up_s;
	uint64_t dear_ns, next_dear_ns; /* when smaps was read, and may be read again */
	uint64_t dear_cost_ns;          /* how long that took */
	struct ms_proc_statm statm;     /* bytes */
	struct ms_proc_memory memory;   /* of all regions, when has_regions */
	struct source_figures figures;  /* heap: of brk and private anonymous memory */
	struct history rss, pss, uss, heap, swap;
	struct limits limits;
	struct ms_trend
		trend; /* of the heap where that is known for long enough, else of the RSS */
	bool trend_of_heap;
	struct process_kind kinds[MS_REGION_KINDS];
	struct ms_regions regions;
	uint32_t *order; /* regions by resident size, the largest first */
	uint64_t *ids;   /* their start addresses, in that order */
	size_t order_room, ids_room;
	char command[512];
};

/* `rss`: what is known of it already; NULL = nothing. 0, or -1 with `err` set: there is none.
 * process_close in both cases. */
int process_open(struct process *p, const char *root, pid_t pid, const struct history *rss,
		 struct ms_err *err);
/* Looks again. smaps is read again only so often that it takes a hundredth of the time. */
void process_look(struct process *p);
void process_close(struct process *p);

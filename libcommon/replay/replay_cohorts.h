/* SPDX-License-Identifier: MIT
 * Cohorts: the blocks allocated in each part of a recording, and how much of each cohort is still
 * live at the end of that part and of every later one.
 *
 *     part        0 (before)   1          2          3 = current
 *     ends at        -         live[1]    live[2]    not yet
 *     cohort 0    live then    0 0 0
 *     cohort 1                 1 . .      1 1 1      still counted down
 *
 * Blocks are numbered in order of allocation, so a cohort is a range of numbers. An allocation costs
 * nothing: what is live of the current cohort is what is live in all less what is live of earlier
 * ones. A free of a block of an earlier cohort subtracts it there; others cost a comparison.
 *
 * There are two divisions of a recording, by time and by marks, with at most MS_COHORT_PARTS parts
 * each. When there would be more, neighbours are merged, and the unit becomes a multiple of itself:
 * times stay round. A brief replay has no cohorts.
 *
 * Labels are threads to a replay. If a recording has any, what each thread allocated and is live is
 * noted at the ends of parts of time, too, from the cells.
 */
#pragma once

#include "replay.h"

#define MS_COHORT_PARTS 48u
/* Lists the divisions. */
enum { MS_COHORTS_BY_TIME, MS_COHORTS_BY_MARK, MS_COHORTS_KINDS };

struct ms_cohort_sum {
	uint64_t bytes, blocks;
};

struct ms_cohort_part {
	uint64_t at;    /* where it begins: a tick, or the number of marks before it */
	uint64_t tick;  /* when it begins */
	uint64_t first; /* number of its first block */
	struct ms_cohort_sum allocated;
	struct ms_cohort_sum live; /* now; not valid of the current part */
};

struct ms_cohorts {
	uint64_t unit; /* length of a part: in ticks, or a number of marks */
	size_t step;   /* index of the next factor of a unit of time */
	size_t current;
	/* parts[0] has the blocks that were live when counting began */
	struct ms_cohort_part parts[MS_COHORT_PARTS + 1];
	uint64_t first_key;        /* parts[1].at in units */
	struct ms_cohort_sum open; /* bytes and allocations of the replay when the current began */
	MS_ARRAY(struct ms_cohort_sum) live; /* at the end of each part: see ms_cohort_live */
};

struct ms_cohort_sets {
	struct ms_cohorts of[MS_COHORTS_KINDS];
	MS_ARRAY(struct ms_cohort_mark {
		uint64_t event;
		uint64_t tick;
	})
	marks;
	size_t next_mark; /* index of the first mark that is not reached */
	bool labels;      /* some threads are labels; set before their events */
	struct ms_cohort_threads {
		struct ms_cohort_sum *v; /* live at the end of a part of time, by thread */
		size_t n;
	} threads[MS_COHORT_PARTS + 1];
};

/* Makes r->cohorts, with that length of a tick. Call before the first event. */
void ms_cohorts_start(struct ms_replay *r, uint64_t tick_ns);
void ms_cohorts_free(struct ms_cohort_sets *c);
/* Announces a mark before event number `event`; MS_NEVER = after the events at `tick`. Marks come in
 * their order, and before the events that follow them. */
void ms_cohorts_mark(struct ms_replay *r, uint64_t event, uint64_t tick);
/* Begins anew at `tick`: all blocks that are live now are those of part 0. */
void ms_cohorts_begin(struct ms_replay *r, uint64_t tick);
/* Ends the parts that end before an event at `tick`. Returns the tick of the next end. */
uint64_t ms_cohorts_due(struct ms_replay *r, uint64_t tick);
/* Ends the last parts at `tick`. */
void ms_cohorts_finish(struct ms_replay *r, uint64_t tick);
/* Subtracts a freed block whose number is below r->cohort_first; `tick`: of its allocation. */
void ms_cohorts_freed(struct ms_replay *r, uint64_t number, uint64_t tick, uint64_t size);
/* Forgets the live blocks of all cohorts, before a checkpoint has them again; ms_cohorts_put adds one
 * of these. */
void ms_cohorts_forget(struct ms_replay *r);
void ms_cohorts_put(struct ms_replay *r, uint64_t number, uint64_t tick, uint64_t size);

/* Returns what was live of cohort `born` at the end of part `end`, 1 or more, which is not before
 * `born`. */
static inline struct ms_cohort_sum *ms_cohort_live(const struct ms_cohorts *c, size_t born,
						   size_t end)
{
	return &c->live.v[end * (end + 1) / 2 - 1 + born];
}

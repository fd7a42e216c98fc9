/* SPDX-License-Identifier: MIT
 * Room replay: live memory over time, by site and thread.
 *   In:  events in the order of their time, and checkpoints.
 *   Out: totals, the peak, and figures of sites, threads, sizes and moments.
 *   Used by: trace (recording.c); snapshot and ms-top take the figures.
 *
 * The live-heap model: events in, totals and statistics per site, thread and size out, in one
 * forward pass.
 *
 * Definitions are those of ms-snapshot(5). Memory depends on live blocks, sites and threads, not on
 * events.
 *
 * replay_events.c applies events, with a fast path for the usual ones, and has the tables of sites
 * and threads; replay_prefetch.h prefetches what the next ones read; replay_cells.h has the counters
 * that events change; replay_alarms.c handles alarms, the timeline and moments; replay_checkpoint.c
 * starts in mid-recording. For some recordings only: replay_sampled.h, replay_mapped.h.
 *
 * The peak in one pass. A peak is a moment, and each site's (and size class's) live bytes at that
 * moment are wanted, but which moment was the peak is known only at the end, and copying all sites
 * at every new maximum would be quadratic. So they are versioned lazily: `peak_epoch` is the number
 * of the latest peak among those that there were. Before a counter changes, its epoch is compared:
 * if it is not the peak's, the counter has not changed since the peak, and its value is first saved
 * in `at_peak`. At the end a counter whose epoch is the peak's has its value at the peak in
 * `at_peak`; any other counter has not changed since, so its present value is the one at the peak.
 * Cost: a comparison per change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocks.h"
#include "libcommon/base/lookup.h"
#include "format/checkpoint.h"
#include "format/event.h"

#define MS_NEVER UINT64_MAX
#define MS_SEVERAL_THREADS (UINT32_MAX - 1)

/* Counts live bytes and blocks, now and at the latest peak. */
struct ms_level {
	uint64_t bytes, blocks;
	uint64_t epoch; /* number of the peak that at_peak_* belong to */
	uint64_t at_peak_bytes, at_peak_blocks;
};

/* Holds the figures of a site that most events read or change. After ms_replay_finish, the values of
 * `live` at the peak, `allocations`, `bytes` and `temporary` are valid, too: see replay_cells.h. */
struct ms_replay_site {
	uint32_t cell_key; /* key of the site's latest cell; in a brief replay the thread that
			      allocated, or MS_SEVERAL_THREADS */
	uint32_t node;     /* innermost stack node, 0 = no stack */
	union {
		struct {
			uint32_t cell;      /* number of the site's latest cell */
			uint32_t lifetimes; /* index in ms_replay.lifetimes, plus 1; 0 = no block
					       was freed */
		};
		uint64_t soon; /* in a brief replay: blocks that were freed soon */
	};
	struct ms_level live;
	uint64_t max_live_bytes, max_live_blocks;
	uint64_t min_size, max_size;
	uint64_t first_tick, last_tick; /* times of the first and last allocation, including failed
					   ones */
	uint64_t allocations, bytes, temporary; /* allocations: estimated if sampled */
};

/* Holds the other figures of a site. After ms_replay_finish, `frees` and the classes are valid. */
struct ms_replay_rare {
	uint64_t frees, reallocations, failed;
	/* blocks by size: see replay_cells.h */
	uint64_t classes;     /* bit set of the site's size classes */
	uint32_t first_class; /* index of the site's first class in ms_replay.classes */
	bool marked;          /* a free of a block of the site was inferred */
};

/* Holds the allocations of one thread at one site; complete after ms_replay_finish. */
struct ms_replay_site_thread {
	uint32_t site, thread;
	uint64_t allocations, bytes;
	uint64_t live_bytes, live_blocks;
};

struct ms_replay_thread {
	uint64_t last; /* number of the thread's latest allocation, MS_NEVER = none */
	uint64_t frees;
	uint64_t first_tick, last_tick; /* ticks of the first and last event */
	bool seen;
	/* figures of the blocks that the thread allocated, after ms_replay_finish; `allocations` is
	 * an estimate if the recording is sampled: */
	struct ms_level live;
	uint64_t allocations, bytes, temporary;
};

/* Number of size classes. Class 0 is size 0, class n is [2^(n-1), 2^n - 1]; the last one also
 * includes sizes larger than any address space. */
#define MS_SIZE_CLASSES 64
struct ms_replay_size {
	struct ms_level live;
	uint64_t allocations, bytes, temporary;
};

/* Number of lifetime classes of freed blocks. Class n begins at ms_age_ns[n], or at
 * ms_age_allocations[n] allocations of the process during the lifetime; the last has no end. */
#define MS_AGES 9
extern const uint64_t ms_age_ns[MS_AGES], ms_age_allocations[MS_AGES];
/* Finds the class of an age in ticks, or in allocations. */
struct ms_age_classes {
	uint64_t last[MS_AGES]; /* greatest age in each class */
	uint8_t by_bits[65];    /* class of the smallest age with that number of bits */
};
struct ms_replay_ages {
	uint64_t time[MS_AGES], allocations[MS_AGES]; /* numbers of blocks by lifetime in time and
							 in allocations; both have the same sum */
};

/* Holds the lifetimes of a site's freed blocks. Most sites free few, so a class is a byte here, and
 * the multiples of 256 are in ms_replay.carries. */
struct ms_replay_lifetimes {
	uint64_t ticks, allocations; /* sums */
	uint32_t carries;            /* index in ms_replay.carries, plus 1; 0 = none */
	uint8_t time[MS_AGES], between[MS_AGES];
};

/* Sums up samples of a sampled recording: see replay_sampled.h. */
struct ms_sampled_sum {
	uint64_t samples, blocks; /* samples: number recorded; blocks: estimated number of blocks */
	uint64_t bytes;           /* bytes of the recorded samples */
	double blocks_variance, bytes_variance;
};

/* Describes a span of the timeline. live_min and live_max include the state at its start;
 * live_last, blocks_last, mapped_last and sampled_last are the state at its end. */
struct ms_replay_span {
	uint64_t live_min, live_max, live_last, blocks_last;
	uint64_t allocations, frees, bytes; /* totals within the span */
	uint64_t mapped_last;               /* 0 if not recorded */
	struct ms_sampled_sum sampled_last; /* zero unless sampled */
};
#define MS_TIMELINE_SPANS 512u

/* Holds the sums of samples at a moment of the recording. */
struct ms_sampled_moment {
	struct ms_sampled_sum total;
	struct ms_sampled_sum *sites; /* sum of each site, for the first `site_count` sites */
	size_t site_count;
};

/* Holds mapped memory and slacks at a moment of the recording: see replay_mapped.h. */
struct ms_beside_moment {
	uint64_t slack_bytes, mapped_bytes;
	struct ms_beside_figure {
		uint32_t site;
		uint64_t slack_bytes, mapped_bytes;
	} * figures; /* sites with mapped memory or slack, sorted by site */
	size_t count;
};

/* Describes a moment of the recording whose state is to be saved. */
struct ms_replay_moment {
	uint64_t tick;  /* state before the first event at or after this tick; MS_NEVER = use
			   `event` */
	uint64_t event; /* saves the state before the event with this number in the file */
	bool taken;
	bool begins; /* counting begins here (ms_replay_count_from) */
	bool missed; /* the moment has no state, since a checkpoint skipped it */
	uint64_t live_bytes, live_blocks;
	struct ms_replay_figure {
		uint32_t site;
		uint64_t live_bytes, live_blocks;
		uint64_t oldest_tick; /* oldest live block; MS_NEVER = not determined */
	} * figures;                  /* sites with live blocks, sorted by site */
	size_t figure_count;
	struct ms_sampled_moment sampled; /* zero if not recorded, as is `beside` */
	struct ms_beside_moment beside;
};

/* A block is freed soon if fewer than this many blocks were allocated during its life. */
#define MS_FREED_SOON 10u

/* Lists the totals that almost every event changes. */
#define MS_REPLAY_TOTALS                                                                           \
	uint64_t live_bytes, live_blocks, bytes, allocations, frees, temporary, freed_soon;        \
	uint64_t next_number, last_tick;                                                           \
	uint64_t run_max; /* maximum of live bytes since the caller reset it; at most the peak */  \
	uint64_t peak_epoch;
struct ms_replay_totals {
	MS_REPLAY_TOTALS
};

struct ms_replay {
	union {
		struct ms_replay_totals totals;
		struct {
			MS_REPLAY_TOTALS
		};
	};
	struct ms_blocks blocks;
	uint64_t events;
	uint64_t position;   /* number of the next event in the file; above `events` if damage made
				some unreadable */
	uint64_t tick_limit; /* largest valid tick; events after it are invalid */
	uint64_t restored,
		restored_bytes; /* for the checkpoint being read: number of its last block, plus 1,
				   and bytes so far */
	uint64_t from_tick;     /* start of the figures and of the timeline: a checkpoint, or the
				   start of counting */
	uint64_t run_max_tick;
	uint64_t peak_bytes, peak_blocks, peak_tick;
	uint64_t peak_position; /* number of the event after the one that reached the peak */
	uint64_t reallocations, failed;
	uint64_t inferred_frees, unknown_frees, bad_events;
	uint64_t inherited_frees, inherited_freed_bytes; /* frees of blocks from before a fork; not
							    counted in other figures */
	uint64_t before_frees,
		before_freed_bytes; /* frees of blocks allocated before an attachment */
	uint64_t explained;         /* number (from 1) of the event that frees an inherited or
				       earlier block */

	struct ms_replay_site *sites;
	size_t site_count, site_cap;
	struct ms_replay_rare *rare; /* by site; NULL in a brief replay */
	size_t rare_cap;
	uint32_t *site_of_node; /* for each node: index of its site, plus 1; 0 = none */
	size_t node_count, node_cap;
	struct ms_replay_site_thread *records;
	size_t record_count, record_cap;
	struct ms_replay_thread *threads;
	size_t thread_count;
	struct ms_replay_cell *cells;
	size_t cell_count, cell_cap;
	struct ms_lookup cell_index;    /* finds cells by site and key: see replay_cells.h */
	struct ms_replay_size *classes; /* classes of all sites */
	size_t class_count;
	MS_ARRAY(struct ms_replay_lifetimes) lifetimes;
	MS_ARRAY(struct ms_replay_ages) carries;
	struct ms_age_classes by_ticks, by_allocations;
	struct ms_replay_size sizes[MS_SIZE_CLASSES]; /* sums over all sites, after
							 ms_replay_finish */

	struct ms_replay_span spans[MS_TIMELINE_SPANS];
	size_t span; /* index of the current span */
	uint64_t span_ticks;
	struct ms_replay_span open; /* allocations, frees and bytes at the start of the current
				       span */

	struct ms_replay_moment *moments;
	size_t moment_count;
	struct {
		uint64_t tick, event;
	} alarm; /* next tick or event at which the fast path must stop */

	uint64_t judged; /* first block allocated after the scan at the end; MS_NEVER = no scan. Set
			    before ms_replay_finish */
	struct ms_replay_late {
		uint64_t bytes, blocks;
	} * late;                   /* blocks allocated after the scan at the end, by site; NULL =
				       none */
	uint64_t *oldest;           /* tick of the oldest live block, by site, after
				       ms_replay_finish; NULL when sampled */
	struct ms_sampled *sampled; /* sums of samples: see replay_sampled.h; NULL = not a sampled
				       recording */
	struct ms_growth *growth;   /* live bytes over time: see replay_growth.h */
	/* Live bytes by time of allocation: see replay_cohorts.h. Blocks with numbers below
	 * cohort_first are of earlier cohorts than the current one. */
	struct ms_cohort_sets *cohorts;
	uint64_t cohort_first;
	uint8_t *touched; /* by site: 1 = it had events since the latest sample of growth */
	size_t touched_cap;
	MS_ARRAY(struct ms_backing) backing; /* memory of custom heaps: see replay_mapped.h */
	struct ms_beside *beside;            /* mapped memory, usable sizes and stacks of frees: see
				     replay_mapped.h; NULL = not recorded */
	bool brief; /* see ms_replay_brief; of restored blocks the threads are kept then */
	MS_ARRAY(struct ms_replay_restored {
		uint64_t number;
		uint32_t thread;
	})
	restored_threads; /* in order of number */
};

void ms_replay_init(struct ms_replay *r);
/* Sets the length of a tick, for classes of lifetime; it is 1 ns by default. Call before the first
 * event. */
void ms_replay_tick(struct ms_replay *r, uint64_t tick_ns);
void ms_replay_free(struct ms_replay *r);
/* Makes the replay brief: it keeps what a first screen shows of each site, in half of the memory.
 * There are no cells then, and so no figures by thread and size class, except the allocations of
 * each class of all sites; no lifetimes, frees, reallocations and failed calls of sites, and no
 * survival. A site's block counts as freed soon in `soon`, and the site's thread is that of
 * ms_replay_thread_of. Call before the first event; has no effect later, nor for recordings that are
 * sampled, or have mapped memory or usable sizes. */
void ms_replay_brief(struct ms_replay *r);
/* Return figures of a site of `r`, all 0 in a brief replay. ms_replay_ages_of returns the lifetimes
 * of its freed blocks by class. */
const struct ms_replay_rare *ms_replay_rare_of(const struct ms_replay *r,
					       const struct ms_replay_site *s);
const struct ms_replay_lifetimes *ms_replay_lifetimes_of(const struct ms_replay *r,
							 const struct ms_replay_site *s);
struct ms_replay_ages ms_replay_ages_of(const struct ms_replay *r, const struct ms_replay_site *s);
/* Returns the only thread that allocated at a site, UINT32_MAX = several or none. For a brief
 * replay, after ms_replay_finish. */
static inline uint32_t ms_replay_thread_of(const struct ms_replay_site *s)
{
	return s->cell_key == MS_SEVERAL_THREADS ? UINT32_MAX : s->cell_key;
}
/* Requests the state before the first event at or after `tick` (MS_NEVER: before event number
 * `event`). Call before the first event. Returns the index in r->moments of the result. */
size_t ms_replay_moment(struct ms_replay *r, uint64_t tick, uint64_t event);
/* Makes counting begin at a moment: all figures, the peak too, then cover later events only, except
 * live bytes and blocks. */
void ms_replay_count_from(struct ms_replay *r, size_t moment);
/* Announces stack nodes up to `count - 1`. An event with any other node counts as one without a
 * stack. */
void ms_replay_nodes(struct ms_replay *r, size_t count);
/* Applies events, in order. Invalid events, such as those with decreasing numbers, are counted in
 * bad_events and ignored. */
void ms_replay_events(struct ms_replay *r, const struct ms_event *ev, size_t n);

/* Replaces the live blocks by a checkpoint: call ms_replay_restore, then pass the blocks in order
 * and the latest allocation of each thread, then call ms_replay_restored. Returns false, with
 * nothing changed, if the checkpoint is before the events already applied. `anew` true: earlier
 * events are not in the file or were not read, so figures and timeline begin here. False: some
 * earlier events were lost in damage, and counting continues. */
bool ms_replay_restore(struct ms_replay *r, const struct ms_checkpoint_head *h, bool anew);
/* Adds a block of the checkpoint. Returns false if its number is not above the previous one. */
bool ms_replay_restore_block(struct ms_replay *r, const struct ms_checkpoint_block *b);
void ms_replay_restore_last(struct ms_replay *r, uint32_t thread, uint64_t number);
/* Ends the checkpoint. Returns false if its blocks do not add up to the totals in its head. */
bool ms_replay_restored(struct ms_replay *r, const struct ms_checkpoint_head *h, bool anew);

/* Ends the replay at `tick`: closes the timeline, saves the moments up to `tick`, and computes the
 * sums. */
void ms_replay_finish(struct ms_replay *r, uint64_t tick);
/* Frees memory that only events need; no event may follow. Call after ms_replay_finish. */
void ms_replay_settle(struct ms_replay *r);
/* Returns the bytes and blocks that `l` had live at the peak. */
void ms_replay_at_peak(const struct ms_replay *r, const struct ms_level *l, uint64_t *bytes,
		       uint64_t *blocks);

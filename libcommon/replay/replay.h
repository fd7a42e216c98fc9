/* SPDX-License-Identifier: MIT
 * Room replay: what was live, when, and whose it was.
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
 * replay_events.c has what each kind of event does, and a short way for the usual ones, and the
 * tables of sites and threads; replay_cells.h what events count in;
 * replay_alarms.c what is done when an alarm goes off, timeline and moments; replay_checkpoint.c
 * begins in the middle. What only some recordings have: replay_sampled.h, replay_mapped.h.
 *
 * The peak in one pass. A peak is a moment, and each site's (and size class's) live bytes at that
 * moment are wanted, but which moment was the peak is known only at the end, and copying all sites
 * at every new maximum would be quadratic. So they are versioned lazily: `peak_epoch` is the number
 * of the latest peak among those that there were. A counter that is about to change looks whether
 * it was touched since that peak (its epoch is the peak's); if not, its value now is its value at
 * the peak, and is kept in `at_peak` first. At the end a counter whose epoch is the peak's has its
 * value at the peak in `at_peak`; any other one did not change since, so that its present value is
 * the one. Cost: a comparison per change.
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

/* Live bytes and blocks, now and as they were at the latest peak. */
struct ms_level {
	uint64_t bytes, blocks;
	uint64_t epoch; /* of the peak that at_peak belongs to */
	uint64_t at_peak_bytes, at_peak_blocks;
};

/* Holds a site, with what an event looks at in front. Of `live`, what was at the peak is known
 * after ms_replay_finish, and so are frees, temporary and the classes: see replay_cells.h. */
struct ms_replay_site {
	uint32_t cell_key, cell; /* its latest cell: what it is of, and its number */
	struct ms_level live;
	uint64_t max_live_bytes, max_live_blocks;
	uint64_t lifetime_ticks, lifetime_allocations; /* sums over freed blocks */
	uint64_t min_size, max_size;
	uint64_t first_tick, last_tick; /* of its allocations, failed ones too */
	uint32_t node;                  /* innermost stack node, 0 = no stack */
	uint32_t ages; /* in ms_replay.ages, from 1; 0 = none of its blocks was freed */
	uint64_t frees, temporary;
	uint64_t reallocations, failed;
	/* blocks by size and lifetime: see replay_cells.h */
	uint64_t classes;     /* bit per size class that it has */
	uint32_t first_class; /* of them, in ms_replay.classes */
	bool marked;          /* one of its blocks had an inferred free */
};

/* Holds the allocations of one thread at one site; all of it after ms_replay_finish. */
struct ms_replay_site_thread {
	uint32_t site, thread;
	uint64_t allocations, bytes;
	uint64_t live_bytes, live_blocks;
};

struct ms_replay_thread {
	uint64_t last; /* number of its latest allocation, MS_NEVER = none */
	uint64_t frees;
	uint64_t first_tick, last_tick; /* of its events */
	bool seen;
	/* of the blocks that it allocated, after ms_replay_finish: */
	struct ms_level live;
	uint64_t allocations, bytes, temporary;
};

/* Sizes with the same highest bit: class 0 is size 0, class n is [2^(n-1), 2^n - 1]; what is larger
 * than any address space is in the last one too. */
#define MS_SIZE_CLASSES 64
struct ms_replay_size {
	struct ms_level live;
	uint64_t allocations, bytes, temporary;
};

/* Freed blocks by how long they lived: class n begins at ms_age_ns[n], and at
 * ms_age_allocations[n] allocations of the process in between; the last has no end. */
#define MS_AGES 9
extern const uint64_t ms_age_ns[MS_AGES], ms_age_allocations[MS_AGES];
/* To find the class of a number of ticks, or of allocations. */
struct ms_age_classes {
	uint64_t last[MS_AGES]; /* the greatest number of each class */
	uint8_t by_bits[65];    /* class of the least number with so many bits */
};
struct ms_replay_ages {
	uint64_t time[MS_AGES], allocations[MS_AGES]; /* blocks; the sums are equal */
};

/* Some samples of a sampled recording: see replay_sampled.h. */
struct ms_sampled_sum {
	uint64_t samples, blocks; /* recorded; that they stand for */
	uint64_t bytes;           /* recorded */
	double blocks_variance, bytes_variance;
};

/* A span of the timeline. Minimum and maximum include the state with which it began; the rest is
 * what was when it ended. */
struct ms_replay_span {
	uint64_t live_min, live_max, live_last, blocks_last;
	uint64_t allocations, frees, bytes; /* within the span */
	uint64_t mapped_last;               /* 0 where that was not recorded */
	struct ms_sampled_sum sampled_last; /* zero unless sampled */
};
#define MS_TIMELINE_SPANS 512u

/* Holds the sums that samples stand for at a moment. */
struct ms_sampled_moment {
	struct ms_sampled_sum total;
	struct ms_sampled_sum *sites; /* of the first `site_count` sites */
	size_t site_count;
};

/* Holds the memory beside the heap at a moment: see replay_mapped.h. */
struct ms_beside_moment {
	uint64_t slack_bytes, mapped_bytes;
	struct ms_beside_figure {
		uint32_t site;
		uint64_t slack_bytes, mapped_bytes;
	} * figures; /* of sites that have one of them, in order of site */
	size_t count;
};

/* A moment to be kept. */
struct ms_replay_moment {
	uint64_t tick;  /* state before the first event at or after this tick; MS_NEVER = `event`
			   counts */
	uint64_t event; /* state before the event of this number in the file */
	bool taken;
	bool begins; /* counting begins here (ms_replay_count_from) */
	bool missed; /* it lies in what a checkpoint stepped over */
	uint64_t live_bytes, live_blocks;
	struct ms_replay_figure {
		uint32_t site;
		uint64_t live_bytes, live_blocks;
		uint64_t oldest_tick; /* of its live blocks; MS_NEVER = not looked at */
	} * figures;                  /* of the sites with live blocks, in order of site */
	size_t figure_count;
	struct ms_sampled_moment sampled; /* zero where that was not recorded, and so is the next */
	struct ms_beside_moment beside;
};

/* A block is freed soon when fewer than so many others were allocated since it was. */
#define MS_FREED_SOON 10u

/* Lists the totals that nearly every event changes. */
#define MS_REPLAY_TOTALS                                                                           \
	uint64_t live_bytes, live_blocks, bytes, allocations, frees, temporary, freed_soon;        \
	uint64_t next_number, last_tick;                                                           \
	uint64_t run_max; /* most live bytes since somebody last set it; never over the peak */    \
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
	uint64_t position;   /* number of the next event in the file: = events unless some were lost
				in damage */
	uint64_t tick_limit; /* later events are bad */
	uint64_t restored,
		restored_bytes; /* of a checkpoint: number after that of its last block */
	uint64_t from_tick;     /* the figures and the timeline begin here: a checkpoint, or where
				   counting  began */
	uint64_t run_max_tick;
	uint64_t peak_bytes, peak_blocks, peak_tick;
	uint64_t peak_position; /* number of the event after the one that made the peak */
	uint64_t reallocations, failed;
	uint64_t inferred_frees, unknown_frees, bad_events;
	uint64_t inherited_frees, inherited_freed_bytes; /* of blocks from before a fork; they
							    change nothing else */
	uint64_t before_frees,
		before_freed_bytes; /* the same of blocks from before an attachment */
	uint64_t explained;         /* the event (counted from 1) that gives such a block back */

	struct ms_replay_site *sites;
	size_t site_count, site_cap;
	uint32_t *site_of_node; /* by node number: site + 1, 0 = none yet */
	size_t node_count, node_cap;
	struct ms_replay_site_thread *records;
	size_t record_count, record_cap;
	struct ms_replay_thread *threads;
	size_t thread_count;
	struct ms_replay_cell *cells;
	size_t cell_count, cell_cap;
	struct ms_lookup cell_index;    /* by site and key: see replay_cells.h */
	struct ms_replay_size *classes; /* of all sites */
	size_t class_count;
	struct ms_replay_ages *ages;
	size_t age_count, age_cap;
	struct ms_age_classes by_ticks, by_allocations;
	struct ms_replay_size sizes[MS_SIZE_CLASSES]; /* of all sites, after ms_replay_finish */

	struct ms_replay_span spans[MS_TIMELINE_SPANS];
	size_t span; /* current one */
	uint64_t span_ticks;
	struct ms_replay_span open; /* totals at its begin: allocations, frees, bytes */

	struct ms_replay_moment *moments;
	size_t moment_count;
	struct {
		uint64_t tick, event;
	} alarm; /* when something other than the event is to be done next */

	uint64_t judged; /* blocks of this number and later ones came after the scan at the end;
			    MS_NEVER = there was none. Set before ms_replay_finish */
	struct ms_replay_late {
		uint64_t bytes, blocks;
	} * late;                   /* by site, those; NULL = none was */
	uint64_t *oldest;           /* after ms_replay_finish, by site; NULL when sampled */
	struct ms_sampled *sampled; /* of a sampled recording: see replay_sampled.h; else NULL */
	struct ms_growth *growth;   /* live bytes over time: replay_growth.h */
	MS_ARRAY(struct ms_backing) backing; /* of heaps of the program's own: replay_mapped.h */
	struct ms_beside *beside; /* what is recorded beside the heap: replay_mapped.h; or NULL */
};

void ms_replay_init(struct ms_replay *r);
/* How long a tick is, for classes of lifetime; 1 ns until this is called. Call before the first
 * event. */
void ms_replay_tick(struct ms_replay *r, uint64_t tick_ns);
void ms_replay_free(struct ms_replay *r);
/* Asks for the state before the first event at `tick` or later (MS_NEVER: before event number
 * `event`). Call before the first event; the answer is r->moments[returned number]. */
size_t ms_replay_moment(struct ms_replay *r, uint64_t tick, uint64_t event);
/* Forgets at that moment what was counted until then: all figures but live ones are of the events
 * after it, the peak too. */
void ms_replay_count_from(struct ms_replay *r, size_t moment);
/* Stack nodes up to `count - 1` exist from now on: an event with another is counted as one without
 * a stack. */
void ms_replay_nodes(struct ms_replay *r, size_t count);
/* Events, in order. Whatever they say is survived: numbers that go back are counted in bad_events
 * and ignored. */
void ms_replay_events(struct ms_replay *r, const struct ms_event *ev, size_t n);

/* A checkpoint replaces what is live: begin, then its blocks in order and the latest allocation of
 * each thread, then end. It must not lie before what was replayed: false, and nothing has changed.
 * `anew`: the events before it are not in the file or were not read, so that figures and timeline
 * begin here; else some were lost in damage, and counting goes on. */
bool ms_replay_restore(struct ms_replay *r, const struct ms_checkpoint_head *h, bool anew);
/* False when its number does not grow. */
bool ms_replay_restore_block(struct ms_replay *r, const struct ms_checkpoint_block *b);
void ms_replay_restore_last(struct ms_replay *r, uint32_t thread, uint64_t number);
/* False when the blocks do not add up to what the checkpoint's head says. */
bool ms_replay_restored(struct ms_replay *r, const struct ms_checkpoint_head *h, bool anew);

/* The recording ends at `tick`: closes the timeline, takes moments up to there, adds up what is a
 * sum of others. */
void ms_replay_finish(struct ms_replay *r, uint64_t tick);
/* After ms_replay_finish: gives back what only events needed, and no event may follow. */
void ms_replay_settle(struct ms_replay *r);
/* Live bytes and blocks of a level at the peak. */
void ms_replay_at_peak(const struct ms_replay *r, const struct ms_level *l, uint64_t *bytes,
		       uint64_t *blocks);

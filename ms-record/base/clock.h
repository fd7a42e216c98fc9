/* SPDX-License-Identifier: MIT
 * Room base: what any room of the recorder needs.
 *   In:  stamps of a guest; /proc and clocks.
 *   Out: time in ns (this header); mapped ELF files (elfmap.h); counters (stats.h);
 *        threads woken (wake.h), packets and files between processes (packet.h).
 *   Used by: all.
 *
 * Stamps of the target to nanoseconds: the TSC where it is invariant, else a shared counter.
 *
 * Pairs (stamp, CLOCK_MONOTONIC) are taken all the time; a stamp is converted by the straight line
 * between the two pairs around it. Every stamp that is converted is older than the newest pair, so
 * nothing is extrapolated and the result never runs backwards.
 *
 * A program may forbid itself to read the TSC: then its stamps are counted from there on, beginning
 * a second ahead of the TSC. So what is stamped by the TSC still comes before, whoever looks when;
 * but as nothing says when the last of these is visible, there is a moment in which no stamp is
 * known to be the last of its time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_PAIRS 2048u

struct clock {
	bool tsc;
	const uint64_t *sequence; /* the shared counter when not `tsc` */
	const uint32_t *blind;    /* guest: not 0 = it is not `tsc` any more; NULL = it stays so */
	uint64_t counted;         /* stamps before this one are of the TSC */
	uint64_t changed_ns;      /* when that was seen; 0 = it was not so */
	uint64_t start_mono;      /* ns */
	uint64_t start_wall;      /* ns */
	struct clock_pair {
		uint64_t stamp, ns; /* ns since start_mono */
	} pairs[CLOCK_PAIRS];
	uint32_t count, newest;
	uint64_t lo, hi; /* stamps in [lo, hi) are in tick `tick` */
	uint64_t tick;
};

/* Hz of the TSC to a ten-thousandth or so, measured once against CLOCK_MONOTONIC for 0.4 ms. */
uint64_t clock_tsc_hz(void);
/* CLOCK_MONOTONIC in ns. */
uint64_t clock_mono(void);

/* Starts a clock whose zero is now. `sequence` is the shared counter, or NULL for the TSC. */
void clock_start(struct clock *c, const uint64_t *sequence);
struct mg_session;
/* From now on the guest of that session may go over to its counter. */
void clock_watch(struct clock *c, const struct mg_session *m);
/* Starts a clock whose zero is `stamp` of another one that runs on the TSC; what that one knows of
 * the time since is taken over. */
void clock_fork(struct clock *c, const struct clock *from, uint64_t stamp);
/* The stamp of this moment. */
uint64_t clock_stamp(const struct clock *c);
/* Takes a pair (at most one per ms); returns the stamp of this moment. Goes over to the counter if
 * the guest did. */
uint64_t clock_round(struct clock *c);
/* Did the TSC begin anew? Then the last stamp before that, at which time stands still until stamps are
 * counted; else 0. */
uint64_t clock_restarted(const struct clock *c);
/* Is everything that was published before the last clock_round visible, but what is `pending`? */
bool clock_settled(const struct clock *c);
/* ns since the start of a stamp taken before the last clock_round. */
uint64_t clock_ns(const struct clock *c, uint64_t stamp);
/* The tick (of MS_TRACE_TICK_NS) of a stamp; never less than an earlier call gave. */
uint64_t clock_tick_slow(struct clock *c, uint64_t stamp);
static inline uint64_t clock_tick(struct clock *c, uint64_t stamp)
{
	return stamp - c->lo < c->hi - c->lo ? c->tick : clock_tick_slow(c, stamp);
}
/* ns since the start, now. */
uint64_t clock_now(const struct clock *c);

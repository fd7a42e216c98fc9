/* SPDX-License-Identifier: MIT
 * Room base: functions for all rooms of the recorder.
 *   In:  stamps of a guest; /proc and clocks.
 *   Out: time in ns (this header); mapped ELF files (elfmap.h); counters (stats.h);
 *        threads woken (wake.h), packets and files between processes (packet.h).
 *   Used by: all.
 *
 * Converts stamps of the target to nanoseconds: the TSC where it is invariant, else a shared
 * counter.
 *
 * Pairs (stamp, CLOCK_MONOTONIC) are taken all the time; a stamp is converted by linear
 * interpolation between the two pairs around it. Every stamp to convert is older than the newest
 * pair, so nothing is extrapolated and the result never runs backwards.
 *
 * A program may forbid itself to read the TSC: then its stamps are counted from there on,
 * beginning a second ahead of the TSC. So stamps of the TSC remain earlier than counted ones, no
 * matter when the change is noticed. But it is unknown when the last stamp of the TSC becomes
 * visible, so for a moment no stamp is known to be the last of its time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_PAIRS 2048u

struct clock {
	bool tsc;
	const uint64_t *sequence; /* shared counter that stamps are taken from if not `tsc` */
	const uint32_t *blind;    /* guest's flag: nonzero = it no longer uses the TSC; NULL = no
				     flag */
	uint64_t counted;         /* first stamp from `sequence`; earlier stamps are TSC values */
	uint64_t changed_ns; /* time at which the guest's switch to counted stamps was noticed; 0 =
				none */
	uint64_t start_mono; /* start time on CLOCK_MONOTONIC, ns */
	uint64_t start_wall; /* start time on CLOCK_REALTIME, ns */
	struct clock_pair {
		uint64_t stamp, ns; /* stamp, and its time in ns since start_mono */
	} pairs[CLOCK_PAIRS];
	uint32_t count, newest;
	uint64_t lo, hi; /* stamps in [lo, hi) are in tick `tick` */
	uint64_t tick;
};

/* Returns the frequency of the TSC in Hz, exact to about one in 10,000; measured once, for 0.4
 * ms, against CLOCK_MONOTONIC. */
uint64_t clock_tsc_hz(void);
/* Returns CLOCK_MONOTONIC in ns. */
uint64_t clock_mono(void);

/* Starts a clock whose time 0 is now. `sequence` is the shared counter; NULL = use the TSC. */
void clock_start(struct clock *c, const uint64_t *sequence);
struct mg_session;
/* Prepares for a switch of this session's guest from the TSC to counted stamps (from the shared
 * counter). */
void clock_watch(struct clock *c, const struct mg_session *m);
/* Starts a clock whose time 0 is the stamp `stamp` of clock `from`, which uses the TSC. Copies the
 * later pairs of `from`. */
void clock_fork(struct clock *c, const struct clock *from, uint64_t stamp);
/* Returns the current stamp. */
uint64_t clock_stamp(const struct clock *c);
/* Adds a (stamp, time) pair, at most one per ms, and returns the current stamp. Switches to counted
 * stamps if the guest has. */
uint64_t clock_round(struct clock *c);
/* Returns the last stamp before the TSC restarted, or 0 if it has not. The clock stays at this
 * stamp until it switches to counted stamps. */
uint64_t clock_restarted(const struct clock *c);
/* Tells whether every stamp published before the last clock_round is visible to us by now. Pending
 * stamps, whose records are not written yet, are excepted. */
bool clock_settled(const struct clock *c);
/* Returns the time of a stamp taken before the last clock_round, in ns since the start. */
uint64_t clock_ns(const struct clock *c, uint64_t stamp);
/* Returns the time of a stamp in ticks of MS_TRACE_TICK_NS; never less than the previous call
 * returned. */
uint64_t clock_tick_slow(struct clock *c, uint64_t stamp);
static inline uint64_t clock_tick(struct clock *c, uint64_t stamp)
{
	return stamp - c->lo < c->hi - c->lo ? c->tick : clock_tick_slow(c, stamp);
}
/* Returns the current time in ns since the start. */
uint64_t clock_now(const struct clock *c);

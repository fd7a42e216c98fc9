/* SPDX-License-Identifier: MIT
 * Converts stamps of the target to nanoseconds.
 */
#include "clock.h"

#include <string.h>

#include "cpu.h"
#include "format/trace.h"
#include "libcommon/base/clock.h"
#include "ms-record/guest/layout.h"

#define PAIR_SPACING_NS UINT64_C(1000000)
#define SETTLED_NS UINT64_C(1000000)
/* Least difference, in stamps, by which a TSC must have gone back to count as restarted. The TSCs of
 * processors differ far less. */
#define RESTARTED (UINT64_C(1) << 20)
/* duration of the measurement; each end is exact to 20 ns, so the result to 1 in 10,000 */
#define MEASURED_NS UINT64_C(400000)

uint64_t clock_mono(void)
{
	return ms_clock_ns(CLOCK_MONOTONIC);
}

/* Reads both clocks at the same moment. Of several tries it returns the fastest, which was probably
 * not interrupted. */
static struct clock_pair read_both(void)
{
	struct clock_pair best = {0, 0};
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < 8; i++) {
		uint64_t before = cpu_counter(), ns = clock_mono(), took = cpu_counter() - before;
		if (took < least) {
			least = took;
			best = (struct clock_pair){before + took / 2, ns};
		}
	}
	return best;
}

uint64_t clock_tsc_hz(void)
{
	static uint64_t hz;
	if (hz)
		return hz;
	struct clock_pair a = read_both(), b;
	while (clock_mono() - a.ns < MEASURED_NS)
		continue;
	b = read_both();
	hz = (uint64_t)((double)(b.stamp - a.stamp) * 1e9 / (double)(b.ns - a.ns));
	return hz;
}

uint64_t clock_stamp(const struct clock *c)
{
	return c->tsc ? cpu_counter() : __atomic_load_n(c->sequence, __ATOMIC_ACQUIRE);
}

uint64_t clock_now(const struct clock *c)
{
	return clock_mono() - c->start_mono;
}

void clock_start(struct clock *c, const uint64_t *sequence)
{
	memset(c, 0, sizeof *c);
	c->tsc = !sequence;
	c->sequence = sequence;
	c->counted = sequence ? 0 : UINT64_MAX;
	c->start_wall = ms_clock_ns(CLOCK_REALTIME);
	c->start_mono = clock_mono();
	c->pairs[0] = (struct clock_pair){clock_stamp(c), 0};
	c->count = 1;
}

void clock_watch(struct clock *c, const struct mg_session *m)
{
	c->sequence = &m->sequence;
	c->blind = &m->blind;
}

/* Adds a pair (stamp, time), or replaces the newest one. */
static void add_pair(struct clock *c, uint64_t stamp, uint64_t ns, bool add)
{
	c->newest += add;
	if (add && c->count < CLOCK_PAIRS)
		c->count++;
	c->pairs[c->newest % CLOCK_PAIRS] = (struct clock_pair){stamp, ns};
}

/* If the guest has switched from the TSC to counted stamps, switches too; keeps the last pair of
 * the TSC. */
static void look_at_guest(struct clock *c)
{
	if (!c->tsc || !c->blind || !__atomic_load_n(c->blind, __ATOMIC_SEQ_CST))
		return;
	c->tsc = false;
	c->changed_ns = clock_now(c);
	/* The TSC may have passed the value of the first counted stamp, if the switch is noticed
	 * more than a second late. It may also have restarted, below its last pair. */
	uint64_t last = cpu_counter(), now = clock_stamp(c);
	uint64_t before = c->pairs[c->newest % CLOCK_PAIRS].stamp;
	last = last < before ? before : last;
	c->counted = last < now ? last : now;
	add_pair(c, c->counted, c->changed_ns, true);
	add_pair(c, now, c->changed_ns, true);
}

bool clock_settled(const struct clock *c)
{
	return !c->changed_ns || clock_now(c) > c->changed_ns + SETTLED_NS;
}

uint64_t clock_restarted(const struct clock *c)
{
	uint64_t last = c->pairs[c->newest % CLOCK_PAIRS].stamp,
		 now = c->tsc ? cpu_counter() : last;
	return now + RESTARTED < last ? last : 0;
}

uint64_t clock_round(struct clock *c)
{
	look_at_guest(c);
	uint64_t stopped = clock_restarted(c);
	if (stopped)
		return stopped;
	uint64_t stamp = clock_stamp(c), ns = clock_now(c);
	const struct clock_pair *last = &c->pairs[c->newest % CLOCK_PAIRS];
	const struct clock_pair *before = &c->pairs[(c->newest - 1) % CLOCK_PAIRS];
	/* The newest pair is replaced until it is far enough from the previous one. */
	add_pair(c, stamp, ns, c->count == 1 || last->ns >= before->ns + PAIR_SPACING_NS);
	return stamp;
}

/* Returns the index of the last pair at or before `stamp`, else of the oldest. It is nearly
 * always one of the newest. */
static uint32_t find(const struct clock *c, uint64_t stamp)
{
	uint32_t hi = c->newest, oldest = c->newest - (c->count - 1), lo = hi;
	for (uint32_t step = 1; lo != oldest && c->pairs[lo % CLOCK_PAIRS].stamp > stamp;
	     step *= 2) {
		hi = lo - 1;
		lo = lo - oldest > step ? lo - step : oldest;
	}
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo + 1) / 2;
		if (c->pairs[mid % CLOCK_PAIRS].stamp <= stamp)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

static double interpolate(const struct clock_pair *a, const struct clock_pair *b, uint64_t stamp)
{
	double part = (double)(stamp - a->stamp) / (double)(b->stamp - a->stamp);
	return (double)a->ns + (part > 1 ? 1 : part) * (double)(b->ns - a->ns);
}

/* Returns the time of a stamp in ns; `i` is the index of the last pair at or before the stamp. */
static uint64_t ns_behind(const struct clock *c, uint32_t i, uint64_t stamp)
{
	const struct clock_pair *a = &c->pairs[i % CLOCK_PAIRS];
	if (stamp <= a->stamp || i == c->newest)
		return a->ns;
	const struct clock_pair *b = &c->pairs[(i + 1) % CLOCK_PAIRS];
	return b->stamp > a->stamp ? (uint64_t)interpolate(a, b, stamp) : a->ns;
}

uint64_t clock_ns(const struct clock *c, uint64_t stamp)
{
	return ns_behind(c, find(c, stamp), stamp);
}

uint64_t clock_tick_slow(struct clock *c, uint64_t stamp)
{
	uint32_t i = find(c, stamp);
	uint64_t tick = ns_behind(c, i, stamp) / MS_TRACE_TICK_NS;
	if (tick < c->tick)
		tick = c->tick;
	c->tick = tick;
	/* Finds the range of stamps in this tick, between the pairs before and after the stamp. */
	const struct clock_pair *a = &c->pairs[i % CLOCK_PAIRS];
	c->lo = c->hi = 0;
	if (i == c->newest || stamp < a->stamp)
		return tick;
	const struct clock_pair *b = &c->pairs[(i + 1) % CLOCK_PAIRS];
	uint64_t end_ns = (tick + 1) * MS_TRACE_TICK_NS;
	uint64_t end = b->stamp;
	if (end_ns < b->ns && end_ns > a->ns)
		end = a->stamp + (uint64_t)((double)(end_ns - a->ns) / (double)(b->ns - a->ns) *
					    (double)(b->stamp - a->stamp));
	c->lo = stamp;
	c->hi = end > stamp ? end : stamp;
	return tick;
}

void clock_fork(struct clock *c, const struct clock *from, uint64_t stamp)
{
	uint64_t zero = clock_ns(from, stamp);
	memset(c, 0, sizeof *c);
	c->tsc = from->tsc;
	c->counted = from->counted;
	c->start_mono = from->start_mono + zero;
	c->start_wall = from->start_wall + zero;
	c->pairs[0] = (struct clock_pair){stamp, 0};
	c->count = 1;
	for (uint32_t i = from->newest - (from->count - 1); i != from->newest + 1; i++) {
		const struct clock_pair *p = &from->pairs[i % CLOCK_PAIRS];
		if (p->stamp <= stamp || p->ns <= zero || c->count == CLOCK_PAIRS)
			continue;
		c->pairs[++c->newest] = (struct clock_pair){p->stamp, p->ns - zero};
		c->count++;
	}
}

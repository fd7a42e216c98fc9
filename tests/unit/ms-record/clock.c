/* SPDX-License-Identifier: MIT
 * The clock of stamps, fed with clocks that were recorded where they jump: machines that were
 * suspended, restored from an image, moved to another host; and a guest that goes over to its
 * counter, noticed soon and late.
 */
#include <time.h>

#include "ms-record/base/cpu.h"

static uint64_t tsc, mono; /* what the two clocks say */

static int fake_gettime(clockid_t id, struct timespec *t)
{
	(void)id;
	*t = (struct timespec){(time_t)(mono / 1000000000), (long)(mono % 1000000000)};
	return 0;
}
#define clock_gettime fake_gettime
#define cpu_counter() tsc
#include "ms-record/base/clock.c"
#include "tests/unit/is.h"

#define MS UINT64_C(1000000)
#define HOUR (3600 * 1000 * MS)
#define PER_MS UINT64_C(2400000) /* ticks of the TSC */
#define ROUNDS 6000u             /* more than pairs are kept */
#define EVENTS 8u

static uint64_t random_state = 1;

static uint64_t below(uint64_t n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (random_state >> 33) % n;
}

static void begin(struct clock *c)
{
	tsc = UINT64_C(1) << 44;
	mono = 77 * HOUR;
	clock_start(c, NULL);
	is("zero", clock_ns(c, tsc), 0);
}

/* Checks that find returns the last pair that is not later. */
static void check_find(const struct clock *c, uint64_t stamp)
{
	uint32_t i = c->newest;
	while (i != c->newest - (c->count - 1) && c->pairs[i % CLOCK_PAIRS].stamp > stamp)
		i--;
	is("found", find(c, stamp), i);
}

/* Both clocks go on, and there are events meanwhile, at equal distances. Each is told at a time between
 * the two looks, and none before the one before. `error_ns`: so near to the truth. */
static void go(struct clock *c, int64_t tsc_by, uint64_t mono_by, uint64_t error_ns)
{
	uint64_t stamps[EVENTS], truth[EVENTS], from = clock_now(c), last = c->tick;
	for (unsigned i = 0; i < EVENTS; i++) {
		stamps[i] = tsc + (uint64_t)(tsc_by / (int64_t)EVENTS * (int64_t)i);
		truth[i] = from + mono_by / EVENTS * i;
	}
	tsc += (uint64_t)tsc_by;
	mono += mono_by;
	clock_round(c);
	for (unsigned i = 0; i < EVENTS; i++) {
		uint64_t ns = clock_ns(c, stamps[i]), tick = clock_tick(c, stamps[i]);
		CHECK(tick >= last, "time runs backwards: %lu after %lu", (long)tick, (long)last);
		CHECK(tick <= clock_now(c) / MS_TRACE_TICK_NS, "%lu is later than now", (long)tick);
		CHECK(ns <= clock_now(c), "%lu ns is later than now", (long)ns);
		CHECK(!error_ns || (ns + error_ns >= truth[i] && ns <= truth[i] + error_ns),
		      "%lu ns, in truth %lu", (long)ns, (long)truth[i]);
		CHECK(!error_ns || tick == last || tick == ns / MS_TRACE_TICK_NS,
		      "tick %lu of %lu ns", (long)tick, (long)ns);
		last = tick;
	}
}

static void go_on(struct clock *c, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t us = 20 + below(1500);
		go(c, (int64_t)(us * PER_MS / 1000), us * 1000, 1000);
	}
}

static void check_steady(void)
{
	static struct clock c;
	begin(&c);
	uint64_t first = tsc + PER_MS;
	go_on(&c, ROUNDS);
	is("pairs", c.count, CLOCK_PAIRS);
	for (int i = 0; i < 1000; i++)
		check_find(&c, first + below(tsc - first + PER_MS));
	uint64_t oldest = c.pairs[(c.newest + 1) % CLOCK_PAIRS].ns;
	is("older than all that is known", clock_ns(&c, first), oldest);
	is("now", clock_ns(&c, tsc), clock_now(&c));
	is("of the future", clock_ns(&c, tsc + HOUR), clock_now(&c));
}

/* Lets the clocks jump while nothing looks, each by its own amount, and checks what follows. */
static void check_jumps(void)
{
	static const struct {
		const char *what;
		int64_t tsc_by;
		uint64_t mono_by;
	} jumps[] = {
		{"suspended: the TSC goes on", (int64_t)(HOUR / MS * PER_MS), 100000},
		{"suspended: the TSC stands still", 0, HOUR},
		{"another host's, ahead", INT64_C(1) << 50, 5 * MS},
		{"another host's, a little behind", -(int64_t)PER_MS / 10, MS},
		{"stopped for ten seconds", (int64_t)(10000 * PER_MS), 10000 * MS},
	};
	for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++) {
		static struct clock c;
		begin(&c);
		go_on(&c, 50);
		go(&c, jumps[i].tsc_by, jumps[i].mono_by, 0);
		/* The newest pair was moved along; from the second one on all is as before. */
		go(&c, (int64_t)(3 * PER_MS), 3 * MS, 0);
		go(&c, (int64_t)(3 * PER_MS), 3 * MS, 0);
		int before = failures;
		go_on(&c, 50);
		CHECK(before == failures, "%s", jumps[i].what);
	}
}

static void check_sorted(const struct clock *c)
{
	for (uint32_t i = c->newest - (c->count - 1); i != c->newest; i++)
		CHECK(c->pairs[i % CLOCK_PAIRS].stamp <= c->pairs[(i + 1) % CLOCK_PAIRS].stamp,
		      "pairs are not in order");
}

/* An event with this stamp is told from that time on, until now, and not before the one before. */
static void check_told(struct clock *c, uint64_t stamp, uint64_t from_ns)
{
	uint64_t last = c->tick, ns = clock_ns(c, stamp);
	CHECK(ns >= from_ns && ns <= clock_now(c), "%lu ns, not from %lu on", (long)ns,
	      (long)from_ns);
	CHECK(clock_tick(c, stamp) >= last, "time runs backwards");
}

/* The guest counts from a second ahead of the TSC; ms-record sees it after so many ms. */
static void check_counted(uint64_t late_ms)
{
	static struct clock c;
	static struct mg_session m;
	m = (struct mg_session){0};
	begin(&c);
	clock_watch(&c, &m);
	go_on(&c, 50);
	CHECK(clock_settled(&c), "settled");
	uint64_t last = tsc, before = clock_now(&c), from = tsc + 1000 * PER_MS;
	m.sequence = from + 500;
	m.blind = 1;
	tsc += late_ms * PER_MS;
	mono += late_ms * MS;
	clock_round(&c);
	CHECK(!c.tsc, "it counts");
	CHECK(!clock_settled(&c), "settled at once");
	check_sorted(&c);
	check_find(&c, from);
	for (uint64_t stamp = last; stamp < from + 500; stamp += stamp < from ? PER_MS : 1)
		check_told(&c, stamp, before);
	mono += 5 * MS;
	m.sequence += 100;
	is("the stamp of this moment", clock_round(&c), from + 600);
	is("counted now", clock_ns(&c, from + 600), clock_now(&c));
	CHECK(clock_settled(&c), "it is settled by now");
}

/* The TSC begins anew, and the guest is told to count. What was stamped by it meanwhile is of the past; all
 * that is counted is told at its time. */
static void check_restarted(void)
{
	static struct clock c;
	static struct mg_session m;
	m = (struct mg_session){0};
	begin(&c);
	clock_watch(&c, &m);
	go_on(&c, 50);
	uint64_t last = tsc;
	is("as ever", clock_restarted(&c), 0);
	tsc -= PER_MS / 100;
	is("another processor, a little behind", clock_restarted(&c), 0);
	tsc = 12345;
	mono += HOUR;
	is("begun anew", clock_restarted(&c), last);
	is("it stands still", clock_round(&c), last);
	tsc += PER_MS;
	mono += MS;
	is("still", clock_round(&c), last);
	is("that is not forgotten", clock_restarted(&c), last);
	tsc = 12345;
	uint64_t from = last + 1000 * PER_MS, asleep = clock_now(&c);
	m.sequence = from;
	m.blind = 1;
	clock_round(&c);
	is("seen", clock_restarted(&c), 0);
	check_sorted(&c);
	CHECK(clock_ns(&c, 10000) <= clock_now(&c), "a stamp of the new TSC");
	for (unsigned i = 0; i < 50; i++) {
		uint64_t before = clock_now(&c), stamp = m.sequence;
		m.sequence += 100;
		tsc += 3 * PER_MS;
		mono += 3 * MS;
		is("the stamp of this moment", clock_round(&c), from + 100 * (i + 1));
		for (; stamp < m.sequence; stamp += 9)
			check_told(&c, stamp, before > asleep ? before : asleep);
	}
}

/* Checks a child's clock, which begins at the fork, with what was known then. */
static void check_fork(void)
{
	static struct clock c, child;
	begin(&c);
	go_on(&c, 300);
	uint64_t forked = c.pairs[(c.newest - 100) % CLOCK_PAIRS].stamp + 12345;
	clock_fork(&child, &c, forked);
	is("zero of the child", clock_ns(&child, forked), 0);
	is("not before", clock_ns(&child, forked - 5 * PER_MS), 0);
	for (int i = 0; i < 300; i++) {
		uint64_t stamp = forked + below(tsc - forked),
			 want = clock_ns(&c, stamp) - clock_ns(&c, forked);
		uint64_t got = clock_ns(&child, stamp);
		CHECK(got + 2 >= want && got <= want + 2, "%lu ns, not %lu", (long)got, (long)want);
	}
	is("its start", child.start_mono, c.start_mono + clock_ns(&c, forked));
}

int main(void)
{
	check_steady();
	check_jumps();
	check_fork();
	check_restarted();
	check_counted(1);
	check_counted(900);
	check_counted(1100);
	check_counted(10000);
	return failures != 0;
}

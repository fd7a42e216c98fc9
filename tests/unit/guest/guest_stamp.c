/* SPDX-License-Identifier: MIT
 * The guest's stamps by a counter of which a tick is longer than an event: later than the last one,
 * never below what `pending` promised, and not ahead of the time by more than a tick.
 */
#include <stdio.h>

#include "ms-record/guest/cpu.h"

/* The counter of a processor with such ticks. */
static uint64_t model_counter(void);
#undef MG_TICKS_LONG
#define MG_TICKS_LONG 1
#define mg_counter model_counter
#include "ms-record/guest/core.h"

enum { UNITS = 16, EVENTS = 10000 };

struct mg_core mg;
__thread struct mg_own mg_own;
static uint64_t event, events_a_tick;
static struct mg_session session;
static struct mg_gate gate = {.on = 1};

static uint64_t model_counter(void)
{
	return (100 + event / events_a_tick) * UNITS;
}

/* Takes many stamps, with `how` as the session's `stamps`. Returns the number of failures. */
static unsigned check(const char *name, uint64_t how, uint64_t a_tick)
{
	struct mg_ring ring = {0};
	struct mg_writer t = {.ring = &ring};
	unsigned failures = 0;
	event = 0;
	events_a_tick = a_tick;
	session = (struct mg_session){.stamps = how, .heartbeat = model_counter()};
	t.last = session.heartbeat - 1;
	for (; event < EVENTS; event++) {
		uint64_t before = t.last, stamp;
		mg_stamping(&t);
		uint64_t pending = ring.pending;
		stamp = event & 1 ? mg_stamp_or_next(&t) : mg_stamp(&t);
		mg_stamped(&t);
		failures += !pending || pending <= before || stamp < pending || stamp <= before ||
			    stamp > model_counter() + UNITS;
	}
	if (failures)
		printf("%s: %u of %u stamps are wrong\n", name, failures, (unsigned)EVENTS);
	return failures;
}

int main(void)
{
	unsigned failures = 0;
	mg.session = &session;
	mg.gate = &gate;
	failures += check("one event a tick", 0, 1);
	failures += check("three events a tick", 0, 3);
	failures += check("three events a tick, few stamps", MG_STAMPS_FEW, 3);
	failures += check("eleven events a tick", 0, 11);
	failures += check("eleven events a tick, few stamps", MG_STAMPS_FEW, 11);
	return failures != 0;
}

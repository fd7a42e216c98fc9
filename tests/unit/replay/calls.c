/* SPDX-License-Identifier: MIT
 * What sets the calls whose blocks are still live apart: each kind of fact from events made for it, with
 * the exact numbers, and nothing where there is nothing to say.
 */
#include "libcommon/replay/replay_calls.h"

#include "tests/unit/equal.h"

#include <string.h>

#define CALLS 1000u

static struct ms_call_fact facts[MS_CALL_FACTS];
static const uint32_t thread[] = {1, 2, 1, 1}, label[] = {0, 0, 3, 4};

/* Makes CALLS calls, of which `stays` tells which blocks are not freed; others are at the next call, or
 * `later`: after all calls, the last first. Returns the number of facts. */
static size_t scene(bool (*stays)(uint64_t i), uint64_t (*size)(uint64_t i),
		    uint32_t (*index)(uint64_t i), bool later, bool sampled)
{
	struct ms_calls c;
	const struct ms_call_names names = {thread, label, 4};
	struct ms_event ev = {.kind = MS_EV_ALLOC};
	ms_calls_init(&c);
	for (uint64_t i = 0; i < 2 * CALLS; i++, ev.time_ticks += 10) {
		uint64_t freed = i < CALLS ? i - 1 : 2 * CALLS - 1 - i;
		ev.kind = MS_EV_FREE;
		ev.freed = 3 * freed;
		if (i && !stays(freed) && (later ? i >= CALLS : i <= CALLS))
			ms_calls_event(&c, &ev);
		ev.kind = MS_EV_ALLOC;
		ev.number = 3 * i;
		ev.size = size(i);
		ev.thread = index(i);
		if (i < CALLS)
			ms_calls_event(&c, &ev);
	}
	size_t n = ms_calls_facts(&c, &names, sampled, facts);
	ms_calls_free(&c);
	return n;
}

static void is(size_t i, enum ms_call_kind kind, uint64_t low, uint64_t high, uint64_t live,
	       uint64_t of_live, uint64_t freed, uint64_t of_freed)
{
	const struct ms_call_fact *f = &facts[i];
	EQUAL(f->kind, kind, "fact %zu", i);
	EQUAL(f->low, low, "fact %zu", i);
	EQUAL(f->high, high, "fact %zu", i);
	EQUAL(f->live, live, "fact %zu", i);
	EQUAL(f->of_live, of_live, "fact %zu", i);
	EQUAL(f->freed, freed, "fact %zu", i);
	EQUAL(f->of_freed, of_freed, "fact %zu", i);
}

static uint64_t same(uint64_t i)
{
	return 64 + 0 * i;
}

static uint64_t four(uint64_t i)
{
	return 100 * (i * 7 / 3 % 4);
}

static uint64_t rising(uint64_t i)
{
	return i * 389 % CALLS;
}

static uint32_t first(uint64_t i)
{
	return 0 * (uint32_t)i;
}

static uint32_t any(uint64_t i)
{
	return i * 5 / 3 % 4;
}

static bool eleventh(uint64_t i)
{
	return i % 11 == 3;
}

static bool nearly(uint64_t i) /* 90 calls as eleventh, 4 others */
{
	return (i % 11 == 3 && i != 3) || i % 250 == 1;
}

static bool few(uint64_t i)
{
	return i == 17 || i == 500;
}

static bool six(uint64_t i) /* on one of four threads, which has a quarter of the calls */
{
	return i == 1 || i == 157 || i == 241 || i == 541 || i == 625 || i == 961;
}

static bool early(uint64_t i)
{
	return i < 40;
}

static bool large(uint64_t i)
{
	return rising(i) >= 900;
}

static bool of_300(uint64_t i)
{
	return four(i) == 300;
}

static bool labelled(uint64_t i)
{
	return any(i) == 2;
}

static bool named(uint64_t i)
{
	return any(i) == 1;
}

static bool both(uint64_t i)
{
	return any(i) == 1 && four(i) == 300;
}

static bool chance(uint64_t i)
{
	return (i * UINT64_C(0x9e3779b97f4a7c15) >> 40) % 7 == 0;
}

static bool none(uint64_t i)
{
	return i > CALLS;
}

static uint64_t count(bool (*f)(uint64_t i))
{
	uint64_t n = 0;
	for (uint64_t i = 0; i < CALLS; i++)
		n += f(i);
	return n;
}

int main(void)
{
	uint64_t n = count(eleventh);
	/* freed after 10 ticks; the youngest live one is call 993, 70 ticks before the last event */
	EQUAL(scene(eleventh, same, first, false, false), 2, "every 11th");
	is(0, MS_CALL_EVERY, 4, 11, n, n, 0, CALLS - n);
	is(1, MS_CALL_AGE, 70, 0, n, n, 0, CALLS - n);
	EQUAL(scene(eleventh, same, first, false, true), 1, "sampled: only the age");
	is(0, MS_CALL_AGE, 70, 0, n, n, 0, CALLS - n);
	EQUAL(scene(nearly, same, first, true, false), 1, "nearly every 11th");
	is(0, MS_CALL_EVERY, 4, 11, 90, 93, 1, CALLS - 93);
	EQUAL(scene(few, same, first, true, false), 0, "two calls are no rule");
	EQUAL(scene(six, same, any, true, false), 0, "six of one thread may be chance");
	/* the last of them is live for 19,200 ticks when call 40 is freed, which lived 10 less */
	EQUAL(scene(early, same, first, true, false), 2, "the first");
	is(0, MS_CALL_RANGE, 1, 40, 40, 40, 0, CALLS - 40);
	is(1, MS_CALL_AGE, 19200, 0, 40, 40, 0, CALLS - 40);
	EQUAL(scene(large, rising, first, true, false), 1, "large ones");
	is(0, MS_CALL_SIZE, 900, 999, 100, 100, 0, 900);
	n = count(of_300);
	EQUAL(scene(of_300, four, any, true, false), 1, "one size");
	is(0, MS_CALL_SIZE, 300, 300, n, n, 0, CALLS - n);
	n = count(labelled);
	EQUAL(scene(labelled, same, any, true, false), 1, "a label");
	is(0, MS_CALL_LABEL, 3, 3, n, n, 0, CALLS - n);
	n = count(named);
	EQUAL(scene(named, same, any, true, false), 1, "a thread");
	is(0, MS_CALL_THREAD, 2, 2, n, n, 0, CALLS - n);
	n = count(both);
	uint64_t there = count(named);
	EQUAL(scene(both, four, any, true, false), 3, "thread and size");
	is(0, MS_CALL_THREAD, 2, 2, n, n, there - n, CALLS - n);
	is(1, MS_CALL_SIZE, 300, 300, n, n, 0, there - n);
	is(2, MS_CALL_ALL, 0, 0, n, n, 0, CALLS - n);
	EQUAL(scene(chance, same, first, true, false), 0, "chance");
	EQUAL(scene(chance, four, any, true, false), 0, "chance");
	EQUAL(scene(none, four, any, true, false), 0, "all are freed");
	return failures != 0;
}

/* SPDX-License-Identifier: MIT
 * The table of rules under every order of its threads that differs in a few places: whatever is
 * found is the rule of that address in that epoch, what is in a slot belongs together, and a table
 * that is full is left once.
 *
 * The code is the guest's; tables have 8, 16, 32 and 64 slots, of which two are looked at.
 */
#include "interleave.h"

#include "ms-record/guest/core.h"

#undef MG_RULE_PROBES
#define MG_RULE_PROBES 2u
#define mg_swap_pair il_swap_pair
#include "ms-record/guest/rules.c"
#include "ms-record/guest/step.h"

enum { LOOKS = 4, FIRST = 8, SLOTS = FIRST * 15, FULL = FIRST / 8 * 5 };
#define LATER 65537u /* an epoch that keys do not tell from the first */

struct mg_core mg;
static struct mg_rule_slot *slots;

struct look {
	uint64_t ip;
	uint32_t epoch; /* 0 = no more */
};
static struct scenario {
	const char *name;
	unsigned bound;
	unsigned filled; /* slots of the first table, at its end */
	struct look look[IL_THREADS][LOOKS];
} now;
static uint32_t epoch_of[IL_THREADS + 1];
static uint64_t filler[FULL];
static unsigned derived;

/* ---- what the code calls ---- */

static uint64_t rule_for(uint64_t ip, uint32_t epoch)
{
	return MG_RULE_FROM_SP | (ip & 0xffff) << 32 | (uint64_t)epoch % 251 << 56;
}

uint64_t mg_eh_frame_rule(const struct mg_unwind_info *info, uint64_t ip)
{
	(void)info;
	derived++;
	return rule_for(ip, epoch_of[il.now ? il_self() : IL_THREADS]);
}

uint64_t mg_flow_rule(const struct mg_unwind_info *info, uint64_t at, bool exact)
{
	(void)info;
	(void)at;
	(void)exact;
	return MG_RULE_NONE;
}

static bool find_info(uint64_t ip, struct mg_unwind_info *info)
{
	*info = (struct mg_unwind_info){.start = ip};
	return true;
}

uint64_t mg_rule_outside(uint64_t ip)
{
	return ip;
}

void mg_python_look(void)
{
}

bool mg_find_stack(uint64_t sp, struct mg_range *stack)
{
	return stack && sp;
}

bool mg_own_stack(uint64_t sp, struct mg_range *stack)
{
	return stack && sp;
}

/* ---- the threads ---- */

static bool is_rule(uint64_t rule, uint64_t ip, uint32_t epoch)
{
	return (rule & ~(UINT64_C(0xff) << 24)) == rule_for(ip, epoch);
}

static void look_up(void)
{
	for (const struct look *l = now.look[il_self()]; l->epoch; l++) {
		epoch_of[il_self()] = l->epoch;
		uint64_t rule = rule_of(l->ip, l->epoch);
		if (!is_rule(rule, l->ip, l->epoch))
			il_fail("%#lx in epoch %u has the rule %#lx", (unsigned long)l->ip,
				l->epoch, (unsigned long)rule);
	}
}

/* ---- a run ---- */

static void begin(void)
{
	struct mg_rule_slot *at = slots;
	memset(slots, 0, SLOTS * sizeof *slots);
	for (uint32_t i = 0; i < MG_RULE_TABLES; i++) {
		mg.tables[i] = (struct mg_rule_table){.slots = at, .shift = 61 - i};
		at += FIRST << i;
	}
	mg.table = &mg.tables[0];
	mg.closing = 0;
	mg.rule_overflow = 0;
	epoch_of[IL_THREADS] = 1;
	for (unsigned i = 0; i < now.filled; i++)
		rule_of(filler[i], 1);
}

static bool is_pair(const struct mg_rule_slot *slot, uint64_t ip, uint32_t epoch)
{
	uint64_t key = MG_RULE_KEY(ip, epoch);
	return slot->key == key && is_rule(slot->rule, ip, epoch) &&
	       (slot->rule >> 24 & 0xff) == MG_RULE_CHECK(MG_RULE_HASH(key), epoch);
}

/* Does the slot hold a rule of its key, by one of the looks? */
static bool belongs(const struct mg_rule_slot *slot)
{
	for (unsigned t = 0; t < IL_THREADS; t++)
		for (const struct look *l = now.look[t]; l->epoch; l++)
			if (is_pair(slot, l->ip, l->epoch))
				return true;
	for (unsigned i = 0; i < now.filled; i++)
		if (is_pair(slot, filler[i], 1))
			return true;
	return false;
}

static const char *end(void)
{
	for (uint32_t i = 0; i < MG_RULE_TABLES; i++) {
		const struct mg_rule_table *t = &mg.tables[i];
		uint32_t used = 0;
		for (uint32_t k = 0; k < (uint32_t)FIRST << i; k++) {
			used += t->slots[k].key != 0;
			if (t->slots[k].key && !belongs(&t->slots[k]))
				return "key and rule of a slot do not belong together";
		}
		if (used != t->used)
			return "a table does not hold what was counted";
		if (used && t > mg.table)
			return "a table is in use that nobody looks into";
	}
	return NULL;
}

static bool explore(const struct scenario *what, unsigned more)
{
	static const char *const names[IL_THREADS] = {"thread 0", "thread 1", "thread 2",
						      "thread 3"};
	now = *what;
	now.bound += more;
	il_share(slots, SLOTS * sizeof *slots, false);
	for (unsigned i = 0; i < MG_RULE_TABLES; i++)
		il_share(&mg.tables[i].used, sizeof mg.tables[i].used, false);
	il_share(&mg.table, sizeof mg.table, false);
	il_share(&mg.closing, sizeof mg.closing, false);
	il_share(&mg.rule_overflow, sizeof mg.rule_overflow, false);
	for (unsigned i = 0; i < IL_THREADS && now.look[i][0].epoch; i++)
		il_thread(names[i], look_up);
	unsigned long runs = il_explore(now.name, now.bound, begin, end);
	printf("%s: %lu runs with up to %u changes, %u derived\n", now.name, runs, now.bound,
	       derived);
	return !il.failed;
}

/* The first address from `ip` on whose key begins at that slot of the first table. */
static uint64_t at_slot(uint64_t ip, uint32_t epoch, uint64_t slot)
{
	while (MG_RULE_HASH(MG_RULE_KEY(ip, epoch)) >> 61 != slot)
		ip++;
	return ip;
}

static uint64_t check_of(uint64_t ip, uint32_t epoch)
{
	return MG_RULE_CHECK(MG_RULE_HASH(MG_RULE_KEY(ip, epoch)), epoch);
}

int main(int argc, char **argv)
{
	uint64_t a = at_slot(0x1000, 1, 1), b = at_slot(0x2000, 1, 1), c = at_slot(0x3000, 1, 2),
		 d = at_slot(0x4000, 2, 1), e = at_slot(0x5000, 2, 1);
	while (check_of(d, 2) != check_of(a, 1)) /* of the two the key alone tells */
		d = at_slot(d + 1, 2, 1);
	while (check_of(e, 2) == check_of(a, 1))
		e = at_slot(e + 1, 2, 1);
	const struct scenario all[] = {
		{"the same keys", 3, 2, {{{a, 1}, {b, 1}}, {{b, 1}, {a, 1}}, {{a, 1}, {b, 1}}}},
		{"a table that is full", 2, FULL - 1, {{{a, 1}, {b, 1}, {c, 1}}, {{c, 1}, {a, 1}}}},
		{"a table that is left", 3, FULL, {{{a, 1}, {a, 1}}, {{d, 2}}}},
		{"another epoch", 3, 0, {{{a, 1}, {a, 1}}, {{d, 2}, {d, 2}}, {{d, 2}, {e, 2}}}},
		{"keys that come again", 4, 0, {{{a, 1}, {a, 1}}, {{e, 2}, {a, LATER}}}},
	};
	for (unsigned i = 0; i < FULL; i++)
		filler[i] = at_slot(0x6000 + i * 0x1000, 1, FIRST - FULL + i);
	bool good = true;
	slots = calloc(SLOTS, sizeof *slots);
	mg.backend.find_unwind_info = find_info;
	mg.python = true;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		good &= explore(&all[i], argc > 1 ? (unsigned)atoi(argv[1]) : 0);
	return !good;
}

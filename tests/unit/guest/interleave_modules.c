/* SPDX-License-Identifier: MIT
 * Modules that are closed while others' stacks are taken, under every order of the threads that
 * differs in a few places: no rule is kept that was read from a module's memory while, or after,
 * that was unmapped.
 *
 * The code is the guest's; a module's memory is a word, which the kernel changes.
 */
#include "interleave.h"

#include "ms-record/guest/core.h"

#define mg_swap_pair il_swap_pair
#include "ms-record/guest/rules.c"
#include "ms-record/guest/step.h"

#include "ms-record/guest/preload/modules.c"

enum { SLOTS = 8, ADDRESS = 0x1000 };
enum { THERE = 1, GONE = 2 }; /* a module's memory */

struct mg_core mg;
struct mg_real mg_real;

/* Holds what the threads share. */
static struct memory {
	struct mg_session session;
	struct mg_rule_slot slots[SLOTS];
	uint64_t module;
} * memory;

static unsigned kept; /* runs in which a rule was kept */

/* ---- what the guest's code calls ---- */

uint64_t mg_eh_frame_rule(const struct mg_unwind_info *info, uint64_t ip)
{
	(void)info, (void)ip;
	return MG_RULE_FROM_SP | __atomic_load_n(&memory->module, __ATOMIC_RELAXED) << 32;
}

uint64_t mg_flow_rule(const struct mg_unwind_info *info, uint64_t at, bool exact)
{
	(void)info, (void)at, (void)exact;
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

bool mg_find_stack(uint64_t sp, struct mg_range *stack)
{
	return stack && sp;
}

bool mg_own_stack(uint64_t sp, struct mg_range *stack)
{
	return stack && sp;
}

bool mg_filtered(void)
{
	return true;
}

void mg_wake_recorder(void)
{
}

bool mg_nobody_records(const struct mg_session *s)
{
	return s;
}

uint64_t mg_ticks(void)
{
	return 0;
}

void mg_futex(const uint32_t *word, uint32_t op, uint32_t value, uint64_t ns)
{
	(void)word, (void)op, (void)value, (void)ns;
}

size_t mg_append(char *to, size_t room, size_t at, const char *text)
{
	(void)to, (void)room, (void)text;
	return at;
}

bool mg_starts(const char *text, const char *with)
{
	return text == with;
}

/* ---- the threads ---- */

/* Unmapping interrupts all processors that may read the memory, so it is a fence for them. */
static void close_one(void)
{
	mg_modules_before_close();
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&memory->module, GONE, __ATOMIC_RELAXED);
}

static void look_up(void)
{
	uint32_t epoch = __atomic_load_n(&memory->session.epoch, __ATOMIC_ACQUIRE);
	rule_of(ADDRESS, epoch);
}

/* ---- a run ---- */

static void begin(void)
{
	memset(memory, 0, sizeof *memory);
	memory->session.epoch = 1;
	memory->module = THERE;
	mg.tables[0] = (struct mg_rule_table){.slots = memory->slots, .shift = 61};
	mg.table = &mg.tables[0];
	mg.closing = 0;
}

static const char *end(void)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		kept += memory->slots[i].key != 0;
		if (memory->slots[i].key && MG_RULE_CFA_OFFSET(memory->slots[i].rule) != THERE)
			return "a rule is kept that was read of unmapped memory";
	}
	return NULL;
}

int main(int argc, char **argv)
{
	memory = calloc(1, sizeof *memory);
	mg.session = &memory->session;
	mg.backend.find_unwind_info = find_info;
	il_share(&memory->session.epoch, sizeof memory->session.epoch, false);
	il_share(memory->slots, sizeof memory->slots, false);
	il_share(&memory->module, sizeof memory->module, false);
	il_share(&mg.tables[0].used, sizeof mg.tables[0].used, false);
	il_share(&mg.closing, sizeof mg.closing, false);
	il_thread("closing", close_one);
	il_thread("guest 1", look_up);
	il_thread("guest 2", look_up);
	unsigned bound = 3 + (argc > 1 ? (unsigned)atoi(argv[1]) : 0);
	unsigned long runs = il_explore("a module is closed", bound, begin, end);
	printf("a module is closed: %lu runs with up to %u changes, %u rules kept\n", runs, bound,
	       kept);
	free(memory);
	return il.failed || !kept;
}

/* SPDX-License-Identifier: MIT
 * Holds the rules that all threads share, by ip: how to step to the caller.
 *
 *   tables[0]    tables[1]    tables[2]    tables[3]
 *   2^12 slots   2^14         2^16         2^18         mg.table = the one in use
 *
 *   slot = { key: MG_CODE_KEY of ip | epoch (16 bits) << MG_CODE_BITS,  rule }
 *
 * A reader never waits: it reads MG_RULE_PROBES slots in a row and stops at an empty one.
 *
 *  T1 A slot is written only by a 16-byte compare-and-swap from what was seen there, so key and
 *     rule belong together.
 *
 *  T2 A slot that was taken never becomes empty again, so no key is hidden behind a hole. It may be
 *     reused for a key of the current epoch once its own epoch has passed: then a reader that
 *     read the key and not yet the rule sees the key change (it reads the key twice). It does not
 *     change back: a thread that lags behind reuses no slot of an epoch that it has not reached.
 *     After the epochs' 16 bits have wrapped, eight bits of the rule check the key.
 *
 *  T3 A rule is a function of the key as long as the epoch lasts: dlclose begins a new one before
 *     and after, and while it runs nothing is kept (mg.closing). Two threads that race to add the
 *     same key add the same rule.
 *
 *  T4 A table five eighths full is left for the next larger one, which is in use from then on
 *     while one thread copies what the smaller one holds; what is not there yet is derived. The
 *     last one takes what finds room; the rest is derived each time, slower and not wrong, and
 *     counted.
 */
#include "core.h"

/* maximum number of epochs (module changes) by which a thread in a hook may be late */
#define LATE 256u

void mg_rules_init(void *memory)
{
	struct mg_rule_slot *at = memory;
	for (uint32_t i = 0; i < MG_RULE_TABLES; i++) {
		uint32_t bits = MG_RULE_BITS_FIRST + i * MG_RULE_BITS_STEP;
		mg.tables[i] = (struct mg_rule_table){.slots = at, .shift = 64 - bits};
		at += (size_t)1 << bits;
	}
	mg.table = &mg.tables[0];
}

uint32_t mg_frames_of(uint64_t start)
{
	const struct mg_session *s = mg.head;
	const struct mg_frames *f = (const void *)((const char *)s + s->frames_offset);
	uint32_t n = __atomic_load_n(&s->frames_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < n && i < MG_LISTS_MAX; i++)
		if (f[i].start == start)
			return i + 1;
	return 0;
}

void mg_unwind_info_frames(struct mg_unwind_info *info, uint32_t frames)
{
	const struct mg_session *s = mg.head;
	if (!frames || frames > MG_LISTS_MAX)
		return;
	const struct mg_frames *f = (const void *)((const char *)s + s->frames_offset);
	f += frames - 1;
	info->frames = (const void *)((const char *)s + f->offset);
	info->frame_count = f->count;
	info->low = f->low;
	info->high = f->high;
}

uint64_t mg_rule_derive(uint64_t ip)
{
	struct mg_unwind_info info;
	if ((ip & ~MG_EXACT_IP) >= MG_ADDRESS_END)
		return MG_RULE_NO_CODE;
	if (!mg.backend.find_unwind_info(ip & ~MG_EXACT_IP, &info))
		return mg_rule_outside(ip);
	uint64_t rule = mg_eh_frame_rule(&info, ip);
	/* CFI gave a rule, or the address does not follow a call */
	if (MG_RULE_TYPE(rule) != MG_RULE_NONE || MG_RULE_CFA_OFFSET(rule))
		return rule;
	return mg_flow_rule(&info, ip & ~MG_EXACT_IP, ip & MG_EXACT_IP);
}

/* Puts a rule into the table. Returns false if the table is too full. */
static bool put(struct mg_rule_table *t, struct mg_rule_slot new, uint32_t epoch)
{
	uint64_t h = MG_RULE_HASH(new.key) >> t->shift;
	uint64_t mask = ((uint64_t)1 << (64 - t->shift)) - 1;
	for (uint32_t i = 0; i < MG_RULE_PROBES; i++) {
		struct mg_rule_slot *slot = &t->slots[(h + i) & mask];
		struct mg_rule_slot old = {.key = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE)};
		old.rule = __atomic_load_n(&slot->rule, __ATOMIC_ACQUIRE);
		if (old.key == new.key)
			return true;
		if (old.key && (uint16_t)((old.key >> MG_CODE_BITS) - epoch) < LATE)
			continue; /* the table's slot holds a rule of this epoch or a later one
				     (T2) */
		if (!mg_swap_pair(slot, (const uint64_t[2]){old.key, old.rule},
				  (const uint64_t[2]){new.key, new.rule}))
			continue; /* another thread took the table's slot; try the next one */
		return old.key ||
		       __atomic_add_fetch(&t->used, 1, __ATOMIC_RELAXED) <= (mask + 1) / 8 * 5;
	}
	__atomic_fetch_add(&mg.rule_overflow, 1, __ATOMIC_RELAXED);
	return false;
}

/* Switches to the next larger table, and copies the valid rules of table `t` into it (T4). */
static void grow(struct mg_rule_table *t, uint32_t epoch)
{
	struct mg_rule_table *next = t + 1, *now = t;
	uint64_t slots = (uint64_t)1 << (64 - t->shift);
	if (next == mg.tables + MG_RULE_TABLES ||
	    !__atomic_compare_exchange_n(&mg.table, &now, next, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	for (uint64_t i = 0; i < slots; i++) {
		struct mg_rule_slot s = {
			.key = __atomic_load_n(&t->slots[i].key, __ATOMIC_ACQUIRE)};
		s.rule = __atomic_load_n(&t->slots[i].rule, __ATOMIC_ACQUIRE);
		if (s.key && s.key == __atomic_load_n(&t->slots[i].key, __ATOMIC_ACQUIRE) &&
		    (s.key >> MG_CODE_BITS & 0xffff) == (epoch & 0xffff) &&
		    (s.rule >> 24 & 0xff) == MG_RULE_CHECK(MG_RULE_HASH(s.key), epoch))
			put(next, s, epoch);
	}
}

static void keep(struct mg_rule_slot new, uint32_t epoch)
{
	struct mg_rule_table *t = __atomic_load_n(&mg.table, __ATOMIC_ACQUIRE);
	if (!put(t, new, epoch))
		grow(t, epoch);
}

uint64_t mg_rule_miss(uint64_t ip, uint32_t epoch)
{
	uint64_t rule = mg_rule_derive(ip);
	if (MG_RULE_TYPE(rule) >= MG_RULE_UNKNOWN && MG_RULE_TYPE(rule) < MG_RULE_FLOW_BP)
		return rule;
	uint64_t key = MG_RULE_KEY(ip, epoch);
	rule |= MG_RULE_CHECK(MG_RULE_HASH(key), epoch) << 24;
	if (mg_may_keep())
		keep((struct mg_rule_slot){.key = key, .rule = rule}, epoch);
	return rule;
}

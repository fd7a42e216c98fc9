/* SPDX-License-Identifier: MIT
 * aarch64's patcher, on any machine: each kind of first instruction is executed by a small model of
 * the processor, at its place and through the jump and the slot, near and far from its target.
 * Registers, flags and the place where the function goes on have to be the same. Words of
 * instructions are as GNU as writes them.
 */
#undef MG_CPU_LAYOUT_H
#define MG_CPU_LAYOUT_H "aarch64_layout.h"
#include <string.h>

#include "tests/unit/check.h"
#include "ms-record/attach/aarch64_patch.c"
#include "ms-record/attach/patch.c"

#define ENTRY UINT64_C(0xffff80012340)
#define IMAGE UINT64_C(0xaaaa00001000)
#define HOOK UINT64_C(0xaaaa00002000)
#define NOP UINT32_C(0xd503201f)
#define PACIASP UINT32_C(0xd503233f)
#define PACIBSP UINT32_C(0xd503237f)

/* ---- the model ---- */

struct model {
	uint64_t x[32], pc;
	unsigned flags;     /* n z c v */
	unsigned v;         /* vector register that was loaded, + 1 */
	uint64_t v_from;    /* and where from */
	uint32_t others[4]; /* instructions that the model does not know */
	unsigned other_count;
	unsigned signs; /* number of times that x30 was signed */
	const uint8_t *entry, *slot;
	uint64_t slot_at;
};

/* The memory that programs load from holds its own address. */
static uint64_t load(const struct model *m, uint64_t at)
{
	uint64_t value = at * 3;
	if (at >= m->slot_at && at + 8 <= m->slot_at + MG_SLOT_BYTES)
		memcpy(&value, m->slot + (at - m->slot_at), sizeof value);
	return value;
}

static uint32_t fetch(const struct model *m)
{
	const uint8_t *from =
		m->pc - ENTRY < 16 ? m->entry + (m->pc - ENTRY) : m->slot + (m->pc - m->slot_at);
	uint32_t word;
	memcpy(&word, from, sizeof word);
	return word;
}

static int64_t bits(uint32_t word, unsigned from, unsigned n)
{
	return (int64_t)((uint64_t)word << (64 - n - from)) >> (64 - n);
}

static bool holds(const struct model *m, unsigned condition)
{
	bool n = m->flags & 8, z = m->flags & 4, c = m->flags & 2, v = m->flags & 1;
	const bool is[] = {z, c, n, v, c && !z, n == v, n == v && !z, true};
	return is[condition >> 1] != ((condition & 1) && condition != 15);
}

static void put_x(struct model *m, unsigned reg, uint64_t value)
{
	if (reg < 31)
		m->x[reg] = value;
}

/* Executes one instruction. */
static void step(struct model *m)
{
	uint32_t w = fetch(m), reg = w & 31;
	uint64_t at = m->pc, next = at + 4, value = reg < 31 ? m->x[reg] : 0;
	if (w >> 26 == 0x05 || w >> 26 == 0x25) {
		next = at + (uint64_t)(bits(w, 0, 26) * 4);
		if (w >> 31)
			m->x[30] = at + 4;
	} else if (w >> 24 == 0x54) {
		if (holds(m, w & 15))
			next = at + (uint64_t)(bits(w, 5, 19) * 4);
	} else if ((w >> 24 & 0x7e) == 0x34) {
		value = w >> 31 ? value : (uint32_t)value;
		if ((value != 0) == (w >> 24 & 1))
			next = at + (uint64_t)(bits(w, 5, 19) * 4);
	} else if ((w >> 24 & 0x7e) == 0x36) {
		if ((value >> ((w >> 31) << 5 | (w >> 19 & 31)) & 1) == (w >> 24 & 1))
			next = at + (uint64_t)(bits(w, 5, 14) * 4);
	} else if ((w >> 24 & 0x1f) == 0x10) {
		int64_t by = bits(w, 5, 19) * 4 + (w >> 29 & 3);
		put_x(m, reg,
		      w >> 31 ? (at & ~UINT64_C(4095)) + (uint64_t)(by * 4096) : at + (uint64_t)by);
	} else if ((w >> 24 & 0x3b) == 0x18 && w >> 26 & 1) {
		m->v = reg + 1;
		m->v_from = at + (uint64_t)(bits(w, 5, 19) * 4) + (w >> 30) * UINT64_C(1000000);
	} else if ((w >> 24 & 0x3b) == 0x18) {
		value = load(m, at + (uint64_t)(bits(w, 5, 19) * 4));
		if (w >> 30 != 3)
			put_x(m, reg,
			      w >> 30 == 0   ? (uint32_t)value
			      : w >> 30 == 1 ? value
					     : (uint64_t)(int64_t)(int32_t)value);
	} else if (w >> 10 == 0xf9400000 >> 10 || (w & 0xfffffc00) == 0xf9400000) {
		put_x(m, reg, load(m, m->x[w >> 5 & 31]));
	} else if ((w & 0xfffffc00) == 0xb9400000) {
		put_x(m, reg, (uint32_t)load(m, m->x[w >> 5 & 31]));
	} else if ((w & 0xfffffc00) == 0xb9800000) {
		put_x(m, reg, (uint64_t)(int64_t)(int32_t)load(m, m->x[w >> 5 & 31]));
	} else if ((w & 0xfffffc00) == 0xbd400000 || (w & 0xfffffc00) == 0xfd400000 ||
		   (w & 0xfffffc00) == 0x3dc00000) {
		unsigned size = w >> 24 == 0xbd ? 0 : w >> 24 == 0xfd ? 1 : 2;
		m->v = reg + 1;
		m->v_from = m->x[w >> 5 & 31] + size * UINT64_C(1000000);
	} else if ((w & 0xfffffc1f) == 0xd65f0000 || (w & 0xfffffc1f) == 0xd61f0000) {
		next = m->x[w >> 5 & 31];
	} else if (w == PACIASP || w == PACIBSP) {
		m->signs++;
	} else if ((w & 0xffffff3f) != 0xd503241f && w != NOP) {
		m->others[m->other_count++ & 3] = w;
	}
	m->pc = next;
}

static struct model begin(const uint8_t *entry, const uint8_t *slot, uint64_t slot_at,
			  unsigned flags, uint64_t x0)
{
	struct model m = {
		.pc = ENTRY, .flags = flags, .entry = entry, .slot = slot, .slot_at = slot_at};
	for (unsigned i = 0; i < 31; i++)
		m.x[i] = UINT64_C(0x1111111100000000) * (i % 8) + i;
	m.x[0] = x0;
	return m;
}

static bool in_slot(const struct model *m)
{
	return m->pc - m->slot_at < MG_SLOT_BYTES;
}

/* ---- each kind ---- */

static void compare(const char *name, const struct patch *p, const uint8_t *code,
		    const uint8_t *slot, unsigned flags, uint64_t x0)
{
	uint8_t patched[16];
	memcpy(patched, code, sizeof patched);
	memcpy(patched, p->hook.patched, p->hook.bytes);
	struct model a = begin(code, slot, p->hook.slot, flags, x0), b;
	for (uint32_t i = 0; i < p->hook.bytes; i += 4)
		if (a.pc == ENTRY + i)
			step(&a);
	b = begin(patched, slot, p->hook.slot, flags, x0);
	for (uint32_t i = 0; i < p->hook.bytes && !in_slot(&b); i += 4)
		step(&b);
	CHECK(b.pc == p->hook.slot, "%s: the entry jumps to the slot", name);
	CHECK(b.x[30] == 30 + UINT64_C(0x1111111100000000) * 6 && !b.signs,
	      "%s: the guest finds the return address as it is", name);
	for (int i = 0; i < 3; i++)
		step(&b);
	CHECK(b.pc == IMAGE && b.x[17] == p->hook.slot + 16, "%s: the image is called", name);
	CHECK(load(&b, b.x[17] + 8) == p->hook.slot + MG_SLOT_DISPLACED &&
		      load(&b, b.x[17] + 16) == HOOK,
	      "%s: the image learns what is displaced, and the hook", name);
	b.pc = p->hook.slot + MG_SLOT_DISPLACED;
	for (int i = 0; i < 12 && in_slot(&b); i++)
		step(&b);
	b.x[16] = a.x[16];
	b.x[17] = a.x[17];
	CHECK(a.pc == b.pc, "%s: it goes on at %llx, not at %llx (flags %x, x0 %llx)", name,
	      (unsigned long long)b.pc, (unsigned long long)a.pc, flags, (unsigned long long)x0);
	CHECK(!memcmp(a.x, b.x, sizeof a.x), "%s: the registers are the same", name);
	CHECK(a.v == b.v && a.v_from == b.v_from && a.signs == b.signs,
	      "%s: vector registers and signatures are the same", name);
	CHECK(a.other_count == b.other_count && !memcmp(a.others, b.others, sizeof a.others),
	      "%s: other instructions are executed as they are", name);
}

static bool plan(struct patch *p, uint8_t code[16], uint32_t first, uint32_t second,
		 uint64_t slot_at)
{
	const uint32_t words[] = {first, second, 0xaa0103e0, 0xd65f03c0};
	struct ms_err ignored = {0};
	memcpy(code, words, 16);
	memset(p, 0, sizeof *p);
	return !patch_plan(p, ENTRY, code, 16, 16, slot_at, &ignored);
}

static void test_kinds(void)
{
	static const struct {
		const char *name;
		uint32_t word;
	} all[] = {
		{"stp x29, x30, [sp, #-48]!", 0xa9bd7bfd},
		{"tst x5, #0xfff", 0xf2402cbf},
		{"ret", 0xd65f03c0},
		{"br x3", 0xd61f0060},
		{"b +8192", 0x14000800},
		{"b -128M", 0x16000000},
		{"bl +4096", 0x94000400},
		{"bl -128M", 0x96000000},
		{"cbz x0, +272", 0xb4000880},
		{"cbnz w0, -64", 0x35fffe00},
		{"tbz x0, #33, +32", 0xb6080100},
		{"tbnz w0, #0, -32764", 0x37040020},
		{"b.eq +16", 0x54000080},
		{"b.hi -1M", 0x54800008},
		{"b.lt +1M", 0x547fffeb},
		{"adr x3, -1", 0x70ffffe3},
		{"adrp x7, -4G", 0x90800007},
		{"adrp x2, +4 pages", 0x90000022},
		{"ldr x1, +64", 0x58000201},
		{"ldr w1, -64", 0x18fffe01},
		{"ldrsw x1, +1M", 0x987fffe1},
		{"ldr x17, +64", 0x58000211},
		{"ldr s2, +64", 0x1c000202},
		{"ldr d3, +64", 0x5c000203},
		{"ldr q4, +64", 0x9c000204},
		{"prfm pldl1keep, +64", 0xd8000200},
		{"ldr xzr, +64", 0x5800021f},
		{"nop", NOP},
	};
	static const uint32_t heads[] = {0, BTI_C, 0xd50324df, PACIASP, PACIBSP};
	const uint64_t places[] = {ENTRY + (INT64_C(120) << 20), ENTRY - (INT64_C(120) << 20),
				   ENTRY + (INT64_C(3) << 20)};
	for (size_t i = 0; i < 3 * 5 * sizeof all / sizeof *all; i++) {
		uint32_t head = heads[i % 5], word = all[i / 15].word;
		uint64_t at = places[i / 5 % 3] & ~UINT64_C(127);
		const char *name = all[i / 15].name;
		uint8_t code[16], slot[MG_SLOT_BYTES];
		struct patch p;
		bool good = plan(&p, code, head ? head : word, head ? word : NOP, at);
		CHECK(good, "%s can be hooked", name);
		if (!good)
			continue;
		CHECK(p.hook.bytes == (head ? 8u : 4u) && patch_may_wait(&p.hook) == !head,
		      "%s: the jump's size", name);
		patch_slot(&p, IMAGE, HOOK, slot);
		for (unsigned flags = 0; flags < 16; flags++)
			compare(name, &p, code, slot, flags, flags & 1 ? UINT64_C(0x200000001) : 0);
		CHECK(patch_target(ENTRY, p.hook.patched) == (head ? 0 : at) || head,
		      "%s: the jump's target", name);
		if (head)
			CHECK(patch_target(ENTRY, p.hook.patched) == at, "%s: behind a pad", name);
	}
}

/* Instructions of each kind that depends on its address, with any operands. */
static void test_operands(void)
{
	static const uint32_t kinds[][2] = {{0x14000000, 0x83ffffff}, {0x54000000, 0x00ffffef},
					    {0x34000000, 0x81ffffff}, {0x36000000, 0x81ffffff},
					    {0x10000000, 0xe0ffffff}, {0x18000000, 0xc0ffffff},
					    {0x1c000000, 0x40ffffff}, {0xd61f0000, 0x004003e0}};
	enum { KINDS = sizeof kinds / sizeof *kinds, ROUNDS = 100000 };
	const uint64_t at = (ENTRY + (INT64_C(120) << 20)) & ~UINT64_C(127);
	uint64_t random = 46;
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint8_t code[16], slot[MG_SLOT_BYTES];
		struct patch p;
		char name[32];
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		uint32_t any = (uint32_t)(random >> 32);
		uint32_t word = kinds[i % KINDS][0] | (any & kinds[i % KINDS][1]);
		unsigned first = word & 31, second = word >> 5 & 31;
		/* x16 and x17 are not read at an entry; x31 is no address; blr is refused */
		if (first / 2 == 8 || (is_by_register(word) && (second / 2 == 8 || second == 31)))
			continue;
		snprintf(name, sizeof name, "%08x", word);
		CHECK(plan(&p, code, i & 64 ? PACIASP : word, i & 64 ? word : NOP, at) ||
			      (is_by_register(word) && links(word)) || p.jumps_back,
		      "%s can be hooked", name);
		if (!p.hook.patched[3])
			continue;
		patch_slot(&p, IMAGE, HOOK, slot);
		compare(name, &p, code, slot, any >> 28, any & 8 ? random : 0);
	}
}

static void test_moved(void)
{
	struct patch p;
	uint8_t code[16];
	plan(&p, code, PACIASP, 0xa9bd7bfd, ENTRY + 8192);
	CHECK(patch_moved(&p, ENTRY) == ENTRY, "nothing was executed");
	CHECK(patch_moved(&p, ENTRY + 4) == ENTRY + 8192 + MG_SLOT_DISPLACED + 4,
	      "behind paciasp it goes on behind paciasp");
	CHECK(patch_left(&p.hook, ENTRY + 4) == ENTRY + 8192, "behind bti it goes to the slot");
	CHECK(patch_left(&p.hook, ENTRY) == ENTRY && patch_left(&p.hook, ENTRY + 8) == ENTRY + 8,
	      "others stay");
	CHECK(!memcmp(p.hook.patched, &(uint32_t){BTI_C}, 4), "paciasp leaves a bti");
	plan(&p, code, 0xa9bd7bfd, NOP, ENTRY + 8192);
	CHECK(patch_moved(&p, ENTRY + 4) == ENTRY + 4, "one instruction moves nobody");
	uint8_t now[MG_DISPLACED_MAX];
	memcpy(now, p.hook.original, sizeof now);
	CHECK(patch_state(&p.hook, now) == PATCH_ORIGINAL, "original");
	memcpy(now, p.hook.patched, sizeof now);
	CHECK(patch_state(&p.hook, now) == PATCH_JUMPS, "patched");
	memcpy(now, patch_wait, MG_JUMP_FIRST);
	CHECK(patch_state(&p.hook, now) == PATCH_WAITS, "in between");
}

static void test_refusals(void)
{
	struct patch p;
	struct ms_err err = {0};
	uint8_t code[16];
	static const uint32_t bad[] = {0xd63f0060, 0xd73f0861, 0xd4000001, 0xd4200000, 0x00000000};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK(!plan(&p, code, bad[i], NOP, ENTRY + 8192), "%08x is refused", bad[i]);
	CHECK(!plan(&p, code, NOP, NOP, ENTRY + (INT64_C(130) << 20)), "too far above");
	CHECK(!plan(&p, code, NOP, NOP, ENTRY - (INT64_C(130) << 20)), "too far below");
	CHECK(!plan(&p, code, BTI_C, 0x35ffffe0 | 1 << 5, ENTRY + 8192) || p.hook.bytes == 8,
	      "a loop inside");
	const uint32_t loop[] = {PACIASP, NOP, NOP, 0x54ffffc0};
	CHECK(patch_plan(&p, ENTRY, (const uint8_t *)loop, 16, 16, ENTRY + 8192, &err),
	      "b.eq to the second instruction");
	CHECK(patch_plan(&p, ENTRY, (const uint8_t *)loop, 16, 4, ENTRY + 8192, &err),
	      "a landing pad alone");
}

/* ---- branches ---- */

static struct {
	uint64_t to;
	bool slot;
} found[8];
static unsigned found_count;

static void take(void *unused, uint64_t to, bool slot)
{
	(void)unused;
	found[found_count % 8].to = to;
	found[found_count++ % 8].slot = slot;
}

static void test_branches(void)
{
	/* an entry of a linkage table, then a call, a condition and a jump */
	static const uint32_t code[] = {0x90000090, 0xf9420611, 0x91103210, 0xd61f0220,
					0x94000004, 0xb4000040, 0x14000400};
	const uint64_t at = UINT64_C(0x10000);
	found_count = 0;
	CHECK(patch_branches((const uint8_t *)code, sizeof code, at, true, take, NULL) &&
		      found_count == 1 && found[0].slot && found[0].to == at + 0x10000 + 0x408,
	      "the pointer of a linkage table's entry");
	found_count = 0;
	patch_branches((const uint8_t *)code, sizeof code, at, false, take, NULL);
	CHECK(found_count == 4 && found[1].to == at + 32 && found[2].to == at + 28 &&
		      found[3].to == at + 24 + 4096 && !found[3].slot,
	      "a call, a condition, a jump");
	static const uint32_t alone = 0x17ffffff, marked[] = {BTI_C, 0x14000002};
	CHECK(patch_leads(at, (const uint8_t *)&alone, 4) == at - 4, "a jump is all");
	CHECK(patch_leads(at, (const uint8_t *)marked, 8) == at + 12, "behind a landing pad");
	CHECK(!patch_leads(at, (const uint8_t *)code, 8), "more than a jump");
}

int main(void)
{
	test_kinds();
	test_operands();
	test_moved();
	test_refusals();
	test_branches();
	return failures != 0;
}

/* SPDX-License-Identifier: MIT
 * aarch64: replaces a function's entry by a jump, and finds the targets of its branches.
 *
 * One instruction is displaced. If it depends on its address, it is rewritten: a branch reaches its
 * target from the slot, by a register if need be; a call sets x30 as in its place; a constant by
 * adr or ldr becomes a word behind the code. x16 and x17 are free at an entry, since linkers may
 * put code that uses them in front of it.
 *
 * An entry may begin with an instruction that indirect calls have to land on (bti, paciasp): one
 * stays there, and the jump is behind it. paciasp signs the return address, and the guest needs it
 * unsigned; so it is displaced, too, and leaves a bti. Threads between the two instructions must not
 * exist while these change: see patch_may_wait.
 *
 * What goes from the slot to a far address is `ret`, which needs nothing to land on.
 */
#include <string.h>

#include "libcommon/base/err.h"
#include "patch.h"

enum { WORD = 4, X16 = 16, X17 = 17, LINK = 30 };
/* instructions, without their operands */
#define TO_ITSELF UINT32_C(0x14000000)
#define BTI_C UINT32_C(0xd503245f)
#define BREAK UINT32_C(0xd4200000)
#define RETURN_TO UINT32_C(0xd65f0000)
#define LOAD_NEXT UINT32_C(0x58000000) /* ldr x0, here */
#define LOAD_FROM UINT32_C(0xf9400000) /* ldr x0, [x0] */

const uint8_t patch_wait[MG_JUMP_FIRST] = {0x00, 0x00, 0x00, 0x14};

static uint32_t word_at(const uint8_t *code)
{
	uint32_t word;
	memcpy(&word, code, sizeof word);
	return word;
}

/* Returns the distance in bytes in the `bits` bits of `word` from bit `from` on. */
static uint64_t distance(uint32_t word, unsigned from, unsigned bits)
{
	int32_t by = (int32_t)(word << (32 - bits - from)) >> (32 - bits);
	return (uint64_t)((int64_t)by * WORD);
}

enum branch_kind { NO_BRANCH, JUMP, CALLS, CONDITIONAL };

/* Tells what a branch to a constant address is, and its target. */
static enum branch_kind branch(uint32_t word, uint64_t at, uint64_t *to)
{
	enum branch_kind kind = NO_BRANCH;
	unsigned bits = 19;
	if ((word & 0x7c000000) == TO_ITSELF) {
		kind = word >> 31 ? CALLS : JUMP;
		bits = 26;
	} else if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000) {
		kind = CONDITIONAL; /* b.cond, cbz, cbnz */
	} else if ((word & 0x7e000000) == 0x36000000) {
		kind = CONDITIONAL; /* tbz, tbnz */
		bits = 14;
	}
	*to = at + distance(word, bits == 26 ? 0 : 5, bits);
	return kind;
}

static bool is_by_register(uint32_t word)
{
	return (word & 0xfe000000) == 0xd6000000;
}

/* Tells whether a branch by a register is a call. */
static bool links(uint32_t word)
{
	return (word >> 21 & 3) == 1;
}

/* bti c, j or jc. */
static bool is_bti(uint32_t word)
{
	return (word & ~UINT32_C(0xc0)) == 0xd503241f && word != 0xd503241f;
}

/* paciasp or pacibsp. */
static bool is_pac(uint32_t word)
{
	return (word & ~UINT32_C(0x40)) == 0xd503233f;
}

/* ---- code for the slot ---- */

static uint64_t here(const struct patch *p)
{
	return p->hook.slot + MG_SLOT_DISPLACED + p->displaced_bytes;
}

static void put(struct patch *p, uint32_t word)
{
	memcpy(p->displaced + p->displaced_bytes, &word, sizeof word);
	p->displaced_bytes += WORD;
}

static bool reaches(uint64_t at, uint64_t to)
{
	int64_t by = (int64_t)(to - at);
	return by >= -(INT64_C(1) << 27) && by < INT64_C(1) << 27;
}

static uint32_t jump(uint64_t at, uint64_t to)
{
	return TO_ITSELF | ((uint32_t)((to - at) / WORD) & 0x03ffffff);
}

/* Loads the value `skip` instructions from here into a register. */
static void put_load(struct patch *p, unsigned reg, unsigned skip)
{
	put(p, LOAD_NEXT | skip << 5 | reg);
}

static void put_value(struct patch *p, uint64_t value)
{
	put(p, (uint32_t)value);
	put(p, (uint32_t)(value >> 32));
}

static void put_jump(struct patch *p, uint64_t to)
{
	if (reaches(here(p), to)) {
		put(p, jump(here(p), to));
		return;
	}
	put_load(p, X17, 2);
	put(p, RETURN_TO | X17 << 5);
	put_value(p, to);
}

/* Goes on behind the displaced instructions. */
static void put_back(struct patch *p)
{
	put_jump(p, p->hook.entry + p->hook.bytes);
}

/* Rewrites a conditional branch: over a jump back, to a jump to its target. */
static void move_condition(struct patch *p, uint32_t word, uint64_t to)
{
	bool tests = (word & 0x7e000000) == 0x36000000;
	uint32_t mask = (tests ? UINT32_C(0x3fff) : UINT32_C(0x7ffff)) << 5;
	put(p, (word & ~mask) | 2 << 5);
	put(p, jump(here(p), p->hook.entry + p->hook.bytes));
	put_jump(p, to);
}

/* Rewrites a load from a constant address. */
static void move_load(struct patch *p, uint32_t word, uint64_t from)
{
	bool vector = word >> 26 & 1;
	unsigned size = word >> 30, reg = word & 31;
	static const uint32_t general[] = {0xb9400000, LOAD_FROM, 0xb9800000};
	static const uint32_t vectors[] = {0xbd400000, 0xfd400000, 0x3dc00000};
	if (size < 3) { /* 3 = prefetch, which changes nothing */
		put_load(p, X17, 3);
		put(p, (vector ? vectors : general)[size] | X17 << 5 | reg);
	}
	put_back(p);
	if (size < 3)
		put_value(p, from);
}

static void move_call(struct patch *p, uint64_t to)
{
	unsigned skip = reaches(here(p) + WORD, to) ? 2 : 5;
	put_load(p, LINK, skip);
	put_jump(p, to);
	put_value(p, p->hook.entry + p->hook.bytes);
}

/* Writes what does the same as the last displaced instruction, and goes on behind it. */
static int move_last(struct patch *p, uint32_t word, struct ms_err *err)
{
	uint64_t at = p->hook.entry + p->hook.bytes - WORD, to;
	enum branch_kind kind = branch(word, at, &to);
	bool page = word >> 31;
	int64_t by = (int64_t)distance(word, 5, 19) | (word >> 29 & 3);
	if (kind == JUMP) {
		put_jump(p, to);
	} else if (kind == CALLS) {
		move_call(p, to);
	} else if (kind == CONDITIONAL) {
		move_condition(p, word, to);
	} else if ((word & 0x1f000000) == 0x10000000) { /* adr, adrp */
		put_load(p, word & 31, 2);
		put_back(p);
		put_value(p,
			  page ? (at & ~UINT64_C(4095)) + (uint64_t)by * 4096 : at + (uint64_t)by);
	} else if ((word & 0x3b000000) == 0x18000000) {
		move_load(p, word, at + distance(word, 5, 19));
	} else if (is_by_register(word) && links(word)) {
		return ms_err_set(err, "unsupported indirect call at its start");
	} else if ((word & 0xff000000) == 0xd4000000 || !(word >> 16)) {
		return ms_err_set(err, "unsupported instruction at its start");
	} else {
		put(p, word);
		put_back(p);
	}
	return 0;
}

/* ---- the entry ---- */

/* Tells whether a branch in the function leads to its second displaced instruction. */
static bool jumps_back(const struct patch *p, const uint8_t *code, size_t n)
{
	for (size_t i = 0; i + WORD <= n && p->hook.bytes > WORD; i += WORD) {
		uint64_t to;
		if (branch(word_at(code + i), p->hook.entry + i, &to) && to == p->hook.entry + WORD)
			return true;
	}
	return false;
}

int patch_plan(struct patch *p, uint64_t entry, const uint8_t *code, size_t n, size_t body,
	       uint64_t slot, struct ms_err *err)
{
	if (n < MG_DISPLACED_MAX || entry % WORD)
		return ms_err_set(err, "its code cannot be read");
	uint32_t first = word_at(code);
	bool lands = is_bti(first) || is_pac(first);
	p->hook.entry = entry;
	p->hook.slot = slot;
	p->hook.bytes = lands ? 2 * WORD : WORD;
	p->displaced_bytes = 0;
	p->moved_count = lands ? 2 : 1;
	p->moved[0].from = 0;
	p->moved[0].to = MG_SLOT_DISPLACED;
	uint64_t at = entry + p->hook.bytes - WORD;
	if (!reaches(at, slot) || !reaches(slot + MG_SLOT_BYTES, at))
		return ms_err_set(err,
				  "no address space for the hook is free within " MG_JUMP_REACH_NAME
				  " of it");
	if (body && body < p->hook.bytes)
		return ms_err_set(err, "its code is too short for a jump");
	p->jumps_back = jumps_back(p, code, body && body < n ? body : n);
	if (p->jumps_back)
		return ms_err_set(err,
				  "it jumps back to its first instructions, which a hook replaces");
	if (is_pac(first))
		put(p, first);
	p->moved[1].from = WORD;
	p->moved[1].to = (uint8_t)(MG_SLOT_DISPLACED + p->displaced_bytes);
	if (move_last(p, word_at(code + p->hook.bytes - WORD), err))
		return -1;
	uint32_t patched[] = {is_pac(first) ? BTI_C : first, jump(at, slot)};
	memcpy(p->hook.patched, lands ? patched : patched + 1, p->hook.bytes);
	memcpy(p->hook.original, code, p->hook.bytes);
	return 0;
}

bool patch_may_wait(const struct mg_hook *h)
{
	return h->bytes == WORD;
}

void patch_slot(const struct patch *p, uint64_t enter, uint64_t hook, uint8_t out[MG_SLOT_BYTES])
{
	/* adr x17, head.enter; ldr x16, [x17]; br x16 */
	static const uint32_t code[] = {0x10000091, LOAD_FROM | X17 << 5 | X16, 0xd61f0200, BREAK};
	static const uint32_t trap = BREAK;
	struct mg_slot_head head = {
		.enter = enter, .displaced = p->hook.slot + MG_SLOT_DISPLACED, .hook = hook};
	_Static_assert(sizeof code == sizeof head.code, "the code fills its part of the head");
	memcpy(head.code, code, sizeof code);
	for (size_t i = 0; i < MG_SLOT_BYTES; i += WORD)
		memcpy(out + i, &trap, WORD);
	memcpy(out, &head, sizeof head);
	memcpy(out + MG_SLOT_DISPLACED, p->displaced, p->displaced_bytes);
}

uint64_t patch_target(uint64_t entry, const uint8_t code[MG_DISPLACED_MAX])
{
	return patch_leads(entry, code, is_bti(word_at(code)) ? 2 * WORD : WORD);
}

uint64_t patch_leads(uint64_t entry, const uint8_t *code, size_t n)
{
	uint64_t to;
	size_t skip = n > WORD && is_bti(word_at(code)) ? WORD : 0;
	bool single = n == skip + WORD && branch(word_at(code + skip), entry + skip, &to) == JUMP;
	return single ? to : 0;
}

/* ---- branches ---- */

/* Holds what is known of the registers by which code jumps through a pointer: `page`, from adrp; or
 * `slot`, the pointer's address. 0 = nothing. */
struct known {
	uint64_t page[32], slot[32];
};

/* Notes what an instruction does to the registers, as far as it is adrp or a load from there. */
static void note(struct known *k, uint32_t word, uint64_t at)
{
	unsigned to = word & 31, from = word >> 5 & 31;
	int64_t by = (int64_t)distance(word, 5, 19) | (word >> 29 & 3);
	bool loads = (word & 0xffc00000) == LOAD_FROM;
	uint64_t page = k->page[from], slot = page + (word >> 10 & 0xfff) * UINT64_C(8);
	k->page[to] = (word & 0x9f000000) == 0x90000000
			      ? (at & ~UINT64_C(4095)) + (uint64_t)by * 4096
			      : 0;
	k->slot[to] = loads && page ? slot : 0;
}

bool patch_branches(const uint8_t *code, size_t n, uint64_t address, bool to_jump, patch_branch *f,
		    void *arg)
{
	struct known known = {0};
	for (size_t i = 0; i + WORD <= n; i += WORD) {
		uint32_t word = word_at(code + i);
		uint64_t to, slot = known.slot[word >> 5 & 31];
		enum branch_kind kind = branch(word, address + i, &to);
		bool by_register = is_by_register(word), jumps = kind == JUMP;
		if (kind)
			f(arg, to, false);
		else if (by_register && slot)
			f(arg, slot, true);
		else if (!by_register)
			note(&known, word, address + i);
		if (to_jump && (jumps || (by_register && !links(word))))
			break;
	}
	return true;
}

/* Says of all arguments that they are read. */
unsigned patch_arguments(const uint8_t *code, size_t n, uint64_t address, patch_passes *f,
			 void *arg)
{
	(void)code, (void)n, (void)address, (void)f, (void)arg;
	return 15;
}

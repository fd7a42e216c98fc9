/* SPDX-License-Identifier: MIT
 * aarch64: decodes entries of linkage tables, [bti c]; adrp x16; ldr x17, [x16, #n]; add; br x17 in
 * 16 or 24 bytes, and the C runtime's start, which ends in two calls.
 */
#include <elf.h>
#include <string.h>

#include "symbols_elf.h"
#include "symbols_machine.h"

#define BTI_C UINT32_C(0xd503245f)
#define CLEARS_X29 UINT32_C(0xd280001d)
#define CLEARS_X30 UINT32_C(0xd280001e)
enum { WORD = 4 };

static bool is_slot(uint64_t type)
{
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ||
	       type == R_AARCH64_IRELATIVE;
}

static uint32_t word_at(const uint8_t *code)
{
	uint32_t word;
	memcpy(&word, code, sizeof word);
	return word;
}

/* Returns the `bits` bits of a word from bit `from` on, with their sign. */
static int64_t signed_bits(uint32_t word, unsigned from, unsigned bits)
{
	return (int32_t)(word << (32 - bits - from)) >> (32 - bits);
}

static bool is_adrp_x16(uint32_t word)
{
	return (word & 0x9f00001f) == 0x90000010;
}

/* Returns the slot that an entry jumps through: its adrp is at `at`, or up to four instructions in
 * front of it, or, behind a landing pad, one after it. */
static uint64_t slot_of(const struct ms_elf_section *s, uint64_t at, bool got, unsigned nth)
{
	enum { BEFORE = 4 };
	at &= ~UINT64_C(3);
	(void)got;
	if (nth || at + WORD > s->raw_size)
		return 0;
	if (word_at(s->raw + at) == BTI_C && at + 2 * WORD <= s->raw_size)
		at += WORD;
	for (unsigned i = 0; i < BEFORE && at >= WORD && !is_adrp_x16(word_at(s->raw + at)); i++)
		at -= WORD;
	if (at + 2 * WORD > s->raw_size || !is_adrp_x16(word_at(s->raw + at)))
		return 0;
	uint32_t word = word_at(s->raw + at), load = word_at(s->raw + at + WORD);
	int64_t pages = signed_bits(word, 5, 19) * 4 + (word >> 29 & 3);
	uint64_t page = ((s->address + at) & ~UINT64_C(4095)) + (uint64_t)(pages * 4096);
	return (load & 0xffc003ff) == 0xf9400211 ? page + (load >> 10 & 0xfff) * UINT64_C(8) : 0;
}

static bool is_call(uint32_t word)
{
	return word >> 26 == 0x25;
}

static uint64_t start_bytes(const uint8_t *code, uint64_t most)
{
	enum { LONGEST = 96 };
	bool begins = false;
	for (uint64_t at = 0; at + 2 * WORD <= (most < LONGEST ? most : LONGEST); at += WORD) {
		uint32_t word = word_at(code + at), next = word_at(code + at + WORD);
		begins |= word == CLEARS_X29 && next == CLEARS_X30;
		if (begins && is_call(word) && is_call(next))
			return at + 2 * WORD;
	}
	return 0;
}

/* Decodes "bl target". */
static uint64_t called(const uint8_t *code, uint64_t at, uint64_t address, bool *slot)
{
	uint32_t word = at < WORD ? 0 : word_at(code + at - WORD);
	*slot = false;
	return is_call(word) ? address - WORD + (uint64_t)(signed_bits(word, 0, 26) * WORD) : 0;
}

const struct ms_machine ms_aarch64 = {EM_AARCH64, is_slot, slot_of, start_bytes, called};

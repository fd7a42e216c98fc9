/* SPDX-License-Identifier: MIT
 * x86-64: decodes entries of linkage tables, [endbr64] [bnd] jmp *slot(%rip) in 16 or 8 bytes, and
 * the C runtime's start, which ends in hlt.
 */
#include <elf.h>
#include <string.h>

#include "symbols_elf.h"
#include "symbols_machine.h"

static bool is_slot(uint64_t type)
{
	return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
	       type == R_X86_64_IRELATIVE;
}

/* Returns the address of the slot that an entry of at most `size` bytes jumps through; 0 = none. */
static uint64_t slot_at(const uint8_t *code, uint64_t size, uint64_t address)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	enum { BND = 0xf2, JMP = 0xff, THROUGH_RIP = 0x25, JMP_BYTES = 6 };
	uint64_t at = 0;
	int32_t offset;
	if (size >= sizeof endbr && !memcmp(code, endbr, sizeof endbr))
		at = sizeof endbr;
	if (at < size && code[at] == BND)
		at++;
	if (size - at < JMP_BYTES || code[at] != JMP || code[at + 1] != THROUGH_RIP)
		return 0;
	memcpy(&offset, code + at + 2, sizeof offset);
	return address + at + JMP_BYTES + (uint64_t)(int64_t)offset;
}

/* Returns the slot that an entry jumps through. An entry has 16 bytes, or 8 without lazy
 * binding. */
static uint64_t slot_of(const struct ms_elf_section *s, uint64_t at, bool got, unsigned nth)
{
	static const uint64_t sizes[] = {16, 8};
	if (nth && !got)
		return 0;
	uint64_t from = at / sizes[nth] * sizes[nth], left = s->raw_size - from;
	/* an 8-byte entry must not use the jump of the entry before */
	bool whole = at - from < 8 || s->raw[from] == 0xf3 || !got;
	return whole ? slot_at(s->raw + from, left < sizes[nth] ? left : sizes[nth],
			       s->address + from)
		     : 0;
}

static uint64_t start_bytes(const uint8_t *code, uint64_t most)
{
	enum { LONGEST = 64, HLT = 0xf4 };
	const uint8_t *hlt = memchr(code, HLT, most < LONGEST ? most : LONGEST);
	return hlt ? (uint64_t)(hlt - code) + 1 : 0;
}

/* Decodes "call target" and "call *slot(%rip)". */
static uint64_t called(const uint8_t *code, uint64_t at, uint64_t address, bool *slot)
{
	enum { CALL = 0xe8, CALL_BYTES = 5, THROUGH = 0xff, THROUGH_RIP = 0x15 };
	int32_t offset;
	if (at < CALL_BYTES)
		return 0;
	*slot = at > CALL_BYTES && code[at - 6] == THROUGH && code[at - 5] == THROUGH_RIP;
	if (!*slot && code[at - CALL_BYTES] != CALL)
		return 0;
	memcpy(&offset, code + at - sizeof offset, sizeof offset);
	return address + (uint64_t)(int64_t)offset;
}

const struct ms_machine ms_x86_64 = {EM_X86_64, is_slot, slot_of, start_bytes, called};

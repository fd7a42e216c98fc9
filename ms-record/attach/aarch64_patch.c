/* SPDX-License-Identifier: MIT
 * aarch64: no function's entry is replaced yet, but what an entry leads to is known.
 */
#include <string.h>

#include "libcommon/base/err.h"
#include "patch.h"

enum { WORD = 4 };
static const uint32_t to_itself = 0x14000000;
const uint8_t patch_wait[MG_JUMP_FIRST] = {0x00, 0x00, 0x00, 0x14};

int patch_plan(struct patch *p, uint64_t entry, const uint8_t *code, size_t n, size_t body,
	       uint64_t slot, struct ms_err *err)
{
	(void)p, (void)entry, (void)code, (void)n, (void)body, (void)slot;
	return ms_err_set(err, "ms-record cannot hook functions on aarch64");
}

void patch_slot(const struct patch *p, uint64_t enter, uint64_t hook, uint8_t out[MG_SLOT_BYTES])
{
	(void)p, (void)enter, (void)hook;
	memset(out, 0, MG_SLOT_BYTES);
}

/* Returns the distance in bytes of a branch with 26 bits, with its opcode (b or bl). */
static bool branch(const uint8_t *code, uint32_t op, uint64_t *by)
{
	uint32_t word;
	memcpy(&word, code, sizeof word);
	*by = (uint64_t)((int64_t)((int32_t)(word << 6) >> 6) * WORD);
	return (word & 0xfc000000) == op;
}

uint64_t patch_target(uint64_t entry, const uint8_t code[MG_JUMP_BYTES])
{
	uint64_t by;
	return branch(code, to_itself, &by) ? entry + by : 0;
}

uint64_t patch_leads(uint64_t entry, const uint8_t *code, size_t n)
{
	return n == WORD ? patch_target(entry, code) : 0;
}

bool patch_branches(const uint8_t *code, size_t n, uint64_t address, bool to_jump, patch_branch *f,
		    void *arg)
{
	for (size_t i = 0; i + WORD <= n; i += WORD) {
		uint64_t by;
		bool jump = branch(code + i, to_itself, &by);
		if (jump || branch(code + i, 0x94000000, &by))
			f(arg, address + i + by, false);
		if (jump && to_jump)
			break;
	}
	return true;
}

unsigned patch_arguments(const uint8_t *code, size_t n, uint64_t address, patch_passes *f,
			 void *arg)
{
	(void)code, (void)n, (void)address, (void)f, (void)arg;
	return 15;
}

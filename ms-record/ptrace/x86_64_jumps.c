/* SPDX-License-Identifier: MIT
 * x86-64: jumps with a 32-bit displacement.
 */
#include <string.h>

#include "cpu.h"

bool cpu_far_jump(const uint8_t *code, uint64_t at, uint64_t *to)
{
	int32_t by;
	unsigned n = code[0] == 0xe9 ? 1 : code[0] == 0x0f && (code[1] & 0xf0) == 0x80 ? 2 : 0;
	memcpy(&by, code + n, sizeof by);
	*to = at + n + sizeof by + (uint64_t)(int64_t)by;
	return n != 0;
}

/* SPDX-License-Identifier: MIT
 * aarch64: jumps with a displacement of 26 bits, and conditional ones of 19 bits.
 */
#include <string.h>

#include "cpu.h"

bool cpu_far_jump(const uint8_t *code, uint64_t at, uint64_t *to)
{
	uint32_t word;
	memcpy(&word, code, sizeof word);
	bool always = word >> 26 == 0x05, on = (word & 0xff000010) == 0x54000000;
	int32_t by = always ? (int32_t)(word << 6) >> 6 : (int32_t)(word << 8) >> 13;
	*to = at + (uint64_t)((int64_t)by * 4);
	return (always || on) && !(at & 3);
}

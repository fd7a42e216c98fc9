/* SPDX-License-Identifier: MIT
 * x86-64: saves and restores vector registers around calls of the dynamic linker.
 */
#include "cpu.h"

#define PARTS 0xe7u /* x87 to AVX-512 state; not AMX tiles, which the dynamic linker does not use */

static bool has_xsave;

void mg_vectors_init(void)
{
	uint32_t a = 1, b, c = 0, d;
	__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	has_xsave = c >> 27 & 1;
}

void mg_vectors_save(void *area)
{
	uint64_t *header = (uint64_t *)area + 64;
	for (uint32_t i = 0; i < 8; i++)
		header[i] = 0;
	if (has_xsave)
		__asm__ volatile("xsave64 (%0)" : : "r"(area), "a"(PARTS), "d"(0) : "memory");
	else
		__asm__ volatile("fxsave64 (%0)" : : "r"(area) : "memory");
}

void mg_vectors_restore(const void *area)
{
	if (has_xsave)
		__asm__ volatile("xrstor64 (%0)" : : "r"(area), "a"(PARTS), "d"(0) : "memory");
	else
		__asm__ volatile("fxrstor64 (%0)" : : "r"(area) : "memory");
}

/* SPDX-License-Identifier: MIT
 * x86-64, as cpu.h wants it.
 */
#pragma once

#include <x86intrin.h>

#define CPU_NAME "x86-64"
#define CPU_MACHINE EM_X86_64
#define CPU_LINKER "ld-linux-x86-64"

static inline uint64_t cpu_counter(void)
{
	return __rdtsc();
}

/* SSE2, which all have. */
static inline unsigned cpu_match8(const uint32_t *words, uint32_t mask, uint32_t key)
{
	const __m128i *v = (const __m128i *)words;
	__m128i masks = _mm_set1_epi32((int)mask), keys = _mm_set1_epi32((int)key);
	__m128i first = _mm_cmpeq_epi32(_mm_and_si128(v[0], masks), keys);
	__m128i second = _mm_cmpeq_epi32(_mm_and_si128(v[1], masks), keys);
	return (unsigned)_mm_movemask_ps(_mm_castsi128_ps(first)) |
	       (unsigned)_mm_movemask_ps(_mm_castsi128_ps(second)) << 4;
}

/* SPDX-License-Identifier: MIT
 * The parts of cpu.h for x86-64.
 */
#pragma once

#include <x86intrin.h>

#define CPU_NAME "x86-64"
#define CPU_MACHINE EM_X86_64
#define CPU_ADDRESS_BITS 47u /* of a program, without extensions */
#define CPU_LINKER "ld-linux-x86-64"
#define CPU_FORGETS_CALL 0
#define CPU_VECTOR_NOTE NT_X86_XSTATE

static inline uint64_t cpu_counter(void)
{
	return __rdtsc();
}

/* Makes a system call without the C library, so that not even errno changes. */
static inline long cpu_syscall(long number, const uint64_t a[6])
{
	register uint64_t r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4],
			      r9 __asm__("r9") = a[5];
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* Implemented with SSE2, which all x86-64 processors have. */
static inline unsigned cpu_match8(const uint32_t *words, uint32_t mask, uint32_t key)
{
	const __m128i *v = (const __m128i *)words;
	__m128i masks = _mm_set1_epi32((int)mask), keys = _mm_set1_epi32((int)key);
	__m128i first = _mm_cmpeq_epi32(_mm_and_si128(v[0], masks), keys);
	__m128i second = _mm_cmpeq_epi32(_mm_and_si128(v[1], masks), keys);
	return (unsigned)_mm_movemask_ps(_mm_castsi128_ps(first)) |
	       (unsigned)_mm_movemask_ps(_mm_castsi128_ps(second)) << 4;
}

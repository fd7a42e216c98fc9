/* SPDX-License-Identifier: MIT
 * The parts of cpu.h for aarch64.
 */
#pragma once

#include "ms-record/guest/layout.h"

#define CPU_NAME "aarch64"
#define CPU_MACHINE EM_AARCH64
#define CPU_ADDRESS_BITS 48u /* of a program, without extensions */
#define CPU_LINKER "ld-linux-aarch64"
#define CPU_FORGETS_CALL 1
#define CPU_VECTOR_NOTE NT_FPREGSET

/* Reads the counter neither before what comes earlier nor after what comes later: ring_read_all reads
 * rings behind it. */
static inline uint64_t cpu_counter(void)
{
	uint64_t ticks;
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks)::"memory");
	return ticks << MG_COUNTER_SHIFT;
}

/* Makes a system call without the C library, so that not even errno changes. */
static inline long cpu_syscall(long number, const uint64_t a[6])
{
	register long x8 __asm__("x8") = number;
	register uint64_t x0 __asm__("x0") = a[0], x1 __asm__("x1") = a[1];
	register uint64_t x2 __asm__("x2") = a[2], x3 __asm__("x3") = a[3];
	register uint64_t x4 __asm__("x4") = a[4], x5 __asm__("x5") = a[5];
	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory", "cc");
	return (long)x0;
}

static inline unsigned cpu_match8(const uint32_t *words, uint32_t mask, uint32_t key)
{
	unsigned found = 0;
	for (unsigned i = 0; i < 8; i++)
		found |= (unsigned)((words[i] & mask) == key) << i;
	return found;
}

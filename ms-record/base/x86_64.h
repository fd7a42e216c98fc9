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

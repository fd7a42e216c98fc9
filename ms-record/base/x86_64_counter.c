/* SPDX-License-Identifier: MIT
 * Tells whether the TSC of an x86-64 processor can be used.
 */
#include <cpuid.h>
#include <fcntl.h>
#include <string.h>

#include "cpu.h"
#include "libcommon/base/clock.h"
#include "libcommon/proc/proc.h"

/* Tells whether the kernel trusts the TSC: it uses the TSC as its clock source, or a paravirtual
 * clock based on the TSC. */
static bool kernel_trusts_tsc(void)
{
	char name[32];
	ms_proc_text_at(AT_FDCWD,
			"/sys/devices/system/clocksource/clocksource0/current_clocksource", name,
			sizeof name);
	name[strcspn(name, "\n")] = '\0';
	return !strcmp(name, "tsc") || !strcmp(name, "kvm-clock") ||
	       !strncmp(name, "hyperv_clocksource_tsc", 22);
}

bool cpu_counter_usable(void)
{
	static uint64_t asked_ns; /* what the kernel said is valid for a second */
	static bool usable;
	uint64_t now = ms_clock_ns(CLOCK_MONOTONIC);
	unsigned a, b, c, d;
	if (asked_ns && now < asked_ns + 1000000000)
		return usable;
	asked_ns = now;
	usable = __get_cpuid(0x80000007, &a, &b, &c, &d) && d & (1u << 8) && kernel_trusts_tsc();
	return usable;
}

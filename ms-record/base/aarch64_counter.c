/* SPDX-License-Identifier: MIT
 * Tells whether the counter of an aarch64 processor can be used.
 */
#include <fcntl.h>
#include <string.h>

#include "cpu.h"
#include "libcommon/base/clock.h"
#include "libcommon/proc/proc.h"

bool cpu_counter_usable(void)
{
	static uint64_t asked_ns; /* what the kernel said is valid for a second */
	static bool usable;
	uint64_t now = ms_clock_ns(CLOCK_MONOTONIC);
	char name[32] = "";
	if (asked_ns && now < asked_ns + 1000000000)
		return usable;
	asked_ns = now;
	ms_proc_text_at(AT_FDCWD,
			"/sys/devices/system/clocksource/clocksource0/current_clocksource", name,
			sizeof name);
	usable = !strncmp(name, "arch_sys_counter", 16);
	return usable;
}

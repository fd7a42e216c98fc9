/* SPDX-License-Identifier: MIT
 * Recognizes known allocations that the C and C++ runtimes make once and never free; they are
 * named, not hidden.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Holds what is known about a site, besides its frames, to tell whether it is a one-time
 * allocation. */
struct ms_one_time_site {
	uint64_t min_size, max_size; /* size range of the blocks in bytes; 0 = not known */
	uint64_t blocks;             /* maximum blocks live at once */
	bool user;                   /* some frame is, or may be, user code */
};

/* Returns a bit set: bit i is set if this frame is typical of entry i in the list of one-time
 * allocations. Either name may be NULL; `module` is a path, `function` demangled.
 * ms_one_time_inner() returns the bits that count only for a frame that called the allocator
 * directly. */
uint32_t ms_one_time_signs(const char *module, const char *function);
uint32_t ms_one_time_inner(void);
/* Returns the kind of one-time allocation, such as "stdio buffer", of a site whose frames have
 * these bits (ms_one_time_signs); NULL = none. The list of kinds is in ms-filter(1). */
const char *ms_one_time(uint32_t signs, const struct ms_one_time_site *s);

/* SPDX-License-Identifier: MIT
 * Known allocations that the C and C++ runtimes make once and never free: named, not hidden.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Holds the facts about a site, besides its frames, that the question needs. */
struct ms_one_time_site {
	uint64_t min_size, max_size; /* bytes of its smallest and largest block; 0: not known */
	uint64_t blocks;             /* the most that it held at once */
	bool user;                   /* some frame is of the user's own code, or may be */
};

/* Bit per entry of the list: those of which a frame is a sign. Either name may be NULL; `module` is
 * a path, `function` demangled. Some count in the innermost frame only, that which called the
 * allocator: ms_one_time_inner() has their bits. */
uint32_t ms_one_time_signs(const char *module, const char *function);
uint32_t ms_one_time_inner(void);
/* Returns the kind of one-time allocation that a site with these signs is: "stdio buffer" and the
 * like; NULL when it is none of them. The list is in ms-filter(1). */
const char *ms_one_time(uint32_t signs, const struct ms_one_time_site *s);

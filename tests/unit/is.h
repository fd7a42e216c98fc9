/* SPDX-License-Identifier: MIT
 * A number that is known beforehand.
 */
#pragma once

#include <stdint.h>

#include "tests/unit/check.h"

static inline void is(const char *what, uint64_t got, uint64_t want)
{
	CHECK(got == want, "%s: %lu, not %lu", what, (long)got, (long)want);
}

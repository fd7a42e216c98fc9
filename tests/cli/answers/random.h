// SPDX-License-Identifier: MIT
// The same numbers in every run.
#pragma once

static inline unsigned random_below(unsigned long *state, unsigned below)
{
	*state = *state * 6364136223846793005UL + 1442695040888963407UL;
	return (unsigned)(*state >> 33) % below;
}

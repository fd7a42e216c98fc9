/* SPDX-License-Identifier: MIT
 * Draws a series as a line of small bars.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns one character: a bar of height `part` (0 to 1). */
const char *ms_spark_bar(double part, bool ascii);

#define MS_SPARKLINE_COLUMNS 60u
/* Draws `n` values (at least 1) into `out` as at most `columns` bars. Each bar is the largest of
 * its values, scaled from the minimum (lowest bar) to the maximum; a flat series is a row of lowest
 * bars. */
void ms_sparkline(char out[MS_SPARKLINE_COLUMNS * 3 + 1], const double *values, size_t n,
		  size_t columns, bool ascii);

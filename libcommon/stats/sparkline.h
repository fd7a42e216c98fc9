/* SPDX-License-Identifier: MIT
 * A series as a line of small bars.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* One character, a bar of height `part` (0 to 1). */
const char *ms_spark_bar(double part, bool ascii);

#define MS_SPARKLINE_COLUMNS 60u
/* `n` values (at least 1) in at most `columns` bars, each the largest of its share, from the least
 * (lowest bar) to the largest of all; a flat series is a row of lowest bars. Into `out`. */
void ms_sparkline(char out[MS_SPARKLINE_COLUMNS * 3 + 1], const double *values, size_t n,
		  size_t columns, bool ascii);

/* SPDX-License-Identifier: MIT
 * Draws a series as a line of small bars.
 */
#include "sparkline.h"

#include <math.h>
#include <string.h>

const char *ms_spark_bar(double part, bool ascii)
{
	static const char *const blocks[] = {"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
					     "\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86",
					     "\xe2\x96\x87", "\xe2\x96\x88"};
	static const char *const plain[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
	size_t level = part >= 1 ? 7 : part > 0 ? (size_t)(part * 8) : 0;
	return ascii ? plain[level] : blocks[level];
}

void ms_sparkline(char out[MS_SPARKLINE_COLUMNS * 3 + 1], const double *values, size_t n,
		  size_t columns, bool ascii)
{
	double least = values[0], most = values[0];
	for (size_t i = 1; i < n; i++) {
		least = fmin(least, values[i]);
		most = fmax(most, values[i]);
	}
	columns = columns < MS_SPARKLINE_COLUMNS ? columns : MS_SPARKLINE_COLUMNS;
	columns = columns < n ? columns : n;
	out[0] = '\0';
	for (size_t c = 0; c < columns; c++) {
		size_t from = n * c / columns, to = n * (c + 1) / columns;
		double top = values[from];
		for (size_t i = from + 1; i < to; i++)
			top = fmax(top, values[i]);
		strcat(out, ms_spark_bar(most > least ? (top - least) / (most - least) : 0, ascii));
	}
}

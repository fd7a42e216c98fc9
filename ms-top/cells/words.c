/* SPDX-License-Identifier: MIT
 * Figures in few columns.
 */
#include "words.h"

#include <math.h>
#include <stdio.h>

static const char *scaled(char buf[WORDS_BUF], const char *sign, double v, double base,
			  const char *units)
{
	int unit = 0;
	/* what would be rounded to four digits has the next unit */
	while (v >= 999.5 && units[unit + 1] && (unit || v >= base)) {
		v /= base;
		unit++;
	}
	int digits = !unit || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
	if (unit)
		snprintf(buf, WORDS_BUF, "%s%.*f %c", sign, digits, v, units[unit]);
	else
		snprintf(buf, WORDS_BUF, "%s%.0f", sign, v);
	return buf;
}

const char *words_size(char buf[WORDS_BUF], uint64_t bytes)
{
	return bytes == UINT64_MAX ? "-" : scaled(buf, "", (double)bytes, 1024, " KMGTPE");
}

const char *words_change(char buf[WORDS_BUF], double bytes)
{
	if (fabs(bytes) < 0.5)
		return "0";
	return scaled(buf, bytes < 0 ? "-" : "+", fabs(bytes), 1024, " KMGTPE");
}

const char *words_count(char buf[WORDS_BUF], double n)
{
	return scaled(buf, "", n < 0 ? 0 : n, 1000, " kMGTPE");
}

const char *words_time(char buf[WORDS_BUF], double seconds)
{
	double m = seconds / 60, h = m / 60, d = h / 24;
	if (!(seconds >= 0) || d > 99999)
		return "-";
	if (d >= 2)
		snprintf(buf, WORDS_BUF, "%.0f d", d);
	else if (h >= 1)
		snprintf(buf, WORDS_BUF, "%d h %02d m", (int)h, (int)m % 60);
	else if (m >= 1)
		snprintf(buf, WORDS_BUF, "%d m %02d s", (int)m, (int)seconds % 60);
	else
		snprintf(buf, WORDS_BUF, "%.0f s", seconds);
	return buf;
}

/* SPDX-License-Identifier: MIT
 * Formats figures in few columns.
 */
#include "words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define KEPT 32

const char *words_print(const char *fmt, ...)
{
	static char texts[KEPT][512];
	static unsigned last;
	char *text = texts[++last % KEPT];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof texts[0], fmt, ap);
	va_end(ap);
	return text;
}

static const char *scaled(const char *sign, double v, double base, const char *units)
{
	int unit = 0;
	/* a value that would round to four digits uses the next unit */
	while (v >= 999.5 && units[unit + 1] && (unit || v >= base)) {
		v /= base;
		unit++;
	}
	int digits = !unit || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
	return unit ? words_print("%s%.*f %c", sign, digits, v, units[unit])
		    : words_print("%s%.0f", sign, v);
}

const char *words_size(uint64_t bytes)
{
	return bytes == UINT64_MAX ? "-" : scaled("", (double)bytes, 1024, " KMGTPE");
}

const char *words_change(double bytes)
{
	if (fabs(bytes) < 0.5)
		return "0";
	return scaled(bytes < 0 ? "-" : "+", fabs(bytes), 1024, " KMGTPE");
}

const char *words_count(double n)
{
	return scaled("", n < 0 ? 0 : n, 1000, " kMGTPE");
}

const char *words_time(double seconds)
{
	double s = floor(seconds + 0.5), m = s / 60, h = m / 60, d = h / 24;
	if (!(seconds >= 0) || d > 99999)
		return "-";
	return d >= 2   ? words_print("%.0f d", d)
	       : h >= 1 ? words_print("%d h %02d m", (int)h, (int)m % 60)
	       : m >= 1 ? words_print("%d m %02d s", (int)m, (int)s % 60)
			: words_print("%.0f s", s);
}

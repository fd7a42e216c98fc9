/* SPDX-License-Identifier: MIT
 * Parses and formats sizes, durations and counts.
 */
#include "units.h"

#include "err.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parses a non-negative decimal number: digits with an optional fraction; no sign, exponent or
 * hex. */
static int parse_number(const char *s, long double *value, const char **end)
{
	size_t digits = strspn(s, "0123456789");
	size_t n = digits;
	if (s[n] == '.')
		n += 1 + strspn(s + n + 1, "0123456789");
	if (digits == 0 || n > 40)
		return -1;
	/* strtold is not used, since it expects the locale's decimal point */
	long double v = 0, scale = 1;
	for (const char *p = s; p < s + n; p++) {
		if (*p == '.') {
			scale = 0.1L;
			continue;
		}
		if (scale == 1) {
			v = v * 10 + (*p - '0');
		} else {
			v += (*p - '0') * scale;
			scale /= 10;
		}
	}
	*value = v;
	*end = s + n;
	return 0;
}

static int to_u64(long double v, uint64_t *out)
{
	v = floorl(v + 0.5L);
	if (v >= 18446744073709551616.0L)
		return -1;
	*out = (uint64_t)v;
	return 0;
}

int ms_parse_size(const char *s, uint64_t *bytes, struct ms_err *err)
{
	long double v;
	const char *u;
	static const char units[] = "kmgt";
	if (parse_number(s, &v, &u) != 0)
		return ms_err_set(err, "bad size '%s': expected a number such as 4k, 1.5M or 2G",
				  s);
	const char *rest = u;
	if (*u) {
		const char *p = strchr(units, *u | 0x20);
		if (p) {
			for (ptrdiff_t i = 0; i <= p - units; i++)
				v *= 1024;
			rest++;
			if (rest[0] == 'i')
				rest++;
		}
		if (*rest == 'B' || *rest == 'b')
			rest++;
	}
	if (*rest)
		return ms_err_set(err, "bad size '%s': unknown unit '%s' (k, M, G or T)", s, u);
	if (to_u64(v, bytes) != 0)
		return ms_err_set(err, "bad size '%s': too large", s);
	return 0;
}

int ms_parse_duration(const char *s, uint64_t *ns, struct ms_err *err)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"", 1e9},  {"ns", 1},   {"us", 1e3},   {"ms", 1e6},
		     {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
	long double v;
	const char *u;
	if (parse_number(s, &v, &u) != 0)
		return ms_err_set(
			err, "bad duration '%s': expected a number such as 250ms, 10s or 2h", s);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strcmp(u, units[i].name) != 0)
			continue;
		if (to_u64(v * units[i].ns, ns) != 0)
			return ms_err_set(err, "bad duration '%s': too long", s);
		return 0;
	}
	return ms_err_set(err, "bad duration '%s': unknown unit '%s' (ms, s, m or h)", s, u);
}

int ms_parse_count(const char *s, const char *what, uint64_t min, uint64_t max, uint64_t *out,
		   struct ms_err *err)
{
	char *end;
	errno = 0;
	unsigned long long v = strtoull(s, &end, 10);
	if (*s < '0' || *s > '9' || *end || errno || v < min || v > max)
		return ms_err_set(err, "bad %s '%s': expected a whole number from %llu to %llu",
				  what, s, (unsigned long long)min, (unsigned long long)max);
	*out = v;
	return 0;
}

char *ms_format_size(char buf[MS_UNIT_BUF], uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	if (bytes < 1024) {
		snprintf(buf, MS_UNIT_BUF, "%u B", (unsigned)bytes);
		return buf;
	}
	double v = (double)bytes;
	size_t u = 0;
	/* 1023.95 would print as "1024.0", so it uses the next unit */
	while (u < 6 && v >= (u ? 1023.95 : 1024)) {
		v /= 1024;
		u++;
	}
	/* two decimals from GiB on: 0.01 GiB still matters */
	snprintf(buf, MS_UNIT_BUF, u >= 3 ? "%.2f %s" : "%.1f %s", v, units[u]);
	return buf;
}

char *ms_format_delta(char buf[MS_UNIT_BUF], int64_t bytes)
{
	uint64_t magnitude = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
	char t[MS_UNIT_BUF];
	ms_format_size(t, magnitude);
	snprintf(buf, MS_UNIT_BUF, "%s%.30s", bytes < 0 ? "-" : bytes > 0 ? "+" : "", t);
	return buf;
}

char *ms_format_count(char buf[MS_UNIT_BUF], uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
	char *o = buf;
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*o++ = ',';
		*o++ = digits[i];
	}
	*o = 0;
	return buf;
}

char *ms_format_duration(char buf[MS_UNIT_BUF], uint64_t ns)
{
	if (ns < 1000000)
		snprintf(buf, MS_UNIT_BUF, "%.2f ms", (double)ns / 1e6);
	else if (ns < 9950000)
		snprintf(buf, MS_UNIT_BUF, "%.1f ms", (double)ns / 1e6);
	else if (ns < 999500000) /* a larger value would print as "1000 ms" */
		snprintf(buf, MS_UNIT_BUF, "%.0f ms", (double)ns / 1e6);
	else if (ns < UINT64_C(59999500000))
		snprintf(buf, MS_UNIT_BUF, "%.3f s", (double)ns / 1e9);
	else {
		unsigned long long s = (ns + 500000000) / 1000000000;
		unsigned long long d = s / 86400, h = s / 3600 % 24, m = s / 60 % 60;
		if (d)
			snprintf(buf, MS_UNIT_BUF, "%llud %lluh %02llum", d, h, m);
		else if (h)
			snprintf(buf, MS_UNIT_BUF, "%lluh %02llum %02llus", h, m, s % 60);
		else
			snprintf(buf, MS_UNIT_BUF, "%llum %02llus", m, s % 60);
	}
	return buf;
}

char *ms_format_seconds(char buf[MS_UNIT_BUF], uint64_t ns)
{
	char digits[16];
	int n = snprintf(digits, sizeof digits, "%09llu", (unsigned long long)(ns % 1000000000));
	while (n && digits[n - 1] == '0')
		n--;
	snprintf(buf, MS_UNIT_BUF, "%llu%s%.*ss", (unsigned long long)(ns / 1000000000),
		 n ? "." : "", n, digits);
	return buf;
}

uint64_t ms_round_down(uint64_t n)
{
	uint64_t unit = 1;
	while (unit <= n / 10)
		unit *= 10;
	return !n ? 0 : unit <= n / 5 ? unit * 5 : unit <= n / 2 ? unit * 2 : unit;
}

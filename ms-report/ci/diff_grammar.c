/* SPDX-License-Identifier: MIT
 * The grammar of budgets about what changed, and the names in it.
 */
#include "ms-report/model/diff.h"

#include "budget.h"

#include "ms-report/model/figures.h"

#include "libcommon/base/err.h"

#include <stdlib.h>
#include <string.h>

static bool equal(const char *s, size_t n, const char *name)
{
	return strlen(name) == n && memcmp(s, name, n) == 0;
}

static bool is_total(const char *s, size_t n)
{
	for (size_t i = 0; i < figure_count; i++)
		if (equal(s, n, figures[i].name))
			return true;
	return equal(s, n, "live_bytes") || equal(s, n, "live_blocks");
}

static bool is_figure(const char *s, size_t n)
{
	return diff_figure_named(s, n) != DIFF_FIGURES || equal(s, n, "sites");
}

static bool is_change(const char *s, size_t n)
{
	if (n > 6 && memcmp(s, "delta_", 6) == 0)
		return is_total(s + 6, n - 6);
	for (int k = 0; k < DIFF_UNCHANGED; k++) {
		size_t p = strlen(diff_kind_names[k]);
		if (n > p + 1 && memcmp(s, diff_kind_names[k], p) == 0 && s[p] == '_')
			return is_figure(s + p + 1, n - p - 1);
	}
	return equal(s, n, "unchanged_sites") || equal(s, n, "renamed_sites") ||
	       equal(s, n, "unmatched_sites");
}

/* Of the sites of a pattern. */
static bool is_site_change(const char *s, size_t n)
{
	return n > 6 && memcmp(s, "delta_", 6) == 0 && is_figure(s + 6, n - 6) &&
	       !equal(s, n, "delta_sites");
}

bool diff_budget_figure(const char **s, struct budget *b)
{
	size_t n = strspn(*s, "abcdefghijklmnopqrstuvwxyz_");
	if (b->site ? !is_site_change(*s, n) : !is_change(*s, n))
		return false;
	b->change = *s;
	b->change_length = n;
	*s += n;
	return true;
}

static bool ends(const struct budget *b, const char *with)
{
	size_t n = strlen(with);
	return b->change_length > n && memcmp(b->change + b->change_length - n, with, n) == 0;
}

/* `n`: where the sign stands. */
static int parse_percent(const char *s, size_t n, struct budget *b, struct ms_err *err)
{
	char *end;
	if (strncmp(b->change, "delta_", 6) != 0)
		return ms_err_set(err, "bad budget '%s': per cent are for delta_ figures", b->text);
	b->share = strtod(s, &end);
	end += strspn(end, " \t");
	if (strspn(s, "0123456789.") == 0 || end != s + n || n >= 64)
		return ms_err_set(err, "bad budget '%s': bad number of per cent", b->text);
	b->percent = true;
	return 0;
}

int diff_budget_number(const char *s, struct budget *b, struct ms_err *err)
{
	bool delta = strncmp(b->change, "delta_", 6) == 0;
	if (delta && (*s == '+' || *s == '-')) {
		b->negative = *s == '-';
		s += 1 + strspn(s + 1, " \t");
	}
	size_t n = strlen(s);
	while (n && strchr(" \t", s[n - 1]))
		n--;
	if (n && s[n - 1] == '%')
		return parse_percent(s, n - 1, b, err);
	enum figure_unit unit = ends(b, "_bytes") ? FIGURE_BYTES
				: ends(b, "_ns")  ? FIGURE_TIME
						  : FIGURE_COUNT;
	return budget_number(b, s, unit, INT64_MAX, &b->value, err);
}

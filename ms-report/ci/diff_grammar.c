/* SPDX-License-Identifier: MIT
 * The grammar of budgets about what changed, and the names in it.
 */
#include "ms-report/model/diff.h"

#include "diff_budget.h"

#include "ms-report/model/figures.h"

#include "libcommon/base/err.h"
#include "libcommon/base/units.h"

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
	for (size_t i = 0; i < DIFF_FIGURES; i++)
		if (equal(s, n, diff_figure_names[i]))
			return true;
	return equal(s, n, "sites");
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

static int parse_percent(char *number, size_t n, struct budget *b, struct ms_err *err)
{
	char *end;
	number[n - 1] = 0;
	if (strncmp(b->change, "delta_", 6) != 0)
		return ms_err_set(err, "bad budget '%s': per cent are for delta_ figures", b->text);
	b->share = strtod(number, &end);
	while (*end == ' ' || *end == '\t')
		end++;
	if (strspn(number, "0123456789.") == 0 || *end)
		return ms_err_set(err, "bad budget '%s': bad number of per cent", b->text);
	b->percent = true;
	return 0;
}

int diff_budget_number(const char *s, struct budget *b, struct ms_err *err)
{
	char number[64];
	bool delta = strncmp(b->change, "delta_", 6) == 0;
	if (delta && (*s == '+' || *s == '-')) {
		b->negative = *s == '-';
		s += 1 + strspn(s + 1, " \t");
	}
	size_t n = strlen(s);
	while (n && strchr(" \t", s[n - 1]))
		n--;
	if (n == 0 || n >= sizeof number)
		return ms_err_set(err, "bad budget '%s': expected a number after the comparison",
				  b->text);
	memcpy(number, s, n);
	number[n] = 0;
	if (number[n - 1] == '%')
		return parse_percent(number, n, b, err);
	struct ms_err why = {0};
	bool bare = strspn(number, "0123456789") == n;
	int rc = ends(b, "_bytes") ? ms_parse_size(number, &b->value, &why)
		 : ends(b, "_ns") && !bare
			 ? ms_parse_duration(number, &b->value, &why)
			 : ms_parse_count(number, "number", 0, INT64_MAX, &b->value, &why);
	if (rc == 0 && b->value > INT64_MAX)
		rc = ms_err_set(&why, "too large");
	return rc == 0 ? 0 : ms_err_set(err, "bad budget '%s': %s", b->text, why.text);
}

/* SPDX-License-Identifier: MIT
 * Budgets: "unfreed_bytes > 64k" and whether a recording breaks them.
 */
#include "budget.h"

#include "figures.h"

#include "libcommon/err.h"
#include "libcommon/units.h"

#include <string.h>

#define BLANK " \t"

static int parse_figure(const char **s, struct budget *b, struct ms_err *err)
{
	size_t n = strspn(*s, "abcdefghijklmnopqrstuvwxyz_");
	for (b->figure = 0; b->figure < figure_count; b->figure++) {
		const char *name = figures[b->figure].name;
		if (strlen(name) == n && memcmp(name, *s, n) == 0) {
			*s += n;
			return 0;
		}
	}
	return ms_err_set(err, "bad budget '%s': no figure '%.*s' (see FIGURES in ms-report(1))",
			  b->text, (int)strcspn(*s, BLANK "<>=!"), *s);
}

static int parse_op(const char **s, struct budget *b, struct ms_err *err)
{
	static const struct {
		const char *s;
		enum budget_op op;
	} ops[] = {{">=", BUDGET_GE}, {"<=", BUDGET_LE}, {"==", BUDGET_EQ}, {"!=", BUDGET_NE},
		   {">", BUDGET_GT},  {"<", BUDGET_LT},  {"=", BUDGET_EQ}};
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (strncmp(*s, ops[i].s, strlen(ops[i].s)) == 0) {
			b->op = ops[i].op;
			*s += strlen(ops[i].s);
			return 0;
		}
	return ms_err_set(err, "bad budget '%s': expected >, >=, <, <=, == or != after '%s'",
			  b->text, figures[b->figure].name);
}

static int parse_value(const char *s, struct budget *b, struct ms_err *err)
{
	char number[64];
	size_t n = strlen(s);
	while (n && strchr(BLANK, s[n - 1]))
		n--;
	if (n == 0 || n >= sizeof number)
		return ms_err_set(err, "bad budget '%s': expected a number after the comparison",
				  b->text);
	memcpy(number, s, n);
	number[n] = 0;
	struct ms_err why = {0};
	enum figure_unit unit = figures[b->figure].unit;
	bool bare = strspn(number, "0123456789") == n;
	int rc = unit == FIGURE_BYTES ? ms_parse_size(number, &b->value, &why)
		 : unit == FIGURE_TIME && !bare
			 ? ms_parse_duration(number, &b->value, &why)
			 : ms_parse_count(number, "number", 0, UINT64_MAX - 1, &b->value, &why);
	return rc == 0 ? 0 : ms_err_set(err, "bad budget '%s': %s", b->text, why.text);
}

int budget_parse(const char *text, struct budget *b, struct ms_err *err)
{
	*b = (struct budget){.text = text};
	const char *s = text + strspn(text, BLANK);
	if (parse_figure(&s, b, err) != 0)
		return -1;
	s += strspn(s, BLANK);
	if (parse_op(&s, b, err) != 0)
		return -1;
	return parse_value(s + strspn(s, BLANK), b, err);
}

uint64_t budget_value(const struct budget *b, const struct totals *t)
{
	return figure_of(t, b->figure);
}

enum budget_result budget_check(const struct budget *b, const struct totals *t)
{
	uint64_t v = budget_value(b, t);
	if (v == UNKNOWN)
		return BUDGET_UNDECIDED;
	const bool holds[] = {[BUDGET_GT] = v > b->value,  [BUDGET_GE] = v >= b->value,
			      [BUDGET_LT] = v < b->value,  [BUDGET_LE] = v <= b->value,
			      [BUDGET_EQ] = v == b->value, [BUDGET_NE] = v != b->value};
	return holds[b->op] ? BUDGET_BROKEN : BUDGET_HELD;
}

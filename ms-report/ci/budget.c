/* SPDX-License-Identifier: MIT
 * Budgets: their grammar, and files of them.
 */
#include "budget.h"

#include "libcommon/base/err.h"
#include "libcommon/base/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANK " \t"

const struct figure *budget_figure(const struct budget *b)
{
	return b->site ? &site_figures[b->figure] : &figures[b->figure];
}

/* site("PATTERN"). */
static int parse_site(const char **s, struct budget *b, struct ms_err *err)
{
	if (strncmp(*s, "site", 4) != 0 || (*s)[4 + strspn(*s + 4, BLANK)] != '(')
		return 0;
	const char *t = strchr(*s, '(') + 1;
	t += strspn(t, BLANK);
	const char *end = *t == '"' ? strchr(t + 1, '"') : NULL;
	if (!end || end == t + 1)
		return ms_err_set(err, "bad budget '%s': expected site(\"PATTERN\")", b->text);
	b->site = t + 1;
	b->site_length = (size_t)(end - b->site);
	end += 1 + strspn(end + 1, BLANK);
	if (*end != ')' || end[1] != '.')
		return ms_err_set(err, "bad budget '%s': expected ). after the pattern", b->text);
	*s = end + 2;
	return 0;
}

static int parse_figure(const char **s, struct budget *b, struct ms_err *err)
{
	if (diff_budget_figure(s, b))
		return 0;
	size_t n = strspn(*s, "abcdefghijklmnopqrstuvwxyz_");
	size_t count = b->site ? site_figure_count : figure_count;
	for (b->figure = 0; b->figure < count; b->figure++) {
		const char *name = budget_figure(b)->name;
		if (strlen(name) == n && memcmp(name, *s, n) == 0) {
			*s += n;
			return 0;
		}
	}
	return ms_err_set(err, "bad budget '%s': no figure '%.*s'%s (see FIGURES in ms-report(1))",
			  b->text, (int)strcspn(*s, BLANK "<>=!"), *s, b->site ? " of a site" : "");
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
	const char *name = b->change ? b->change : budget_figure(b)->name;
	return ms_err_set(err, "bad budget '%s': expected >, >=, <, <=, == or != after '%.*s'",
			  b->text, b->change ? (int)b->change_length : (int)strlen(name), name);
}

int budget_number(const struct budget *b, const char *s, enum figure_unit unit, uint64_t most,
		  uint64_t *value, struct ms_err *err)
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
	bool bare = strspn(number, "0123456789") == n;
	int rc = unit == FIGURE_BYTES ? ms_parse_size(number, value, &why)
		 : unit == FIGURE_TIME && !bare
			 ? ms_parse_duration(number, value, &why)
			 : ms_parse_count(number, "number", 0, most, value, &why);
	if (rc == 0 && *value > most)
		rc = ms_err_set(&why, "too large");
	return rc == 0 ? 0 : ms_err_set(err, "bad budget '%s': %s", b->text, why.text);
}

int budget_parse(const char *text, struct budget *b, struct ms_err *err)
{
	*b = (struct budget){.text = text};
	const char *s = text + strspn(text, BLANK);
	if (parse_site(&s, b, err) != 0 || parse_figure(&s, b, err) != 0)
		return -1;
	s += strspn(s, BLANK);
	if (parse_op(&s, b, err) != 0)
		return -1;
	s += strspn(s, BLANK);
	return b->change ? diff_budget_number(s, b, err)
			 : budget_number(b, s, budget_figure(b)->unit, UINT64_MAX - 1, &b->value,
					 err);
}

int budget_read(const char *path, struct budgets *to, struct ms_arena *arena, struct ms_err *err)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	int rc = 0;
	if (!f)
		return ms_err_set(err, "cannot open '%s': %s", path, strerror(errno));
	errno = 0;
	for (unsigned n = 1; rc == 0 && getline(&line, &size, f) >= 0; n++) {
		struct ms_err why = {0};
		struct budget b;
		line[strcspn(line, "#\r\n")] = 0;
		if (!line[strspn(line, BLANK)])
			continue;
		rc = budget_parse(ms_arena_strndup(arena, line, strlen(line)), &b, &why);
		if (rc != 0)
			ms_err_set(err, "%s:%u: %s", path, n, why.text);
		else
			*MS_PUSH(to) = b;
	}
	if (rc == 0 && ferror(f))
		rc = ms_err_set(err, "cannot read '%s': %s", path, strerror(errno));
	free(line);
	fclose(f);
	return rc;
}

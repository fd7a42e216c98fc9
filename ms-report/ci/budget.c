/* SPDX-License-Identifier: MIT
 * Parses budgets, from options and files.
 */
#include "budget.h"

#include "libcommon/base/err.h"
#include "libcommon/base/meant.h"
#include "libcommon/base/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANK " \t"

const struct budget_part budget_parts[] = {
	[BUDGET_SITE] = {"site", "site"},
	[BUDGET_KEPT_BY] = {"kept", "keeper"},
	[BUDGET_THREAD] = {"thread", "thread"},
	[BUDGET_LABEL] = {"label", "label"},
};
#define PARTS (sizeof budget_parts / sizeof *budget_parts)

/* Lists the figures of what keeps blocks alive; their offsets are in struct live. */
static const struct figure kept_figures[] = {
	{"bytes", FIGURE_BYTES, offsetof(struct live, bytes)},
	{"blocks", FIGURE_COUNT, offsetof(struct live, blocks)},
};

/* Lists the figures of a thread or label at a site: columns of the table site_thread. */
static const struct figure thread_figures[] = {
	{"allocations", FIGURE_COUNT, 0},
	{"allocated_bytes", FIGURE_BYTES, 0},
	{"live_bytes", FIGURE_BYTES, 0},
	{"live_blocks", FIGURE_COUNT, 0},
};

/* Returns the figures that may be named after site(), another part of the run, or none, and their
 * number. */
static const struct figure *figures_for(const struct budget *b, size_t *n)
{
	switch (b->part) {
	case BUDGET_SITE:
		*n = site_figure_count;
		return site_figures;
	case BUDGET_KEPT_BY:
		*n = sizeof kept_figures / sizeof *kept_figures;
		return kept_figures;
	case BUDGET_THREAD:
	case BUDGET_LABEL:
		*n = sizeof thread_figures / sizeof *thread_figures;
		return thread_figures;
	default:
		*n = figure_count + FIGURES_BESIDE;
		return figures;
	}
}

const struct figure *budget_figure(const struct budget *b)
{
	size_t n;
	return &figures_for(b, &n)[b->figure];
}

static bool ends(const char *name, const char *with)
{
	size_t n = strlen(name), k = strlen(with);
	return n > k && strcmp(name + n - k, with) == 0;
}

/* Returns the name of the figure whose change is limited, without a prefix such as "delta_" or
 * "new_". */
static const char *changed(const struct budget *b)
{
	return b->delta && !b->part    ? b->total
	       : b->of == DIFF_FIGURES ? "sites"
				       : diff_figure_names[b->of];
}

enum figure_unit budget_unit(const struct budget *b)
{
	const char *name = b->change ? changed(b) : NULL;
	return !name                  ? budget_figure(b)->unit
	       : ends(name, "_bytes") ? FIGURE_BYTES
	       : ends(name, "_ns")    ? FIGURE_TIME
				      : FIGURE_COUNT;
}

static bool equal(const char *s, size_t n, const char *name)
{
	return strlen(name) == n && memcmp(s, name, n) == 0;
}

/* Parses site("PATTERN"), or another part of the run, if present. */
static int parse_part(const char **s, struct budget *b, struct ms_err *err)
{
	size_t n = strspn(*s, "abcdefghijklmnopqrstuvwxyz_"), i = PARTS;
	while (--i && !equal(*s, n, budget_parts[i].word))
		;
	if (i == BUDGET_WHOLE || (*s)[n + strspn(*s + n, BLANK)] != '(')
		return 0;
	b->part = (enum budget_of)i;
	const char *t = strchr(*s, '(') + 1;
	t += strspn(t, BLANK);
	const char *end = *t == '"' ? strchr(t + 1, '"') : NULL;
	if (!end || end == t + 1)
		return ms_err_set(err, "bad budget '%s': expected %s(\"PATTERN\")", b->text,
				  budget_parts[i].word);
	b->pattern = t + 1;
	b->pattern_length = (size_t)(end - b->pattern);
	end += 1 + strspn(end + 1, BLANK);
	if (*end != ')' || end[1] != '.')
		return ms_err_set(err, "bad budget '%s': expected ').FIGURE' after the pattern",
				  b->text);
	*s = end + 2;
	return 0;
}

/* Looks up the figure named by `s` among the totals, or after site() among the figures of sites.
 * False = none. */
static bool find_figure(const char *s, size_t n, struct budget *b)
{
	size_t count;
	figures_for(b, &count);
	for (b->figure = 0; b->figure < count; b->figure++)
		if (equal(s, n, budget_figure(b)->name))
			return true;
	return false;
}

/* Finds the figure in "delta_FIGURE". */
static bool find_delta(const char *s, size_t n, struct budget *b)
{
	b->of = diff_figure_named(s, n);
	if (b->part)
		return b->of != DIFF_FIGURES;
	bool live = b->of == DIFF_LIVE || b->of == DIFF_LIVE_BLOCKS,
	     total = find_figure(s, n, b) && b->figure < figure_count;
	b->total = total ? figures[b->figure].name : live ? diff_figure_names[b->of] : NULL;
	return b->total;
}

/* Finds a figure of a change, such as "delta_peak_bytes" or "new_sites". False = none. */
static bool find_change(const char *s, size_t n, struct budget *b)
{
	b->delta = b->part <= BUDGET_SITE && n > 6 && memcmp(s, "delta_", 6) == 0;
	if (!b->part && equal(s, n, "max_kept_growth")) {
		b->kind = BUDGET_KEPT;
		b->of = DIFF_LIVE; /* a figure in bytes */
		return true;
	}
	if (b->delta || b->part)
		return b->delta && find_delta(s + 6, n - 6, b);
	for (b->kind = 0; b->kind <= BUDGET_RENAMED; b->kind++) {
		const char *kind = b->kind == BUDGET_RENAMED ? "renamed" : diff_kind_names[b->kind];
		size_t p = strlen(kind);
		if (n <= p || memcmp(s, kind, p) != 0 || s[p] != '_')
			continue;
		b->of = diff_figure_named(s + p + 1, n - p - 1);
		return equal(s + p + 1, n - p - 1, "sites") ||
		       (b->of != DIFF_FIGURES && b->kind < DIFF_UNCHANGED);
	}
	return false;
}

/* Returns a suggestion for a misspelled figure: the first name that begins with these words,
 * preferably one in bytes, else the most similar name; NULL = none. */
static const char *meant(const char *s, size_t n, const struct budget *b)
{
	struct ms_meant near = {0};
	const char *longer = NULL;
	size_t count;
	const struct figure *all = figures_for(b, &count);
	for (size_t i = 0; i < count && n; i++) {
		const char *name = all[i].name;
		ms_meant_try(&near, s, n, name);
		if (strncmp(name, s, n) == 0 && name[n] == '_' &&
		    (!longer || (ends(name, "_bytes") && !ends(longer, "_bytes"))))
			longer = name;
	}
	return longer ? longer : near.word;
}

static int parse_figure(const char **s, struct budget *b, struct ms_err *err)
{
	size_t n = strspn(*s, "abcdefghijklmnopqrstuvwxyz_");
	b->change = find_change(*s, n, b);
	if (!b->change && !find_figure(*s, n, b)) {
		size_t delta =
			b->part <= BUDGET_SITE && n > 6 && memcmp(*s, "delta_", 6) == 0 ? 6 : 0;
		const char *word = meant(*s + delta, n - delta, b);
		return ms_err_set(err,
				  "bad budget '%s': %s%sno figure '%.*s'%s%s%s%s (see FIGURES in "
				  "ms-report(1))",
				  b->text, b->part ? budget_parts[b->part].word : "",
				  b->part ? "() has " : "", (int)strcspn(*s, BLANK "<>=!"), *s,
				  word ? ": did you mean " : "", word && delta ? "delta_" : "",
				  word ? word : "", word ? "?" : "");
	}
	*s += n;
	return 0;
}

/* Parses the operator. `name`: the `n` bytes before it, for the message. */
static int parse_op(const char **s, struct budget *b, const char *name, size_t n,
		    struct ms_err *err)
{
	if (ms_op_read(s, &b->op))
		return 0;
	return ms_err_set(err, "bad budget '%s': expected >, >=, <, <=, == or != after '%.*s'",
			  b->text, (int)n, name);
}

static int parse_percent(const char *number, size_t n, struct budget *b, struct ms_err *err)
{
	char *end;
	if (!b->delta)
		return ms_err_set(err, "bad budget '%s': only delta_ figures take percentages",
				  b->text);
	b->share = strtod(number, &end);
	end += strspn(end, BLANK);
	if (strspn(number, "0123456789.") == 0 || end != number + n || n >= 64)
		return ms_err_set(err, "bad budget '%s': expected a percentage such as 5%%",
				  b->text);
	b->percent = true;
	return 0;
}

static int parse_number(const char *s, struct budget *b, struct ms_err *err)
{
	char number[64];
	if (b->delta && (*s == '+' || *s == '-')) {
		b->negative = *s == '-';
		s += 1 + strspn(s + 1, BLANK);
	}
	size_t n = strlen(s);
	while (n && strchr(BLANK, s[n - 1]))
		n--;
	if (b->change && n && s[n - 1] == '%')
		return parse_percent(s, n - 1, b, err);
	if (n == 0 || n >= sizeof number)
		return ms_err_set(err, "bad budget '%s': expected a number after the comparison",
				  b->text);
	memcpy(number, s, n);
	number[n] = 0;
	struct ms_err why = {0};
	bool bare = strspn(number, "0123456789") == n;
	uint64_t most = b->change ? INT64_MAX : UINT64_MAX - 1;
	enum figure_unit unit = budget_unit(b);
	if (unit == FIGURE_COUNT && !bare && strchr("0123456789.", number[0]))
		return ms_err_set(err,
				  "bad budget '%s': '%s' is a count, which takes no unit: expected "
				  "a whole number, not '%s'",
				  b->text, b->change ? changed(b) : budget_figure(b)->name, number);
	int rc = unit == FIGURE_BYTES ? ms_parse_size(number, &b->value, &why)
		 : unit == FIGURE_TIME && !bare
			 ? ms_parse_duration(number, &b->value, &why)
			 : ms_parse_count(number, "number", 0, most, &b->value, &why);
	if (rc == 0 && b->value > most)
		rc = ms_err_set(&why, "the number is too large");
	return rc == 0 ? 0 : ms_err_set(err, "bad budget '%s': %s", b->text, why.text);
}

int budget_parse(const char *text, struct budget *b, struct ms_err *err)
{
	*b = (struct budget){.text = text};
	const char *s = text + strspn(text, BLANK);
	if (parse_part(&s, b, err) != 0)
		return -1;
	const char *name = s;
	if (parse_figure(&s, b, err) != 0)
		return -1;
	size_t n = (size_t)(s - name);
	s += strspn(s, BLANK);
	if (parse_op(&s, b, name, n, err) != 0)
		return -1;
	return parse_number(s + strspn(s, BLANK), b, err);
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

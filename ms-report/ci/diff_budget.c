/* SPDX-License-Identifier: MIT
 * Budgets about what changed, decided.
 */
#include "budget.h"

#include "ms-report/model/figures.h"
#include "ms-report/words/words.h"
#include "ms-report/words/say.h"

#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

static const char *name_of(const struct budget *b, struct model *m)
{
	return ms_arena_strndup(&m->arena, b->change, b->change_length);
}

/* ---- figures ---- */

/* The sum that "grown_..." is about, and which figure of it (DIFF_FIGURES = sites); NULL: none. */
static const struct diff_sum *sum_of(const struct diff *d, const char *name, int *figure)
{
	const struct diff_sum *s = NULL;
	const char *rest = strchr(name, '_') + 1;
	for (int k = 0; k < DIFF_KINDS; k++)
		if (strncmp(name, diff_kind_names[k], (size_t)(rest - name - 1)) == 0 &&
		    strlen(diff_kind_names[k]) == (size_t)(rest - name - 1))
			s = &d->kinds[k];
	if (strncmp(name, "renamed_", 8) == 0)
		s = &d->renamed;
	*figure = diff_figure_named(rest, strlen(rest));
	return s;
}

/* Of the sites of a pattern: what the figure was, and its change. Not known when filters took
 * sites away that it could be about. */
static struct diff_total sum_sites(const struct budget *b, struct model *m)
{
	const char *name = name_of(b, m) + 6;
	int f = diff_figure_named(name, strlen(name));
	struct diff_total t = {.figure = diff_figure_names[f]};
	for (size_t i = 0; i < m->diff->rows.n; i++) {
		const struct diff_row *x = &m->diff->rows.v[i];
		if (!budget_matches(b, m, x->site))
			continue;
		t.old = delta_add(t.old, x->old[f]);
		t.delta = delta_add(t.delta, x->delta[f]);
	}
	if (m->diff->hidden_sites)
		t.old = t.delta = DELTA_UNKNOWN;
	return t;
}

static const struct diff_total *total_of(const struct budget *b, struct model *m)
{
	const char *name = name_of(b, m);
	if (m->diff && b->site) {
		struct diff_total *t = ms_arena_alloc(&m->arena, sizeof *t);
		*t = sum_sites(b, m);
		return t;
	}
	if (!m->diff || strncmp(name, "delta_", 6) != 0)
		return NULL;
	return diff_total(m->diff, name + 6);
}

bool diff_budget_value(const struct budget *b, struct model *m, int64_t *v)
{
	const char *name = name_of(b, m);
	int figure;
	*v = DELTA_UNKNOWN;
	if (m->diff && strncmp(name, "delta_", 6) == 0) {
		const struct diff_total *t = total_of(b, m);
		*v = t ? t->delta : DELTA_UNKNOWN;
	} else if (m->diff && !m->diff->hidden_sites) {
		const struct diff_sum *s = sum_of(m->diff, name, &figure);
		*v = figure == DIFF_FIGURES ? (int64_t)s->sites : s->figures[figure];
	}
	return *v != DELTA_UNKNOWN;
}

/* The number that the figure is compared with. */
static long double limit_of(const struct budget *b, struct model *m)
{
	long double sign = b->negative ? -1 : 1;
	if (!b->percent)
		return sign * (long double)b->value;
	const struct diff_total *t = total_of(b, m);
	return sign * (long double)b->share / 100 * (long double)(t && t->old > 0 ? t->old : 0);
}

bool diff_budget_waived(const struct budget *b, const struct model *m)
{
	return b->change && m->diff && m->diff->old_missing;
}

enum budget_result diff_budget_check(const struct budget *b, struct model *m)
{
	int64_t v;
	if (diff_budget_waived(b, m))
		return BUDGET_HELD;
	if (!diff_budget_value(b, m, &v))
		return BUDGET_UNDECIDED;
	return budget_holds(b->op, (long double)v, limit_of(b, m));
}

/* ---- the worst ---- */

/* The figure of the sites that makes most of a total. */
static int figure_of_total(const char *total)
{
	static const struct {
		const char *prefix;
		int figure;
	} of[] = {{"peak_bl", DIFF_PEAK_BLOCKS},     {"peak_b", DIFF_PEAK},
		  {"unfreed_bl", DIFF_LIVE_BLOCKS},  {"live_bl", DIFF_LIVE_BLOCKS},
		  {"allocations", DIFF_ALLOCATIONS}, {"allocated", DIFF_ALLOCATED},
		  {"temporary", DIFF_TEMPORARY},     {"frees", DIFF_FREES}};
	for (size_t i = 0; i < sizeof of / sizeof *of; i++)
		if (strncmp(total, of[i].prefix, strlen(of[i].prefix)) == 0)
			return of[i].figure;
	return DIFF_LIVE;
}

const struct site *diff_budget_worst(const struct budget *b, struct model *m)
{
	const struct diff *d = m->diff;
	const char *name = name_of(b, m);
	bool delta = strncmp(name, "delta_", 6) == 0;
	int figure = b->site ? (int)diff_figure_named(name + 6, strlen(name + 6))
		     : delta ? figure_of_total(name + 6)
			     : DIFF_LIVE,
	    kind = -1;
	if (d && !delta)
		sum_of(d, name, &figure);
	for (int k = 0; k < DIFF_KINDS && !delta; k++)
		if (strncmp(name, diff_kind_names[k], strlen(diff_kind_names[k])) == 0)
			kind = k;
	figure = figure == DIFF_FIGURES ? DIFF_LIVE : figure;
	bool least = b->op == BUDGET_LT || b->op == BUDGET_LE;
	const struct diff_row *worst = NULL;
	for (size_t i = 0; d && i < d->rows.n; i++) {
		const struct diff_row *x = &d->rows.v[i];
		int64_t v = x->delta[figure];
		if ((kind >= 0 && (int)x->kind != kind) || v == DELTA_UNKNOWN ||
		    (b->site && !budget_matches(b, m, x->site)) ||
		    (kind < 0 && (least ? v >= 0 : v <= 0)))
			continue;
		if (!worst || (least ? v < worst->delta[figure] : v > worst->delta[figure]))
			worst = x;
	}
	return worst ? worst->site : NULL;
}

/* ---- in words ---- */

static bool is_bytes(const char *name)
{
	size_t n = strlen(name);
	return n > 6 && strcmp(name + n - 6, "_bytes") == 0;
}

const char *diff_budget_amount(const struct budget *b, struct model *m)
{
	const char *name = name_of(b, m);
	bool delta = strncmp(name, "delta_", 6) == 0;
	int64_t v;
	if (!diff_budget_value(b, m, &v))
		return "not known";
	const struct diff_total *t = total_of(b, m);
	const char *share = t ? diff_percent(m, t->delta, t->old) : "";
	const char *plain = SAY(delta && v > 0 ? "+%lld" : "%lld", (long long)v);
	if (is_bytes(name) && (v >= 1024 || v <= -1024))
		return SAY("%s (%s%s%s)", plain, diff_say(m, true, v), *share ? ", " : "", share);
	return *share ? SAY("%s (%s)", plain, share) : plain;
}

bool budget_is_about(const struct budget *b, const char *total)
{
	if (b->change)
		return !b->site && b->change_length == strlen(total) + 6 &&
		       strncmp(b->change, "delta_", 6) == 0 &&
		       memcmp(b->change + 6, total, strlen(total)) == 0;
	return !b->site && strcmp(figures[b->figure].name, total) == 0;
}

const char *budget_allows(const struct budget *b, struct model *m, bool ascii)
{
	static const char *const allowed[] = {[BUDGET_GT] = "\xe2\x89\xa4", [BUDGET_GE] = "<",
					      [BUDGET_LT] = "\xe2\x89\xa5", [BUDGET_LE] = ">",
					      [BUDGET_EQ] = "not",          [BUDGET_NE] = "just"};
	const char *op = allowed[b->op];
	if (ascii && b->op == BUDGET_GT)
		op = "<=";
	if (ascii && b->op == BUDGET_LT)
		op = ">=";
	if (!b->change)
		return SAY("%s %s", op,
			   figures[b->figure].unit == FIGURE_BYTES  ? say_size(m, b->value)
			   : figures[b->figure].unit == FIGURE_TIME ? say_time(m, b->value)
								    : say_count(m, b->value));
	if (b->percent)
		return SAY("%s %c%.4g %%", op, b->negative ? '-' : '+', b->share);
	int64_t v = b->negative ? -(int64_t)b->value : (int64_t)b->value;
	return SAY("%s %s", op, diff_say(m, is_bytes(name_of(b, m)), v));
}

/* SPDX-License-Identifier: MIT
 * Decides budgets on changes.
 */
#include "budget.h"

#include "ms-report/words/words.h"

#include "libcommon/base/order.h"

#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

/* ---- figures ---- */

/* Returns the sums over the sites of the budget's kind, such as "grown". */
static const struct diff_sum *sum_of(const struct diff *d, const struct budget *b)
{
	return b->kind == BUDGET_RENAMED ? &d->renamed : &d->kinds[b->kind];
}

/* Adds up the old figures and the changes of the sites that match. The sums are unknown if filters
 * hid sites that could match. */
static struct diff_total sum_sites(const struct budget *b, struct model *m)
{
	enum diff_figure f = b->of;
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
	if (!m->diff || !b->delta)
		return NULL;
	if (!b->part)
		return diff_total(m->diff, b->total);
	struct diff_total *t = ms_arena_alloc(&m->arena, sizeof *t);
	*t = sum_sites(b, m);
	return t;
}

/* Stores the change that the budget limits in `v`. Returns false if it is not known, or there is no
 * comparison. */
static bool value_of(const struct budget *b, struct model *m, int64_t *v)
{
	const struct diff_total *t = total_of(b, m);
	*v = t ? t->delta : DELTA_UNKNOWN;
	if (b->kind == BUDGET_KEPT && !b->delta) {
		/* the largest increase is first */
		const struct kept_change *x = m->diff ? m->diff->kept.v : NULL;
		*v = !m->diff || !m->diff->kept.n ? DELTA_UNKNOWN : x->delta > 0 ? x->delta : 0;
		return *v != DELTA_UNKNOWN;
	}
	if (m->diff && !b->delta && !m->diff->hidden_sites) {
		const struct diff_sum *s = sum_of(m->diff, b);
		*v = b->of == DIFF_FIGURES ? (int64_t)s->sites : s->figures[b->of];
	}
	return *v != DELTA_UNKNOWN;
}

/* Returns the limit that the change is compared with. */
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
	if (!value_of(b, m, &v))
		return BUDGET_UNDECIDED;
	return budget_holds(b->op, (long double)v, limit_of(b, m));
}

/* ---- the site that changed most ---- */

/* Returns the figure of a site that is part of a total, such as DIFF_PEAK of "peak_bytes". */
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

/* Ranks a row as the cause of a change: 2 if `figure` changed by more than noise, 1 if the row is
 * significant for another reason, else 0. */
static int trust(const struct diff_row *x, int figure)
{
	return x->changed & 1U << figure ? 2 : x->significant;
}

const struct site *diff_budget_worst(const struct budget *b, struct model *m)
{
	const struct diff *d = m->diff;
	if (b->kind == BUDGET_KEPT && !b->delta)
		return d && d->kept.n ? d->kept.v[0].below : NULL;
	int figure = b->delta && !b->part    ? figure_of_total(b->total)
		     : b->of == DIFF_FIGURES ? DIFF_LIVE
					     : (int)b->of,
	    kind = b->delta || b->kind == BUDGET_RENAMED ? -1 : b->kind;
	bool least = b->op == MS_OP_LT || b->op == MS_OP_LE;
	const struct diff_row *worst = NULL;
	for (size_t i = 0; d && i < d->rows.n; i++) {
		const struct diff_row *x = &d->rows.v[i];
		int64_t v = diff_blame(x, (enum diff_figure)figure);
		if ((kind >= 0 && (int)x->kind != kind) || v == DELTA_UNKNOWN ||
		    (b->part && !budget_matches(b, m, x->site)) ||
		    (kind < 0 && (least ? v >= 0 : v <= 0)))
			continue;
		int better = worst ? MS_ORDER(trust(x, figure), trust(worst, figure)) : 1;
		int64_t most = worst ? diff_blame(worst, (enum diff_figure)figure) : 0;
		if (better > 0 || (better == 0 && (least ? v < most : v > most)))
			worst = x;
	}
	return worst ? worst->site : NULL;
}

/* ---- text ---- */

const char *diff_budget_amount(const struct budget *b, struct model *m)
{
	int64_t v;
	if (!value_of(b, m, &v))
		return "not known";
	const struct diff_total *t = total_of(b, m);
	const char *share = t ? diff_percent(m, t->delta, t->old) : "";
	const char *plain = SAY(b->delta && v > 0 ? "+%lld" : "%lld", (long long)v);
	if (budget_unit(b) == FIGURE_BYTES && (v >= 1024 || v <= -1024))
		plain = SAY("%s (%s%s%s)", plain, diff_say(m, true, v), *share ? ", " : "", share);
	else if (*share)
		plain = SAY("%s (%s)", plain, share);
	const char *moments = budget_is_about(b, "peak_bytes") ? diff_moments(m) : NULL;
	return moments ? SAY("%s: %s", plain, moments) : plain;
}

bool budget_is_about(const struct budget *b, const char *total)
{
	const char *name = !b->change ? budget_figure(b)->name : b->delta ? b->total : NULL;
	return !b->part && name && strcmp(name, total) == 0;
}

const char *budget_allows(const struct budget *b, struct model *m, bool ascii)
{
	static const char *const allowed[] = {[MS_OP_GT] = "\xe2\x89\xa4", [MS_OP_GE] = "<",
					      [MS_OP_LT] = "\xe2\x89\xa5", [MS_OP_LE] = ">",
					      [MS_OP_EQ] = "not",          [MS_OP_NE] = "just"};
	const char *op = allowed[b->op];
	if (ascii && b->op == MS_OP_GT)
		op = "<=";
	if (ascii && b->op == MS_OP_LT)
		op = ">=";
	if (!b->change)
		return SAY("%s %s", op, budget_said(b, m, b->value));
	if (b->percent)
		return SAY("%s %c%.4g %%", op, b->negative ? '-' : '+', b->share);
	int64_t v = b->negative ? -(int64_t)b->value : (int64_t)b->value;
	return SAY("%s %s", op, diff_say(m, budget_unit(b) == FIGURE_BYTES, v));
}

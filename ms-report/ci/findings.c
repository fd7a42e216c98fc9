/* SPDX-License-Identifier: MIT
 * Collects findings from budgets, verdicts and the quality of the recording.
 */
#include "ci.h"

#include "ms-report/model/lists.h"
#include "ms-report/words/words.h"
#include "ms-report/words/names.h"

#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

const struct rule finding_rules[RULE_COUNT] = {
	{"memscope/budget", "Budget broken", "A figure of the run exceeds its budget.",
	 LEVEL_ERROR},
	{"memscope/undecided", "Budget not checked",
	 "The figure of this budget is not available, so it neither passed nor failed.",
	 LEVEL_ERROR},
	{"memscope/unreachable", "Unreachable memory",
	 "When the process was scanned, nothing pointed to these blocks: they have leaked.",
	 LEVEL_ERROR},
	{"memscope/growing", "Growing memory",
	 "Live memory of this call stack grew throughout the run, as a leak does.", LEVEL_WARNING},
	{"memscope/regression", "More memory than before",
	 "What this call stack holds or allocates grew by more than noise since the old run.",
	 LEVEL_WARNING},
	{"memscope/incomplete", "Incomplete recording",
	 "The recording does not cover the whole run.", LEVEL_WARNING},
};
const char *const finding_levels[] = {"note", "warning", "error"};

/* Returns a key that survives changes of lines and addresses: the function names from the
 * allocation outwards, with their modules. */
static const char *site_key(struct model *m, enum finding_rule rule, const struct site *s)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (uint32_t n = s ? s->stack : NONE; n != NONE; n = m->nodes.v[n].parent) {
		const struct frame *f = &m->frames.v[m->nodes.v[n].frame];
		const char *path = f->module == NONE ? NULL : m->modules.v[f->module].path;
		const char *words[] = {f->function ? f->function : frame_name(&m->arena, m, f),
				       path ? base_name(path) : ""};
		for (unsigned i = 0; i < 2; i++)
			for (const char *c = words[i];; c++) {
				hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
				if (!*c)
					break;
			}
	}
	return SAY("%s:%016llx", finding_rules[rule].id, (unsigned long long)hash);
}

static const char *site_name(struct model *m, const struct site *s)
{
	const struct frame *f = site_frame(m, s);
	return f ? frame_label(&m->arena, m, f, &(struct style){0}) : "a call without a stack";
}

static struct finding *add(struct findings *f, enum finding_rule rule, const char *message,
			   const struct site *site, const char *key)
{
	struct finding *x = MS_PUSH(f);
	*x = (struct finding){.rule = rule,
			      .level = finding_rules[rule].level,
			      .message = message,
			      .site = site,
			      .key = key};
	return x;
}

/* ---- budgets ---- */

static void add_budgets(struct model *m, const struct budgets *budgets, bool partial,
			struct findings *f)
{
	const char *why = partial ? NULL : budget_untrusted(m);
	for (size_t i = 0; i < budgets->n; i++) {
		const struct budget *b = &budgets->v[i];
		const char *apart = partial ? NULL : budget_apart(b, m);
		enum budget_result r = why || apart ? BUDGET_UNDECIDED : budget_check(b, m);
		if (r == BUDGET_HELD)
			continue;
		bool broken = r == BUDGET_BROKEN;
		enum finding_rule rule = broken ? RULE_BUDGET : RULE_UNDECIDED;
		const struct site *site = broken ? budget_worst(b, m) : NULL;
		const char *at = site ? SAY("; most of it at %s", site_name(m, site)) : "";
		const char *message = broken ? SAY("budget '%s' is broken: the figure is %s%s",
						   b->text, budget_amount(b, m), at)
					     : SAY("budget '%s' cannot be checked: %s", b->text,
						   why     ? why
						   : apart ? apart
							   : budget_unknown(b, m));
		add(f, rule, message, site, SAY("%s:%s", finding_rules[rule].id, b->text))->budget =
			b;
	}
}

/* ---- verdicts ---- */

static const char *verdict_message(struct model *m, const struct site *s, enum finding_rule rule)
{
	struct live of = rule == RULE_UNREACHABLE ? s->direct : s->end;
	const char *what = SAY("%s of %s", say_live(m, of), site_name(m, s));
	if (rule != RULE_UNREACHABLE)
		return SAY("%s: live memory grew throughout the run", what);
	if (s->with.blocks)
		what = SAY("%s, + %s lost with it", what, say_live(m, s->with));
	return SAY("%s: unreachable at the end", what);
}

/* Lowers a finding to a note if the old runs of a comparison have it too, because then the change
 * did not cause it; to a warning if the old runs were not scanned. */
static void weigh_verdict(struct model *m, struct finding *x)
{
	const char *known = m->diff ? m->diff->known[x->site - m->sites.v] : NULL;
	if (known && strcmp(known, x->site->verdict) == 0) {
		x->level = LEVEL_NOTE;
		x->message = SAY("%s, in the old runs too", x->message);
	} else if (known && strcmp(known, "unknown") == 0) {
		x->level = LEVEL_WARNING;
		x->message =
			SAY("%s; the old runs held blocks here, but were not scanned", x->message);
	}
}

/* Adds a finding for each growing site, or for each site with leaked blocks that no other block
 * points to. */
static void add_verdicts(struct model *m, struct findings *f, enum finding_rule rule)
{
	bool leaks = rule == RULE_UNREACHABLE;
	struct list l = list_sites(m, leaks ? METRIC_UNREACHABLE : METRIC_LIVE, m->sites.n);
	for (size_t i = 0; i < l.n; i++) {
		const struct site *s = l.rows[i];
		if (leaks ? !s->direct.blocks : !s->verdict || strcmp(s->verdict, "growing") != 0)
			continue;
		weigh_verdict(m,
			      add(f, rule, verdict_message(m, s, rule), s, site_key(m, rule, s)));
	}
}

/* ---- results of a comparison ---- */

/* Returns "+64 KiB of f live at the end, +64 KiB at the peak", with the change of allocations if
 * that counts. */
static const char *growth_words(struct model *m, const struct diff_row *x)
{
	const char *name = site_name(m, x->site);
	const char *peak = diff_say(m, true, diff_blame(x, DIFF_PEAK));
	const char *held = SAY("%s of %s live at the end, %s at the peak",
			       diff_say(m, true, x->delta[DIFF_LIVE]), name, peak);
	const char *churn =
		SAY("%s allocated, %s allocation%s", diff_say(m, true, x->delta[DIFF_ALLOCATED]),
		    diff_say(m, false, x->delta[DIFF_ALLOCATIONS]),
		    x->delta[DIFF_ALLOCATIONS] == 1 || x->delta[DIFF_ALLOCATIONS] == -1 ? "" : "s");
	return !diff_churned(x) ? held
	       : diff_held(x)   ? SAY("%s, %s", held, churn)
				: SAY("%s by %s", churn, name);
}

static void add_regressions(struct model *m, struct findings *f)
{
	const struct diff *d = m->diff;
	for (size_t i = 0; d && i < d->significant; i++) {
		const struct diff_row *x = &d->rows.v[i];
		if (!diff_grew(d, x))
			continue;
		const char *message = SAY("%s: %s", growth_words(m, x),
					  x->kind == DIFF_NEW ? "this site is new"
							      : "it grew by more than noise");
		add(f, RULE_REGRESSION, message, x->site, site_key(m, RULE_REGRESSION, x->site));
	}
}

struct findings findings_make(struct model *m, const struct budgets *budgets, bool partial)
{
	struct findings f = {.budgets = budgets->n};
	add_budgets(m, budgets, partial, &f);
	add_verdicts(m, &f, RULE_UNREACHABLE);
	add_verdicts(m, &f, RULE_GROWING);
	add_regressions(m, &f);
	const char *why = words_incomplete(m), *id = finding_rules[RULE_INCOMPLETE].id;
	if (why)
		add(&f, RULE_INCOMPLETE, SAY("the recording is incomplete: %s", why), NULL, id);
	why = diff_unmatched(m);
	if (why)
		add(&f, RULE_INCOMPLETE, SAY("the comparison is incomplete: %s", why), NULL,
		    SAY("%s:symbols", id))
			->compared = true;
	return f;
}

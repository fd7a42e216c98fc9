/* SPDX-License-Identifier: MIT
 * Budgets such as "unfreed_bytes > 64k": which figure is limited, and whether a recording breaks
 * the limit.
 */
#pragma once

#include "libcommon/base/operator.h"
#include "ms-report/model/diff.h"
#include "ms-report/model/figures.h"

struct ms_err;

/* Lists what a budget limits a figure of: the whole run, or the part of it that a pattern names. */
enum budget_of {
	BUDGET_WHOLE,
	BUDGET_SITE,    /* sites by the first function of your own code */
	BUDGET_KEPT_BY, /* what variables, frames and others keep alive */
	BUDGET_THREAD,  /* what threads of that name allocated */
	BUDGET_LABEL,   /* what was allocated under that label */
};
struct budget_part {
	const char *word; /* before the parenthesis in a budget */
	const char *what; /* what the pattern matches, in messages */
};
extern const struct budget_part budget_parts[];

struct budget {
	const char *text;    /* the budget as typed; borrowed */
	enum budget_of part; /* with `pattern` unless BUDGET_WHOLE */
	const char *pattern; /* within `text`, pattern_length bytes */
	size_t pattern_length;
	size_t figure; /* index in the list of figures of `part` */
	enum ms_op op;
	uint64_t value;
	/* `change`: the budget limits a change between two runs. `delta`: the change is that of one
	 * figure, summed over the matching sites if `site` is set; otherwise (no `delta`), the
	 * change is counted or summed over all sites of `kind`. */
	bool change, delta;
	const char *total;
	int kind;               /* enum diff_kind, BUDGET_RENAMED or BUDGET_KEPT */
	enum diff_figure of;    /* figure that changes; DIFF_FIGURES = number of sites */
	double share;           /* limit in per cent of the old figure, if `percent` */
	bool percent, negative; /* `negative`: the number has a minus sign */
};
#define BUDGET_RENAMED DIFF_KINDS
#define BUDGET_KEPT (DIFF_KINDS + 1) /* the largest increase of what a keeper keeps */

struct budgets {
	struct budget *v;
	size_t n, cap;
};

enum budget_result { BUDGET_HELD, BUDGET_BROKEN, BUDGET_UNDECIDED };

/* budget = [ ( "site" | "kept" | "thread" | "label" ) "(" '"' pattern '"' ")" "." ] figure op number figure = a name of "totals" in
 * the JSON report, or after site(): of its sites; or change change = "delta_" and a name of
 * "totals" in the JSON report, "delta_live_bytes", "delta_live_blocks"; "new_", "gone_", "grown_",
 * "shrunk_" and "sites" or a figure of a site; "unchanged_sites", "renamed_sites",
 * "unmatched_sites", "max_kept_growth". After kept(): "bytes", "blocks". After
 * thread() and label(): "allocations", "allocated_bytes", "live_bytes", "live_blocks". After site(): "delta_" and a figure of a site, summed over those of the
 * pattern op     = ">" | ">=" | "<" | "<=" | "==" | "=" | "!=" number = [ "+" | "-" ] digits [ "."
 * digits ] [ unit | "%" ]     k, M, G, T for bytes; ns, us, ms, s, m, h for times (bare: ns);
 * counts have no unit; a sign, and per cent of the old figure, for delta_ only with blanks anywhere
 * between. The budget is broken when the comparison is true. Returns 0, or -1 with `err` set. */
int budget_parse(const char *text, struct budget *b, struct ms_err *err);
/* Adds the budgets of a file, one per line; empty lines and text after a # are ignored. Copies the
 * text to `arena`. Returns 0, or -1 with `err` set: the message has file and line. */
int budget_read(const char *path, struct budgets *to, struct ms_arena *arena, struct ms_err *err);

/* Returns the figure that is limited; not for a budget on a change. */
const struct figure *budget_figure(const struct budget *b);
enum figure_unit budget_unit(const struct budget *b);

/* ---- budget_check.c ---- */

/* Checks a budget. With site() it limits the sum over all sites whose name (the first frame of user
 * code, with or without parameters) matches. Undecided if the figure is not known, or if filters
 * hid sites that could match. */
enum budget_result budget_check(const struct budget *b, struct model *m);
/* Compares a figure with the limit of a budget. */
enum budget_result budget_holds(enum ms_op op, long double v, long double limit);
/* Returns the site with the largest share of the budget's figure; NULL if sites do not have that
 * figure, or it is 0. */
const struct site *budget_worst(const struct budget *b, struct model *m);
/* Returns a figure as text in the budget's unit. */
const char *budget_said(const struct budget *b, struct model *m, uint64_t v);
/* Returns the current value of the budget's figure as text: "1.2 MiB (1244756)". */
const char *budget_amount(const struct budget *b, struct model *m);
/* Tells whether the budget held only because the run was too short to tell growth from start-up. */
bool budget_too_short(const struct budget *b, const struct model *m);
/* Returns the reason why the budget is BUDGET_UNDECIDED. */
const char *budget_unknown(const struct budget *b, struct model *m);
/* Returns the reason why a budget on the sites of a comparison cannot be decided, or NULL: it is
 * not known whether some sites changed. */
const char *budget_apart(const struct budget *b, struct model *m);
/* Tells whether the budget's pattern matches the name of the site. */
bool budget_matches(const struct budget *b, struct model *m, const struct site *s);
/* Tells whether the pattern of site() matches no site, and filters hid none; or that of kept(),
 * thread() or label() nothing of its kind. */
bool budget_matches_none(const struct budget *b, struct model *m);
/* Returns the reason why budgets cannot be decided on this recording, or NULL. */
const char *budget_untrusted(struct model *m);

/* ---- diff_budget.c ---- */

enum budget_result diff_budget_check(const struct budget *b, struct model *m);
/* Returns the site with the largest change of the budget's figure, or NULL. */
const struct site *diff_budget_worst(const struct budget *b, struct model *m);
/* Returns the change as text: "+66560 (+65.0 KiB)". */
const char *diff_budget_amount(const struct budget *b, struct model *m);
/* Tells whether the budget held because a missing old run was allowed. */
bool diff_budget_waived(const struct budget *b, const struct model *m);

/* Tells whether a budget limits the figure `total` of the whole run or its change; used for a table
 * of totals. */
bool budget_is_about(const struct budget *b, const char *total);
/* Returns the values that the budget allows: "<= +1.0 MiB". */
const char *budget_allows(const struct budget *b, struct model *m, bool ascii);

/* SPDX-License-Identifier: MIT
 * A comparison in words and figures, as every format for people shows it.
 */
#ifndef REPORT_DIFF_WORDS_H
#define REPORT_DIFF_WORDS_H

#include "ms-report/model/diff.h"

/* Why budgets on changes cannot be decided, or why the result is incomplete; NULL = no reason. */
const char *diff_untrusted(struct model *m);
const char *diff_incomplete(struct model *m);
/* Of which sites nobody can tell whether they changed, and why; NULL = of none. */
const char *diff_unmatched(struct model *m);

/* "+6.1 MiB", "-12", "0"; n/a. For people. */
const char *diff_say(struct model *m, bool bytes, int64_t delta);
/* " +4.2 %" of `old`, or "". */
const char *diff_percent(struct model *m, int64_t delta, int64_t old);
/* A figure itself. */
const char *diff_value(struct model *m, bool bytes, int64_t v);
/* The figures of the first table, with their names for people. */
struct diff_line {
	const char *title;
	const struct diff_total *total;
	bool bytes;
	bool per;                                 /* is told per operation */
	const char *old, *new, *change, *percent; /* as they are told */
	bool noise; /* several runs of each side say that the change is none */
};
size_t diff_lines(struct model *m, struct diff_line out[12]);
/* "3 runs", "1 run"; "12 within noise, 1,204 unchanged, ..." */
const char *diff_rest(struct model *m);
/* What the comparison is worth: "one run of each: ...", and so on. */
const char *diff_worth(struct model *m);
/* How far runs of one build are apart at the peak: "noise +-0.3 %"; NULL with one run of each. */
const char *diff_noise(struct model *m);

#endif

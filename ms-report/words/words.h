/* SPDX-License-Identifier: MIT
 * Room words: how a fact is said, in whatever format.
 *   In:  the model, and how names are to be shown (names.h).
 *   Out: figures (say.h), sentences (this header), names made harmless, tables of typed cells
 *        (table.h); page.h is what every writer is given.
 *   Used by: text, html, export, ci, diff.
 *
 * Sentences about a recording that every format for people shows: who ran, what the figures are
 * worth, why there are none.
 */
#pragma once

#include "say.h"

#include "ms-report/model/diff.h"
#include "ms-report/model/lists.h"

struct style;

/* The arguments of a process, raw: from its JSON array, else just the program's name. Returns how
 * many, at least 1. */
size_t command_arguments(struct model *m, const struct process *p, const char ***out);

/* "orderd --config prod.toml", "pid 4117 on web-3", "2026-11-20 14:02:11 UTC", "ran 1h 12m 08s",
 * "exit 0"; cleaned. */
struct words words_who(struct model *m, const struct style *st);
/* "complete", "every event", "all stacks complete", ... */
struct words words_quality(struct model *m);
/* Why the figures are not whole, one sentence; NULL when they are. */
const char *words_incomplete(struct model *m);
/* Why there is nothing to show, one sentence; NULL when there is something: nothing recorded, or
 * all hidden by filters. */
const char *words_nothing(struct model *m, const struct style *st);
/* "no allocation in 2.998 s": of processes that were attached to and made none; else NULL. */
const char *words_idle(struct model *m);
/* "12 sites with 3.1 MiB at the end (--min 1k)", or "nothing by filters"; cleaned. */
const char *words_hidden(struct model *m, const struct style *st);

/* ---- words_totals.c ---- */

/* ", of image 3 of 5, app": of which image a figure of several is; NULL = not of one alone. */
const char *words_image(struct model *m, uint32_t image);
/* "2.7 MiB in 400 blocks, gone with the 4 images that became others"; NULL = none did. */
const char *words_exec(struct model *m);
/* Says how much of what is live at the report's moment is unreachable, or that (and why) nobody
 * knows. */
const char *words_verdict(struct model *m);
/* Says how the scan at the end differs from others: "pointers at any byte (--leak-check=align)"; none
 * where it does not. */
struct words words_scan_terms(struct model *m);
/* Says why the scan at the end told nothing; NULL = it did, or there was none. */
const char *words_unscanned(const struct model *m);
/* "named as one-time runtime: 73.0 KiB (ms-filter --only=one-time)", of what is live at the moment that
 * the report is about; NULL when nothing is. */
const char *words_one_time(struct model *m);

/* Says the share of what churns ("26 % of all calls"), of the busiest site, and of the one that
 * allocated most (the only row of such a list): "95 % of calls and 46 % of bytes, 94 % temporary",
 * "92 % of bytes in 10 calls"; `both`: it is both. words_besides has what else is said of it: its
 * mean size, its thread; cleaned. */
const char *words_share(struct model *m, const struct list *l, bool both);
struct words words_besides(struct model *m, const struct site *s, const struct style *st);
/* Says how much churns: "344,662 blocks", "99 % freed within 10 allocations", "5 sites, the busiest
 * #22". */
struct words words_churn(struct model *m, const struct site *s);
/* ", 97 % freed within 10 allocations" of all allocations: what is freed before its thread's next one
 * is a part of that. "" where there is little more of it. */
const char *words_soon(struct model *m);

/* "RSS 2.6 GiB: live 1.8 GiB + slack 90 MiB + mapped 400 MiB, 300 MiB other" of the moments called
 * `label`; NULL where neither slack nor mapped is known. */
const char *words_rss(struct model *m, const char *label);
/* Says where resident memory is when most of it is no live heap, as /proc said; NULL = it is live
 * heap, or little, or what was there before is not known. */
const char *words_elsewhere(struct model *m);
/* Says that, or where it is at the end when most of RSS is no live heap only then: memory that was
 * freed and is still resident. */
const char *words_beside_heap(struct model *m);
/* Says "born 1s..2s and alive at end: 97.3 KiB in 692 blocks": which blocks ms-filter has chosen,
 * by when they were allocated and a moment at which they were live; NULL = by neither. */
const char *words_born(struct model *m);
/* "at 22 ms"; "between samples" where the kernel alone saw the peak of RSS. */
const char *words_rss_peak_time(struct model *m);

/* ---- unrecorded_words.c ---- */

/* Says what the processes of recordings that began in mid-run had already. */
void unrecorded_before(struct model *m, struct words *w);
/* Says late starts, pauses, dropped events, and what was inherited by fork. */
void unrecorded_words(struct model *m, struct words *w);
/* The head of a list of sites at the peak, when the peak of the run lies in what was dropped; else
 * NULL. */
const char *unrecorded_peak(struct model *m);

/* ---- run_words.c ---- */

struct run;
struct table;
/* Says which of its processes the report is of, in a sentence; run_table has the processes by their
 * peaks. */
const char *run_words(struct model *m, const struct run *r, const struct style *st);
struct table run_table(struct model *m, const struct run *r, const struct style *st);

/* ---- diff_words.c ---- */

/* Says why budgets on changes cannot be decided, or why the result is incomplete; NULL = no
 * reason. */
const char *diff_untrusted(struct model *m);
const char *diff_incomplete(struct model *m);
/* Says of which sites nobody can tell whether they changed, and why; NULL = of none. */
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
/* When the peaks were, if they are of different phases: "now at 1.5 s, was at 0.5 s"; else NULL. */
const char *diff_moments(struct model *m);
/* Returns the metric that charts of the comparison begin with: the figure that changed most in the
 * first place that changed by more than noise, or in any; `otherwise` when none did. */
enum metric diff_metric(const struct diff *d, enum metric otherwise);
/* The list of rows on a first screen: what it is called; how many of its rows, `limit` at most, are worth
 * a line: those that are more than noise, or, where there are none, the largest changes; and what
 * became of a row: "new, LEAK". */
const char *diff_title(struct model *m, const struct diff_rows *r);
size_t diff_rows_shown(const struct diff_rows *r, size_t limit);
const char *diff_what(struct model *m, const struct diff_row *x);
/* "3 runs", "1 run"; "12 within noise, 1,204 unchanged, ..." */
const char *diff_rest(struct model *m, const struct diff_rows *r);
/* Says what the comparison is worth: "one run of each: ...", and so on. */
const char *diff_worth(struct model *m);
/* How far runs of one build are apart at the peak: "noise +-0.3 %"; NULL with one run of each. */
const char *diff_noise(struct model *m);

/* SPDX-License-Identifier: MIT
 * Room words: facts as text, for any format.
 *   In:  the model, and the style of names (names.h).
 *   Out: figures (say.h), sentences (this header), escaped names, tables of typed cells (table.h);
 *        page.h is what every writer is given.
 *   Used by: text, html, export, ci, diff.
 *
 * Sentences about a recording for people, in any format: what ran, the quality of the figures, why
 * there are none.
 */
#pragma once

#include "say.h"

#include "ms-report/model/diff.h"
#include "ms-report/model/lists.h"

struct style;

/* Sets *out to the arguments of a process, not cleaned: from its JSON array, else only the
 * program's name. Returns their number, at least 1. */
size_t command_arguments(struct model *m, const struct process *p, const char ***out);

/* Returns what ran: "orderd --config prod.toml", "pid 4117 on web-3", "2026-11-20 14:02:11 UTC",
 * "ran 1h 12m 08s", "exit 0"; cleaned. */
struct words words_who(struct model *m, const struct style *st);
/* Returns the quality of the recording: "complete", "every event", "all stacks complete", ... */
struct words words_quality(struct model *m);
/* Returns why figures are incomplete, in one sentence; NULL = they are complete. */
const char *words_incomplete(struct model *m);
/* Returns why there is nothing to show (nothing recorded, or all hidden by filters), in one
 * sentence; NULL = there is something. */
const char *words_nothing(struct model *m, const struct style *st);
/* Returns "no allocation in 2.998 s" for attached processes that made none; else NULL. */
const char *words_idle(struct model *m);
/* Returns what filters hide: "12 sites with 3.1 MiB at the end (--min 1k)", or "nothing by
 * filters"; cleaned. */
const char *words_hidden(struct model *m, const struct style *st);

/* ---- words_totals.c ---- */

/* Returns which image a figure belongs to: ", in program 3 of 5, app", or without exec, which
 * process; NULL for image NONE. */
const char *words_image(struct model *m, uint32_t image);
/* Returns the memory that program images held when exec replaced them: "2.7 MiB in 400 blocks, gone
 * with the 4 images that exec replaced"; NULL = there was no exec. */
const char *words_exec(struct model *m);
/* Returns how much of the memory live at the report's moment is unreachable, or that (and why) this
 * is not known. */
const char *words_verdict(struct model *m);
/* Returns how the scan at the end differs from the default: "pointers at any byte
 * (--leak-check=align)"; none if it does not. */
struct words words_scan_terms(struct model *m);
/* Returns why the scan at the end has no result; NULL = it has one, or there was no scan. */
const char *words_unscanned(const struct model *m);
/* Returns how much of the memory live at the report's moment is one-time allocations of the
 * runtime; NULL = none. */
const char *words_one_time(struct model *m);

/* Returns the share of the busiest site, "95 % of calls and 46 % of bytes, 94 % temporary"; of
 * churning sites, "26 % of all calls"; or of the site that allocated most, "92 % of bytes in 10
 * calls". `both`: the row has the most calls and bytes. words_besides returns its mean size and
 * thread; cleaned. */
const char *words_share(struct model *m, const struct list *l, bool both);
struct words words_besides(struct model *m, const struct site *s, const struct style *st);
/* Returns how much churns: "344,662 blocks", "99 % freed within 10 allocations", "5 sites, the
 * busiest #22". */
struct words words_churn(struct model *m, const struct site *s);
/* Returns the share of allocations that are freed soon, including temporary ones (freed before the
 * thread's next allocation): ", 97 % freed within 10 allocations"; "" if few but temporary ones are
 * freed soon. */
const char *words_soon(struct model *m);

/* Returns the parts of RSS at the moments called `label`: "RSS 2.6 GiB: live 1.8 GiB + slack 90 MiB
 * + mapped 400 MiB, 300 MiB other"; NULL = neither slack nor mapped is known. */
const char *words_rss(struct model *m, const char *label);
/* Returns the parts of peak RSS from /proc if most of it is not live heap; NULL if most is live
 * heap, RSS is small, or earlier blocks are unknown. */
const char *words_elsewhere(struct model *m);
/* Returns words_elsewhere. If that is NULL, but most of RSS is not live heap at the end, returns
 * the parts of RSS at the end: memory that was freed and is still resident. */
const char *words_beside_heap(struct model *m);
/* Returns a text about the blocks that ms-filter chose by time of allocation, or because they were
 * live at a moment: "born 1s..2s and alive at end: 97.3 KiB in 692 blocks"; NULL = blocks were not
 * chosen in this way. */
const char *words_born(struct model *m);
/* Returns "at 22 ms", or "between samples" if only the kernel saw the peak of RSS. */
const char *words_rss_peak_time(struct model *m);

/* ---- unrecorded_words.c ---- */

/* Adds the memory that processes had allocated before their recording began. */
void unrecorded_before(struct model *m, struct words *w);
/* Adds late starts, pauses, dropped events, and blocks inherited by fork. */
void unrecorded_words(struct model *m, struct words *w);
/* Returns the title of a list of sites at the peak if the run's peak is among dropped events; else
 * NULL. */
const char *unrecorded_peak(struct model *m);

/* ---- run_words.c ---- */

struct run;
struct table;
/* Returns which process of the run the report is about, in one sentence; run_table lists the
 * processes by peak. */
const char *run_words(struct model *m, const struct run *r, const struct style *st);
struct table run_table(struct model *m, const struct run *r, const struct style *st);

/* ---- diff_words.c ---- */

/* Return why budgets on changes cannot be decided, and why the comparison is incomplete; NULL = no
 * reason. */
const char *diff_untrusted(struct model *m);
const char *diff_incomplete(struct model *m);
/* Returns which sites cannot be compared, and why; NULL = all can. */
const char *diff_unmatched(struct model *m);

/* Returns a change for people: "+6.1 MiB", "-12", "0", "n/a". */
const char *diff_say(struct model *m, bool bytes, int64_t delta);
/* Returns a change in per cent of `old`: " +4.2 %", or "". */
const char *diff_percent(struct model *m, int64_t delta, int64_t old);
/* Returns a figure for people: "6.1 MiB". */
const char *diff_value(struct model *m, bool bytes, int64_t v);
/* Holds a figure of the first table, with its name for people. */
struct diff_line {
	const char *title;
	const struct diff_total *total;
	bool bytes;
	bool per;                                 /* the figure is per operation */
	const char *old, *new, *change, *percent; /* text for people */
	bool noise; /* several runs of each side show that the change is noise */
};
size_t diff_lines(struct model *m, struct diff_line out[12]);
/* Returns the times of the peaks if they are in different phases: "now at 1.5 s, was at 0.5 s";
 * else NULL. */
const char *diff_moments(struct model *m);
/* Returns the first metric of a comparison's charts: the figure that changed most in the first
 * significant row, or in any row if none is significant; `otherwise` if nothing changed. */
enum metric diff_metric(const struct diff *d, enum metric otherwise);
/* Describe rows on the first screen. diff_title: title of the list; diff_rows_shown: number of rows
 * to show, at most `limit` (the significant rows, or if there are none, the largest changes);
 * diff_what: what happened to a row, "new, LEAK". */
const char *diff_title(struct model *m, const struct diff_rows *r);
size_t diff_rows_shown(const struct diff_rows *r, size_t limit);
const char *diff_what(struct model *m, const struct diff_row *x);
/* Returns which sites are not among the significant rows: "12 changes within noise (+3 KiB), 1,204
 * unchanged, ...", or "". */
const char *diff_rest(struct model *m, const struct diff_rows *r);
/* Returns how reliable the comparison is: "one run of each: ...", and so on. */
const char *diff_worth(struct model *m);
/* Returns how much the peak varies among runs of one build: "noise: the peak varies ..."; NULL with
 * one run of each. */
const char *diff_noise(struct model *m);

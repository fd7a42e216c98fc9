/* SPDX-License-Identifier: MIT
 * Figures, times and moments for people, and lines that consist of parts.
 */
#pragma once

#include "libcommon/model/model.h"

struct style;

/* Holds the parts of a line, which a writer joins and wraps. */
#define WORDS_MAX 24
struct words {
	const char *v[WORDS_MAX];
	size_t n;
};
/* Adds a part; does nothing when `w` is full. */
void words_add(struct words *w, const char *s);

/* Returns "n/a", with the reason if the recording has one: "n/a (sampled)". */
const char *say_unknown(const struct model *m);
/* Return a figure for people, in the arena; say_unknown if it is not known. */
const char *say_size(struct model *m, uint64_t bytes);
const char *say_count(struct model *m, uint64_t n);
const char *say_time(struct model *m, uint64_t ns);
/* Returns a / b in per cent: "18 %", "9.4 %" below ten; "n/a" if it is not known or b is 0. */
const char *say_share(struct model *m, uint64_t a, uint64_t b);
/* Returns a number of things: "3 stacks", "1 stack"; `one` is a regular noun: "stack", "process",
 * "branch". */
const char *say_things(struct model *m, uint64_t n, const char *one);
/* Returns "2026-11-20 14:02:11 UTC"; with `iso`, "2026-11-20T14:02:11.123456789Z". NULL = not
 * known. */
const char *say_date(struct model *m, uint64_t ns, bool iso);
/* Returns the moment that the report is about, as a part of a sentence, cleaned: "the end", "the
 * peak", "1.5s". */
const char *say_moment(struct model *m, const struct style *st);

/* Return a figure with its interval: "1.31 GiB (1.19-1.44)", "102 k (96.7-107)", "3 blocks (1-12)".
 * Without a spread, as say_size, say_count and say_things. */
const char *est_size(struct model *m, uint64_t bytes, const struct ms_spread *e);
const char *est_count(struct model *m, uint64_t n, const struct ms_spread *e);
const char *est_things(struct model *m, uint64_t n, const struct ms_spread *e, const char *one);
/* Returns a size and a number of blocks, "1.31 GiB in 3 blocks", with the intervals of figure `f` and
 * of the one after it, which is that of blocks. say_live: without intervals. */
const char *est_live(struct model *m, struct live v, const struct estimates *e, enum est_figure f);
const char *say_live(struct model *m, struct live v);
/* Returns a size with its limits. */
const char *say_size_limits(struct model *m, uint64_t bytes, uint64_t low, uint64_t high);

/* SPDX-License-Identifier: MIT
 * Sentences about a recording that every format for people shows: who ran, what the figures are
 * worth, why there are none.
 */
#ifndef REPORT_WORDS_H
#define REPORT_WORDS_H

#include "model.h"

struct style;

/* Parts of a line; a writer joins and wraps them. */
#define WORDS_MAX 24
struct words {
	const char *v[WORDS_MAX];
	size_t n;
};

/* The arguments of a process, raw: from its JSON array, else just the program's name. Returns how
 * many, at least 1. */
size_t command_arguments(struct model *m, const struct process *p, const char ***out);

/* "orderd --config prod.toml", "pid 4117 on web-3", "2026-11-20 14:02:11 UTC", "ran 1h 12m 08s",
 * "exit 0"; cleaned. */
struct words words_who(struct model *m, const struct style *st);
/* "complete", "every event", "0 stacks cut", ... */
struct words words_quality(struct model *m);
/* Why the figures are not whole, one sentence; NULL when they are. */
const char *words_incomplete(struct model *m);
/* Why there is nothing to show, one sentence; NULL when there is something: nothing recorded, or
 * all hidden by filters. */
const char *words_nothing(struct model *m, const struct style *st);
/* "12 sites with 3.1 MiB at the end (--min 1k)", or "nothing by filters"; cleaned. */
const char *words_hidden(struct model *m, const struct style *st);

/* "n/a", and why in parentheses where the recording says: "n/a (sampled)". */
const char *say_unknown(const struct model *m);
/* Figures for people, in the arena; say_unknown when not known. */
const char *say_size(struct model *m, uint64_t bytes);
const char *say_count(struct model *m, uint64_t n);
const char *say_time(struct model *m, uint64_t ns);
/* a of b in per cent: "18 %", "9.4 %" below ten; "n/a" when not known or b is 0. */
const char *say_share(struct model *m, uint64_t a, uint64_t b);
/* "3 stacks", "1 stack". */
const char *say_things(struct model *m, uint64_t n, const char *one, const char *many);
/* "2026-11-20 14:02:11 UTC"; with `iso`, "2026-11-20T14:02:11.123456789Z". NULL when not known. */
const char *say_date(struct model *m, uint64_t ns, bool iso);
/* "the end", "the peak", "1.5s": a label inside a sentence; cleaned. */
const char *say_moment(struct model *m, const struct style *st);

#endif

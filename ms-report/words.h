/* SPDX-License-Identifier: MIT
 * Sentences about a recording that every format for people shows: who ran, what the figures are
 * worth, why there are none.
 */
#ifndef REPORT_WORDS_H
#define REPORT_WORDS_H

#include "say.h"

struct style;

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

#endif

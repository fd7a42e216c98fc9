/* SPDX-License-Identifier: MIT
 * Room cli: what was asked for.
 *   In:  the command line (options.h).
 *   Out: for each output the views that it is to have, in its format.
 *   Used by: main.c.
 *
 * Writes one output: the requested views in one format.
 */
#pragma once

#include "options.h"

#include "ms-report/words/page.h"

struct out;

/* Looks up the subjects of the views before anything is written. Returns 0, or -1 with `err` set: a
 * site that does not exist, or a query that fails. */
int render_prepare(struct page *p, const struct options *opt, struct ms_err *err);
/* Returns a remark on a very large output, to be printed before it is written; NULL = none. */
const char *render_large(const struct page *p, const struct options *opt, enum format f);
/* Returns the result of export_lacks() for an output and the metric requested; NULL = nothing is
 * lacking. */
const char *render_lacks(const struct page *p, const struct options *opt,
			 const struct output *output);
/* Writes one output of a prepared page to `o`. */
void render(struct page *p, const struct options *opt, const struct output *output, struct out *o);

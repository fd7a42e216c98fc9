/* SPDX-License-Identifier: MIT
 * Room cli: what was asked for.
 *   In:  the command line (options.h).
 *   Out: for each output the views that it is to have, in its format.
 *   Used by: main.c.
 *
 * One output: the views asked for, in one format.
 */
#pragma once

#include "options.h"

#include "ms-report/words/page.h"

struct out;

/* Finds what the views are about, before anything is written. 0, or -1 with `err` set: a site that
 * is not there, a query that fails. */
int render_prepare(struct page *p, const struct options *opt, struct ms_err *err);
/* Returns a remark to be made before an output that is very large is written; NULL = none is
 * needed. */
const char *render_large(const struct page *p, const struct options *opt, enum format f);
/* Returns what the format lacks, as export_lacks() does, for the metric that was asked for. */
const char *render_lacks(const struct page *p, const struct options *opt,
			 const struct output *output);
/* Writes one output of a prepared page to `o`. */
void render(struct page *p, const struct options *opt, const struct output *output, struct out *o);

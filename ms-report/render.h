/* SPDX-License-Identifier: MIT
 * One output: the views asked for, in one format.
 */
#ifndef REPORT_RENDER_H
#define REPORT_RENDER_H

#include "options.h"
#include "text.h"

/* Writes it to `o`. 0, or -1 with `err` set: a site that is not there. */
int render(struct page *p, const struct options *opt, enum format f, struct out *o,
	   struct ms_err *err);

#endif

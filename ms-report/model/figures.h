/* SPDX-License-Identifier: MIT
 * The figures of "totals" in the JSON report, by name: what --fail-on can ask about.
 */
#ifndef REPORT_FIGURES_H
#define REPORT_FIGURES_H

#include "model.h"

enum figure_unit { FIGURE_COUNT, FIGURE_BYTES, FIGURE_TIME };

struct figure {
	const char *name;
	enum figure_unit unit;
	size_t offset; /* in struct totals, or struct site */
};

extern const struct figure figures[];
extern const size_t figure_count;

/* Those of a site, in struct site. */
extern const struct figure site_figures[];
extern const size_t site_figure_count;

uint64_t figure_of(const struct totals *t, size_t i);
uint64_t site_figure_of(const struct site *s, size_t i);

#endif

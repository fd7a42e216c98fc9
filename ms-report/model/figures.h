/* SPDX-License-Identifier: MIT
 * The figures of "totals" in the JSON report, by name: what --fail-on can ask about.
 */
#ifndef REPORT_FIGURES_H
#define REPORT_FIGURES_H

#include "model.h"

enum figure_unit { FIGURE_COUNT, FIGURE_BYTES, FIGURE_TIME, FIGURE_FLAG };

struct figure {
	const char *name; /* of the column of the table, too */
	enum figure_unit unit;
	size_t offset;
};

/* In struct totals; the last two are of no column of table process, but of samples. */
extern const struct figure figures[];
extern const size_t figure_count;
#define FIGURES_NOTED (figure_count - 2)

/* In struct quality; the last one is no figure of the report. */
extern const struct figure quality_figures[];
extern const size_t quality_figure_count;

/* In struct site. */
extern const struct figure site_figures[];
extern const size_t site_figure_count;

/* That of a struct which has it. */
uint64_t *figure_at(void *row, const struct figure *f);
uint64_t figure_of(const void *row, const struct figure *f);

#endif

/* SPDX-License-Identifier: MIT
 * Names the figures of a whole run and those of its quality.
 */
#include "totals.h"

#define FIGURE(name, unit, member)                                                                 \
	{                                                                                          \
		name, unit, offsetof(struct totals, member)                                        \
	}

const struct figure figures[] = {
#define X(name, unit, adds) FIGURE(#name, FIGURE_##unit, name),
	MS_TOTALS(X)
#undef X
		FIGURE("late_bytes", FIGURE_BYTES, late_bytes),
	FIGURE("late_blocks", FIGURE_COUNT, late_blocks),
	FIGURE("peak_rss_bytes", FIGURE_BYTES, peak_rss_bytes),
	FIGURE("end_rss_bytes", FIGURE_BYTES, end_rss_bytes),
	FIGURE("shown_unreachable_bytes", FIGURE_BYTES, shown_unreachable_bytes),
	FIGURE("shown_unreachable_blocks", FIGURE_COUNT, shown_unreachable_blocks),
	FIGURE("growth_bytes_per_minute", FIGURE_BYTES, growth_bytes_per_minute),
	FIGURE("growing_sites", FIGURE_COUNT, growing_sites),
};
const size_t figure_count = sizeof figures / sizeof *figures - FIGURES_BESIDE;

const struct figure quality_figures[] = {
#define X(name, unit, adds) {#name, FIGURE_##unit, offsetof(struct quality, name)},
	MS_QUALITY(X)
#undef X
};
const size_t quality_figure_count = sizeof quality_figures / sizeof *quality_figures;

/* SPDX-License-Identifier: MIT
 * The figures of a whole run, and of how far they can be relied on, by name.
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

#define QUALITY_FIGURE(member)                                                                     \
	{                                                                                          \
#member, FIGURE_COUNT, offsetof(struct quality, member)                            \
	}

const struct figure quality_figures[] = {
	QUALITY_FIGURE(events_lost),
	QUALITY_FIGURE(sampled_bytes),
	QUALITY_FIGURE(stacks_cut),
	QUALITY_FIGURE(stacks_truncated),
	QUALITY_FIGURE(stacks_not_taken),
	QUALITY_FIGURE(events_late),
	{"attached", FIGURE_FLAG, offsetof(struct quality, attached)},
	QUALITY_FIGURE(inferred_frees),
	QUALITY_FIGURE(unknown_frees),
	QUALITY_FIGURE(damaged_bytes),
	QUALITY_FIGURE(frames_without_symbol),
	QUALITY_FIGURE(damaged_places),
};
const size_t quality_figure_count = sizeof quality_figures / sizeof *quality_figures;

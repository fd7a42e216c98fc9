/* SPDX-License-Identifier: MIT
 * The figures of a site by name.
 */
#include "figures.h"

#define SITE_FIGURE(name, unit, member)                                                            \
	{                                                                                          \
		name, unit, offsetof(struct site, member)                                          \
	}

const struct figure site_figures[] = {
	SITE_FIGURE("live_bytes", FIGURE_BYTES, end.bytes),
	SITE_FIGURE("live_blocks", FIGURE_COUNT, end.blocks),
	SITE_FIGURE("peak_bytes", FIGURE_BYTES, peak.bytes),
	SITE_FIGURE("peak_blocks", FIGURE_COUNT, peak.blocks),
	SITE_FIGURE("allocated_bytes", FIGURE_BYTES, allocated_bytes),
	SITE_FIGURE("allocations", FIGURE_COUNT, allocations),
	SITE_FIGURE("frees", FIGURE_COUNT, frees),
	SITE_FIGURE("temporary", FIGURE_COUNT, temporary),
	SITE_FIGURE("failed_allocations", FIGURE_COUNT, failed_allocations),
};
const size_t site_figure_count = sizeof site_figures / sizeof *site_figures;

#define TOLD(name, est, member, all, hides)                                                        \
	{                                                                                          \
		name, est,                                                                         \
		{                                                                                  \
			offsetof(struct site, member), offsetof(struct model, all),                \
				offsetof(struct hidden, hides)                                     \
		}                                                                                  \
	}

const struct told_figure told[TOLD_COUNT] = {
	TOLD("live_bytes", EST_AT, at.bytes, at.bytes, at.bytes),
	TOLD("live_blocks", EST_AT_BLOCKS, at.blocks, at.blocks, at.blocks),
	TOLD("peak_bytes", EST_PEAK, peak.bytes, peak.bytes, peak.bytes),
	TOLD("peak_blocks", EST_PEAK_BLOCKS, peak.blocks, peak.blocks, peak.blocks),
	TOLD("allocated_bytes", EST_ALLOCATED, allocated_bytes, totals.allocated_bytes,
	     allocated_bytes),
	TOLD("allocations", EST_ALLOCATIONS, allocations, totals.allocations, allocations),
	TOLD("frees", EST_FREES, frees, totals.frees, frees),
	TOLD("temporary", EST_COUNT, temporary, totals.temporary_allocations, temporary),
	TOLD("reallocations", EST_COUNT, reallocations, totals.reallocations, reallocations),
	TOLD("failed_allocations", EST_COUNT, failed_allocations, totals.failed_allocations,
	     failed_allocations),
	TOLD("unreachable_bytes", EST_COUNT, lost.bytes, totals.unreachable_bytes, lost.bytes),
	TOLD("unreachable_blocks", EST_COUNT, lost.blocks, totals.unreachable_blocks, lost.blocks),
	TOLD("retained_bytes", EST_COUNT, leak.bytes, totals.unreachable_bytes, lost.bytes),
	TOLD("retained_blocks", EST_COUNT, leak.blocks, totals.unreachable_blocks, lost.blocks),
	TOLD("late_bytes", EST_COUNT, late.bytes, late.bytes, late.bytes),
	TOLD("late_blocks", EST_COUNT, late.blocks, late.blocks, late.blocks),
	TOLD("usable_bytes", EST_COUNT, at_mmap.usable, at_mmap.usable, at_mmap.usable),
	TOLD("maps", EST_COUNT, maps, totals.maps, maps),
	TOLD("mapped_bytes", EST_COUNT, at_mmap.mapped, at_mmap.mapped, at_mmap.mapped),
};

uint64_t told_value(enum told f, enum told_of of, const void *what)
{
	return figure_at(what, told[f].in[of]);
}

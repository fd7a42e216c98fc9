/* SPDX-License-Identifier: MIT
 * What is counted of one image while it is recorded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct stats {
	uint64_t events, allocations, frees, reallocs, failed, temporary, allocated_bytes;
	/* Not side by side: the compiler would load both at once, right after each was stored. */
	uint64_t live_bytes, peak_bytes, live_blocks, peak_blocks, peak_ns;
	uint64_t lost, stacks_cut, stacks_truncated, stacks_not_taken;
	uint64_t inferred_frees, unknown_frees, repairs, violations;
	uint64_t waited_ns, waited_max_ns, remote_unwinds, verified, mismatches;
	uint64_t inherited_frees, preexisting_frees;
	uint64_t maps, mapped_bytes, mapped_peak_bytes, mapped_peak_ns;
	uint64_t paused_ns, paused_allocations, started_late_ns;
	/* While sampling, sizes and live blocks above are estimates, allocations and frees those
	 * recorded; of the live ones, now and at the peak: */
	uint64_t seen_bytes, peak_seen_bytes;
	double variance, peak_variance;
};

/* Holds what the guest reports of the whole image. */
struct guest_account {
	char allocator[128], disabled[96]; /* disabled: why it switched itself off */
	bool own_malloc;                   /* preloaded: the program's own, and hooked */
	char missed[192];                  /* a function that gives out blocks and is not hooked */
	uint64_t passed_early, forks;
	bool no_usable; /* --with=usable-size, and the allocator does not tell */
	bool ready;
};

/* SPDX-License-Identifier: MIT
 * Counts of one image, kept while it is recorded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct stats {
	uint64_t events, allocations, frees, reallocs, failed, temporary, allocated_bytes;
	/* The order is deliberate: if two members that change together were adjacent, the compiler
	 * would load both with one instruction, right after each was stored. */
	uint64_t live_bytes, peak_bytes, live_blocks, peak_blocks, peak_ns;
	uint64_t lost, crowded; /* crowded: of `lost`, when each ring had a thread already */
	uint64_t stacks_cut, stacks_truncated, stacks_not_taken;
	uint64_t inferred_frees, unknown_frees, repairs, violations;
	uint64_t waited_ns, waited_max_ns, remote_unwinds, verified, mismatches;
	uint64_t inherited_frees, preexisting_frees;
	uint64_t maps, mapped_bytes, mapped_peak_bytes, mapped_peak_ns;
	uint64_t paused_ns, paused_allocations, started_late_ns;
	/* While sampling, sizes and numbers of live blocks above are estimates, but `allocations`
	 * and `frees` count recorded events. The members below are recorded bytes of live blocks,
	 * and the variance of the estimates, now and at the peak. */
	uint64_t seen_bytes, peak_seen_bytes;
	double variance, peak_variance;
};

/* Holds the guest's report on a whole program image (a process between two execs). */
struct guest_account {
	bool exit_hooked;                  /* the begin of exit was hooked */
	char allocator[128], disabled[96]; /* disabled: why the guest switched itself off */
	bool own_malloc;                   /* with preloading: the program's own malloc is hooked */
	char missed[192];                  /* name of a function that returns blocks but is not
					      hooked */
	uint64_t passed_early, forks;
	bool no_usable; /* --with=usable-size, but the allocator cannot report it */
	bool ready;
};

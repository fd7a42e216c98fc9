/* SPDX-License-Identifier: MIT
 * One line on a terminal that says how far long work is.
 *
 * There is one of a process, as it has one terminal. Until it is started all calls do nothing, so
 * that any room may tell of its work whoever calls it. From one thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Starts the clock: the line comes when work takes longer than a second. Nothing is ever shown
 * unless `wanted` and standard error is a terminal. */
void ms_progress_start(bool wanted);
/* Starts the clock as ms_progress_start does, in the middle of the output of another program: a
 * line of it that has no end yet stays. */
void ms_progress_start_below(bool wanted);
/* Tells whether anything would be shown, for callers that have to look how far they are. */
bool ms_progress_on(void);
/* "replaying: 43 % of 1.2 GiB, 5 s left", or "looking up symbols: 12 % of 40,211 frames, in
 * libQt5Core.so, 3 s left": how much of `total` is done, `unit` (NULL = bytes), and what is being
 * worked on (NULL = nothing to say; anybody's bytes). `total` 0 = not known: what is done, and for
 * how long. Another `what` begins another piece of work; one that cannot be divided is told of once.
 * `unit` is of static lifetime. Cheap to call often. */
void ms_progress(const char *what, const char *unit, uint64_t done, uint64_t total,
		 const char *detail);
/* Erases the line, if there is one; work that takes another second may have one again. To be called
 * before anything else is written: ms_cli_remark and ms_cli_failed do, and so does the end of the
 * process. */
void ms_progress_hide(void);

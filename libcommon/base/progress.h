/* SPDX-License-Identifier: MIT
 * Shows the progress of long work in one line on a terminal.
 *
 * A process has one line, as it has one terminal. Before ms_progress_start all calls do nothing, so
 * that any room may report progress, whatever program it is in. Call from one thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Starts the clock: the line is shown when work takes longer than a second. Nothing is ever shown
 * unless `wanted` and standard error is a terminal. */
void ms_progress_start(bool wanted);
/* Starts the clock as ms_progress_start does, but keeps an unfinished line of another program that
 * prints on the same terminal. */
void ms_progress_start_below(bool wanted);
/* Tells whether anything would be shown, for callers to whom it is costly to determine their
 * progress. */
bool ms_progress_on(void);
/* Reports that `done` of `total` is done, in `unit` (NULL = bytes; static lifetime), and the item
 * being worked on in `detail` (NULL = none; may hold any bytes): "looking up symbols: 12 % of
 * 40,211 frames, in libQt5Core.so, 3 s left". `total` 0 = not known: the amount done and the time
 * so far are shown. Another `what` begins another piece of work. Work that cannot be divided is
 * reported once. Cheap to call often. */
void ms_progress(const char *what, const char *unit, uint64_t done, uint64_t total,
		 const char *detail);
/* Erases the line, if there is one; work that takes another second may show one again. To be called
 * before other output: ms_cli_remark, ms_cli_failed and the exit of the process do so. */
void ms_progress_hide(void);

/* SPDX-License-Identifier: MIT
 * One line on a terminal that says how far long work is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: shows nothing. */
struct ms_progress {
	bool on, drawn;
	uint64_t due_ns; /* when the line may next change */
};

/* Starts the clock: the first line comes when work takes longer than a third of a second. Nothing
 * is ever shown unless `wanted` and standard error is a terminal. */
void ms_progress_start(struct ms_progress *p, bool wanted);
/* "replaying: 43 %", or "looking up symbols: 12 % in libQt5Core.so": the share of `done` in `total`
 * (0 = not known, then `done` is bytes) and what is being worked on (NULL = nothing to say;
 * anybody's bytes). Cheap to call often. */
void ms_progress_show(struct ms_progress *p, const char *what, uint64_t done, uint64_t total,
		      const char *detail);
/* Erases the line, if there is one. To be called before anything else is written. */
void ms_progress_end(struct ms_progress *p);

/* SPDX-License-Identifier: MIT
 * Names of frames without waiting: from the trace's own symbols, else a second thread looks them up
 * in files and the answer arrives later.
 *
 *   main thread: ms_names_of -> slot ASKED, in the queue     names thread: queue -> slot ANSWERED
 *
 * Slots are read and written under the lock; the arrays they point to never change. Strings belong
 * to the symbolizer (from files) or the recording (from the trace), which both outlive the slots.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame_places.h"

struct ms_names;
struct ms_wrappers;

/* Describes a logical frame (a function, or one inlined into it), and whether it belongs to the
 * language's runtime. */
struct ms_named {
	struct ms_location at;
	const char *brief; /* short form of the function's name; NULL = unknown */
	bool runtime;
	bool wrapper; /* the function is a wrapper of malloc, by its name */
};
/* Lists the logical frames of one frame of the trace, innermost first. */
struct ms_frame_names {
	const struct ms_named *v;
	size_t n; /* 0 = not known yet */
};

/* Creates a table of frame names, which looks them up as ms_symbols does. `wrappers` (see
 * wrappers.h; NULL = the known ones) must outlive the table. Ends the program when out of
 * memory. */
struct ms_names *ms_names_new(const struct ms_wrappers *wrappers);
void ms_names_free(struct ms_names *n);
/* Returns the logical frames of frame number `frame` of `t`. Never waits for files: a frame not
 * known yet is queued for lookup, and has no logical frames until it is answered. An answer has at
 * least one logical frame, possibly without a name. The result is valid until the next call of
 * ms_names_forget, or until the trace gets symbols of its own. */
struct ms_frame_names ms_names_of(struct ms_names *n, const struct ms_recording *t, uint32_t frame);
/* Finds where a variable is declared: in the trace's symbols, else in files (ms_symbols_variable),
 * which it never waits for. Returns false, with `out` all zero, as long as that is not known. */
bool ms_names_variable(struct ms_names *n, const struct ms_recording *t, uint32_t module,
		       uint64_t address, bool in_thread, struct ms_variable *out);
/* Returns the number of frames and variables looked up so far. *pending: some are still queued. */
uint64_t ms_names_answers(struct ms_names *n, bool *pending);
/* Removes the frames of a recording that is about to be closed. */
void ms_names_forget(struct ms_names *n);

/* SPDX-License-Identifier: MIT
 * Names of frames for one who may not wait: from the trace's own symbols, else from files by a
 * thread of its own, so that an answer comes when it is there.
 *
 *   main thread: ms_names_of -> slot ASKED, in the queue     names thread: queue -> slot ANSWERED
 *
 * Slots are read and written under the lock; what they point to stays as it is. Strings belong to
 * the symbolizer (files) or the recording (told), which both outlive the slots.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame_places.h"

struct ms_names;
struct ms_wrappers;

/* A logical frame, and whether it is of the language's runtime. */
struct ms_named {
	struct ms_location at;
	const char *brief; /* the function's name, short; NULL = unknown */
	bool runtime;
	bool wrapper; /* of malloc, by its name */
};
/* A frame of the trace: its logical ones, innermost first. */
struct ms_frame_names {
	const struct ms_named *v;
	size_t n; /* 0: not known yet */
};

/* Looks in files as ms_symbols does. `wrappers` (see wrappers.h; NULL = the known ones) is kept.
 * Ends the program when out of memory. */
struct ms_names *ms_names_new(const struct ms_wrappers *wrappers);
void ms_names_free(struct ms_names *n);
/* Returns the logical frames that frame number `frame` of `t` is. Never waits for files; asks for
 * what is not known. At least one logical frame, of which nothing may be known; none when the
 * answer is still to come. Valid until the next call of ms_names_forget, or until the trace gets
 * symbols of its own. */
struct ms_frame_names ms_names_of(struct ms_names *n, const struct ms_recording *t, uint32_t frame);
/* Returns how many answers there were so far, and whether some are still to come. */
uint64_t ms_names_answers(struct ms_names *n, bool *pending);
/* Forgets a recording, which is going to be closed. */
void ms_names_forget(struct ms_names *n);

/* SPDX-License-Identifier: MIT
 * What a frame of a recording is: its module, why it has no address, what the trace's own symbols
 * say of it, and what is to be asked of the files where the trace says nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/trace/recording.h"
#include "symbols.h"

/* Logical frames that are looked up of one frame, at most. */
#define MS_CHAIN_MAX 64

/* The record of that module, NULL when there is none. */
const struct ms_row *ms_module_of(const struct ms_recording *t, uint32_t id);
/* "cut", "not taken", "before", "not read" or "truncated": the frame stands for some that are missing. NULL: it
 * is one. */
const char *ms_frame_note(const struct ms_frame *f);

/* Is it one of an interpreted program, in a source file? */
bool ms_frame_is_source(const struct ms_recording *t, const struct ms_frame *f);
/* Does a location of it belong to a runtime, an interpreter or the recorder (runtime.h)? */
bool ms_frame_is_runtime(const struct ms_recording *t, const struct ms_frame *f,
			 const struct ms_location *l);

/* Tells whether the trace has symbols of that frame. */
bool ms_frame_told(const struct ms_recording *t, uint32_t frame);
/* Returns how many logical frames those symbols give, if ms_frame_told; ms_frame_told_at gives
 * each, the innermost first. Strings live as long as the recording. */
uint32_t ms_frame_told_count(const struct ms_recording *t, uint32_t frame);
struct ms_location ms_frame_told_at(const struct ms_recording *t, uint32_t frame, uint32_t i);

/* Holds the question to be looked up in a module's files. Borrowed from the recording. */
struct ms_frame_question {
	struct ms_symbols_module module;
	uint64_t address; /* as ms_symbols_find takes it */
};
/* Fills in the question for a frame. False: there is nothing that could be looked up. */
bool ms_frame_question(const struct ms_recording *t, const struct ms_frame *f,
		       struct ms_frame_question *q);

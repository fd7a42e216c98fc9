/* SPDX-License-Identifier: MIT
 * Describes frames of a recording: the module, why there is no address, the trace's own symbols,
 * and the question for the files if the trace has none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/trace/recording.h"
#include "symbols.h"

/* Largest number of logical frames looked up for one frame. */
#define MS_CHAIN_MAX 64

/* Returns the record of that module; NULL = there is none. */
const struct ms_row *ms_module_of(const struct ms_recording *t, uint32_t id);
/* Returns "cut", "not taken", "before", "not read" or "truncated" for an entry that stands for
 * missing frames; NULL for a real frame. */
const char *ms_frame_note(const struct ms_frame *f);

/* Tells whether the frame is a source line of an interpreted program. */
bool ms_frame_is_source(const struct ms_recording *t, const struct ms_frame *f);
/* Tells whether a location of the frame belongs to a runtime, an interpreter or the recorder
 * (runtime.h). */
bool ms_frame_is_runtime(const struct ms_recording *t, const struct ms_frame *f,
			 const struct ms_location *l);

/* Tells whether the trace has symbols for that frame. */
bool ms_frame_told(const struct ms_recording *t, uint32_t frame);
/* Returns the number of logical frames that the trace's symbols give for the frame; call only if
 * ms_frame_told. ms_frame_told_at returns each logical frame, innermost first. Strings live as long
 * as the recording. */
uint32_t ms_frame_told_count(const struct ms_recording *t, uint32_t frame);
struct ms_location ms_frame_told_at(const struct ms_recording *t, uint32_t frame, uint32_t i);

/* Finds where a variable is declared in the trace's symbols; see ms_symbols_variable. Strings live as
 * long as the recording. */
bool ms_variable_told(const struct ms_recording *t, uint32_t module, uint64_t address,
		      bool in_thread, struct ms_variable *out);

/* Returns a symbol for people, in the arena, without what compilers append to it, and without
 * "vtable for "; NULL for "". */
const char *ms_symbol_plain(struct ms_arena *a, const char *symbol);
/* Returns the name of a root that is no frame: its symbol for people, "libfoo.so .bss"; NULL = it
 * has none. `module`: path, or NULL. */
const char *ms_root_name(struct ms_arena *a, const struct ms_retention_root *root,
			 const char *module);

/* Holds an address to look up in the files of its module. Borrowed from the recording. */
struct ms_frame_question {
	struct ms_symbols_module module;
	uint64_t address; /* address in the form that ms_symbols_find takes */
};
/* Fills in the question to ask about a frame. False = nothing to look up. */
bool ms_frame_question(const struct ms_recording *t, const struct ms_frame *f,
		       struct ms_frame_question *q);

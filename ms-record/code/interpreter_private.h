/* SPDX-License-Identifier: MIT
 * What is known of a session's interpreter.
 */
#pragma once

#include "interpreter.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/lookup.h"

struct code {
	const char *name, *file;
	const uint8_t *lines;
	size_t lines_bytes;
	uint32_t first_line;
	uint32_t module, function; /* module id and function number (from 1) in the trace; 0 = not
				      written yet */
};
struct source {
	const char *file;
	uint32_t module, functions;
};
struct named {
	const char *name;
	uint32_t source, number;
};

struct interpreter {
	struct ms_arena arena;
	size_t bytes;     /* bytes of all code objects */
	char unknown[40]; /* name and version of an interpreter whose frames cannot be read; "" =
			     none */
	MS_ARRAY(struct code) codes;
	MS_ARRAY(struct source) sources;
	MS_ARRAY(struct named) functions;
	struct ms_lookup by_content, by_file, by_name;
};

/* Returns the session's interpreter; made if needed. */
struct interpreter *interpreter_of(struct modules *all);

/* SPDX-License-Identifier: MIT
 * Describes a place in the source. Part of the symbol module.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Describes one logical frame; a physical frame is a chain of them, innermost inlined first.
 * Strings live as long as the symbolizer. */
struct ms_location {
	const char *function; /* demangled, NULL = unknown */
	const char *file;     /* path in the debug information: absolute, or relative to the
				 compilation folder; NULL = unknown */
	uint32_t line;        /* 0 = unknown */
	uint32_t column;
	bool inlined; /* true for all but the last one of a chain */
};

/* Describes where a variable is declared. Strings live as long as the symbolizer. */
struct ms_variable {
	const char *type; /* as declared: "const char *[4]"; NULL = unknown */
	const char *file; /* as in struct ms_location; NULL = unknown */
	uint32_t line;    /* 0 = unknown */
	/* of a struct that is the program's own: "OFFSET NAME\n" of each member, in order of the
	 * offsets, also of those in bases and in parts without a name; NAME is empty where none tells
	 * users anything. NULL = none is known */
	const char *members;
};

/* SPDX-License-Identifier: MIT
 * A parsed suppression, passed from the reader to the matcher.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MS_KIND_DEFINITE 1u
#define MS_KIND_INDIRECT 2u
#define MS_KIND_POSSIBLE 4u
#define MS_KIND_REACHABLE 8u
#define MS_KINDS 15u

enum ms_suppress_line_kind { MS_LINE_ANY, MS_LINE_FUNCTION, MS_LINE_OBJECT, MS_LINE_SOURCE };

struct ms_suppress_line {
	enum ms_suppress_line_kind kind;
	const char *pattern;
	const char *demangled; /* set for a mangled name without wildcards; else NULL */
	bool mangled;
};

struct ms_suppress_detail {
	const char *pattern; /* for a by_frame suppression: pattern that matches whole texts; *
				matches anything */
	unsigned kinds;      /* bit set of leak kinds; MS_KINDS = none given */
	struct ms_suppress_line *lines;
	size_t line_count;
};

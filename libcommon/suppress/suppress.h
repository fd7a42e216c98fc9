/* SPDX-License-Identifier: MIT
 * Room suppress: known leaks.
 *   In:  files of LeakSanitizer and Valgrind; call stacks.
 *   Out: which suppression matches a stack, and how often each did.
 *   Used by: ms-filter.
 *
 * Suppressions of leaks, in the file formats of LeakSanitizer and Valgrind.
 *
 * LeakSanitizer: each line is "leak:PATTERN"; the pattern may occur anywhere in the function,
 * source file or module of any frame. ^ and $ anchor it, * matches anything. "leak<=N:PATTERN", our
 * own extension, applies only if it matches at most N blocks. Valgrind: braces around a name,
 * "Memcheck:Leak", perhaps "match-leak-kinds:", and lines fun:, obj:, src: or ... for the frames
 * from the innermost on; in these * and ? are wildcards. Suppressions of errors other than leaks
 * are ignored.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"

struct ms_err;

#define MS_SUPPRESS_ANY UINT64_MAX

struct ms_suppression {
	unsigned line;    /* number of the suppression's first line in the file, from 1 */
	const char *text; /* "leak:PATTERN", or the name of a Valgrind suppression */
	bool by_frame;    /* matches single frames: see ms_suppress_frame */
	uint64_t most;    /* maximum number of blocks to hide; MS_SUPPRESS_ANY = unlimited */
	struct ms_suppress_detail *detail;
};

struct ms_suppressions {
	struct ms_arena arena; /* arena of the names and rules */
	const char *name;      /* name of the file */
	MS_ARRAY(struct ms_suppression) rules;
};

/* Holds the names of a frame, NULL = not known. Functions are demangled. */
struct ms_suppress_frame {
	const char *function, *file, *module;
	long line;
};

/* Lists results in ascending order: a stack has the greatest of its frames. */
enum ms_suppressed {
	MS_SUPPRESS_NO,
	MS_SUPPRESS_NAMES,   /* undecided: a name that the suppression refers to is unknown */
	MS_SUPPRESS_VERDICT, /* undecided: the suppression refers to a kind of leak, and there is no
				verdict */
	MS_SUPPRESS_YES,
};

/* Reads a file of suppressions. Returns NULL with `err` set on failure; for a bad line the message
 * has its number. */
struct ms_suppressions *ms_suppressions_read(const char *path, struct ms_err *err);
/* Parses `n` bytes of a suppression file called `name`. Returns NULL with `err` set on failure. */
struct ms_suppressions *ms_suppressions_parse(const char *text, size_t n, const char *name,
					      struct ms_err *err);
void ms_suppressions_free(struct ms_suppressions *s);

/* Tells whether a by_frame suppression matches a frame. */
enum ms_suppressed ms_suppress_frame(const struct ms_suppression *s,
				     const struct ms_suppress_frame *frame);
/* Tells whether a suppression that is not by_frame matches a stack: `frames` from the caller of the
 * allocator outwards, and the site's verdict, NULL = none. */
enum ms_suppressed ms_suppress_stack(const struct ms_suppression *s,
				     const struct ms_suppress_frame *frames, size_t n,
				     const char *verdict);

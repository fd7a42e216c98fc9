/* SPDX-License-Identifier: MIT
 * Room suppress: leaks that are known.
 *   In:  files of LeakSanitizer and Valgrind; call stacks.
 *   Out: which suppression matches a stack, and how often each did.
 *   Used by: ms-filter.
 *
 * Suppressions of leaks, as LeakSanitizer and Valgrind write them in files.
 *
 * LeakSanitizer: a line "leak:PATTERN" each; the pattern is somewhere in the function, source file
 * or module of any frame. ^ and $ tie it to the beginning and the end, * stands for anything.
 * "leak<=N:PATTERN", which only we know, holds as long as it meets at most N blocks.
 * Valgrind: braces around a name, "Memcheck:Leak", perhaps "match-leak-kinds:", and lines fun:,
 * obj:, src: or ... for the frames from the innermost on; in these * and ? are wildcards.
 * Suppressions of what is no leak are passed over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"

struct ms_err;

#define MS_SUPPRESS_ANY UINT64_MAX

struct ms_suppression {
	unsigned line;    /* where it begins, from 1 */
	const char *text; /* "leak:PATTERN", or the name that a Valgrind suppression has */
	bool by_frame;    /* one frame is enough, whichever it is: ms_suppress_frame */
	uint64_t most;    /* blocks that it may hide; MS_SUPPRESS_ANY = so many as there are */
	struct ms_suppress_detail *detail;
};

struct ms_suppressions {
	struct ms_arena arena; /* has what the others point to */
	const char *name;      /* of the file */
	MS_ARRAY(struct ms_suppression) rules;
};

/* Holds the names of a frame, NULL where not known. Functions are demangled. */
struct ms_suppress_frame {
	const char *function, *file, *module;
	long line;
};

enum ms_suppressed {
	MS_SUPPRESS_NO,
	MS_SUPPRESS_YES,
	MS_SUPPRESS_NAMES,   /* not known: a name that it asks for is missing */
	MS_SUPPRESS_VERDICT, /* not known: it asks for a kind of leak, and there is no verdict */
};

/* Reads a file of suppressions. NULL with `err` set; of a bad line the message has the number. */
struct ms_suppressions *ms_suppressions_read(const char *path, struct ms_err *err);
/* Reads `n` bytes of a file of suppressions of that name. NULL with `err` set. */
struct ms_suppressions *ms_suppressions_parse(const char *text, size_t n, const char *name,
					      struct ms_err *err);
void ms_suppressions_free(struct ms_suppressions *s);

/* Tells whether a suppression that is by_frame meets a frame. */
enum ms_suppressed ms_suppress_frame(const struct ms_suppression *s,
				     const struct ms_suppress_frame *frame);
/* Tells whether a suppression that is not by_frame meets a stack: `frames` from the one that called
 * the allocator outwards, and the site's verdict, NULL for none. */
enum ms_suppressed ms_suppress_stack(const struct ms_suppression *s,
				     const struct ms_suppress_frame *frames, size_t n,
				     const char *verdict);

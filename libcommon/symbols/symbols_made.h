/* SPDX-License-Identifier: MIT
 * Names of code that a program made at run time, which the program itself left for perf(1): a
 * jitdump, or else a perf map. Part of the symbol module.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "libcommon/base/arena.h"
#include "symbols_location.h"

struct ms_made;

/* Holds facts about the process that made code: its number, whose it is, and where it began to work
 * (NULL = not known); when that ran (ns since 1970), and since when it was recorded
 * (CLOCK_MONOTONIC). */
struct ms_made_by {
	uint64_t pid, uid, from_ns, to_ns, since_ns;
	const char *cwd;
};

/* Reads what the process left: jit-PID.dump in its working folder or /tmp, else /tmp/perf-PID.map,
 * all below `root`. Only a regular file of its own user (or root's) that was last written between
 * from_ns and to_ns; no link is followed. NULL: there is none. */
struct ms_made *ms_made_open(const char *root, const struct ms_made_by *by);
void ms_made_free(struct ms_made *m);
/* Fills `out` with what is known of the code at `address`; of several that were there, one after
 * another, while the process was recorded, the names in the order from the latest, joined by
 * "|". */
void ms_made_find(struct ms_made *m, uint64_t address, struct ms_location *out);
const char *ms_made_path(const struct ms_made *m);

/* ---- for the readers of files ---- */

struct ms_made_line {
	uint64_t address;
	const char *file;
	uint32_t line;
};
struct ms_made_code {
	uint64_t start, end;
	uint64_t from_ns, until_ns;      /* CLOCK_MONOTONIC; where spans are known */
	uint32_t order;                  /* a later one is there instead of an earlier one */
	uint32_t line;                   /* where it begins; 0 = not known */
	const char *name, *file;         /* file: NULL = not known */
	uint32_t first_line, line_count; /* in `lines`, ascending by address */
};
struct ms_made {
	struct ms_arena arena;
	const char *path;
	uint64_t since_ns; /* CLOCK_MONOTONIC; what was gone before is of no interest */
	bool spans;        /* it is known from when to when code was there */
	MS_ARRAY(struct ms_made_code) codes; /* by start, then order, once all are read */
	MS_ARRAY(struct ms_made_line) lines;
	uint64_t longest;
};

/* Adds what `c` says, but for `order`; `text` is its name as the program wrote it, NULL = `c` has
 * it. False: it is nothing, or there are too many. */
bool ms_made_add(struct ms_made *m, struct ms_made_code c, const char *text);
/* Reads a jitdump of process `pid`; false: it is none. What comes behind something damaged is not
 * read. */
bool ms_jitdump_read(struct ms_made *m, FILE *f, uint64_t pid);

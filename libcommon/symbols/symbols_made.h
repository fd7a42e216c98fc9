/* SPDX-License-Identifier: MIT
 * Names code that a program made at run time, from files that the program writes for perf(1): a
 * jitdump, or else a perf map. Part of the symbol module.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "libcommon/base/arena.h"
#include "symbols_location.h"

struct ms_made;

/* Holds facts about the process that made code: its pid, its user, its initial working folder (NULL
 * = not known), when it ran (ns since 1970), and when its recording began (CLOCK_MONOTONIC). */
struct ms_made_by {
	uint64_t pid, uid, from_ns, to_ns, since_ns;
	const char *cwd;
};

/* Reads the files that the process left: jit-PID.dump in its working folder or /tmp, else
 * /tmp/perf-PID.map, all below `root`. Accepts only a regular file of the process's user (or root)
 * last written between from_ns and to_ns; follows no symbolic link. Returns NULL if there is
 * none. */
struct ms_made *ms_made_open(const char *root, const struct ms_made_by *by);
void ms_made_free(struct ms_made *m);
/* Fills `out` with the name and place of the code at `address`. If several pieces of code were
 * there during the recording, their names are joined by "|", the latest first. */
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
	uint64_t from_ns, until_ns;      /* lifetime of the code, CLOCK_MONOTONIC; set if
					    ms_made.spans */
	uint32_t order;                  /* order of creation: higher code replaces lower at the
					    same address */
	uint32_t line;                   /* first line; 0 = not known */
	const char *name, *file;         /* file: NULL = not known */
	uint32_t first_line, line_count; /* range in `lines`, ascending by address */
};
struct ms_made {
	struct ms_arena arena;
	const char *path;
	uint64_t since_ns;                   /* start of the recording, CLOCK_MONOTONIC; code
						replaced before is ignored */
	bool spans;                          /* from_ns and until_ns of all code are known */
	MS_ARRAY(struct ms_made_code) codes; /* sorted by start, then order, when all are read */
	MS_ARRAY(struct ms_made_line) lines;
	uint64_t longest;
};

/* Adds a copy of `c` with the next `order`. `text` is the name as the program wrote it; NULL = `c`
 * has the name already. Returns false if it is invalid, or there are too many. */
bool ms_made_add(struct ms_made *m, struct ms_made_code c, const char *text);
/* Reads a jitdump of process `pid`, up to the first damaged part. Returns false if it is not
 * one. */
bool ms_jitdump_read(struct ms_made *m, FILE *f, uint64_t pid);

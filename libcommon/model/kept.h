/* SPDX-License-Identifier: MIT
 * What keeps blocks alive: keepers (variables, frames of threads, ...), and below each of them a
 * tree of rows, the blocks that would be free if it went away.
 *
 *   g_sessions         retains 277.6 MiB; top-level row
 *     fill             retains 277.6 MiB, of which 100.0 MiB are its own blocks
 *       Session        retains 161.5 MiB
 *
 * The retained bytes of the top-level rows add up to all that is kept.
 */
#pragma once

#include "libcommon/names/keepers.h"
#include "model.h"

#include <string.h>

struct kept_row {
	int64_t id;
	uint32_t parent; /* index of an earlier row; NONE = top-level row */
	uint32_t top;    /* index of its top-level row */
	/* indices of the first row below it and of the next one of its parent, the largest first;
	 * or NONE */
	uint32_t first, next;
	const struct keeper *keeper;  /* of a top-level row; NULL = a set */
	const struct keeper_set *set; /* of a top-level row; NULL = a keeper */
	int64_t site;                 /* number of the site of its blocks; 0 = none */
	uint64_t bytes, blocks;       /* its own */
	struct live retained;         /* its own, and of all rows below it */
	uint64_t offset; /* offset of the pointer to its blocks in those of the parent; UNKNOWN =
			    differs */
	uint64_t depth;  /* most blocks in one chain */
	const char *type, *path; /* NULL = not known; path: JSON, see kept_path */
	uint64_t mapped_bytes;   /* of a row of mappings: their size; else UNKNOWN */
	bool rest;               /* all that was too little for rows of its own */
	bool path_cut;           /* further steps of the path are not known */
	uint32_t process;        /* index */
};

/* Describes a retention scan. */
struct kept_scan {
	uint32_t process; /* index */
	int64_t id;
	const char *label, *state; /* label: of the scan, "request"; state: "done", or why not */
	uint64_t time_ns;          /* since the start of the process's recording */
	uint64_t live_bytes, kept_bytes, unreachable_bytes;
	uint32_t keepers, keeper_count; /* its keepers in struct kept, sorted by id */
};

struct kept {
	struct kept_scan *scans; /* one per process at most, by process */
	size_t scan_count;
	struct keeper *keepers;
	struct kept_row *rows;
	size_t n;
	uint32_t first; /* index of the largest top-level row, or NONE */
	/* sums over scans that are done; UNKNOWN = not known */
	uint64_t live_bytes, kept_bytes, unreachable_bytes;
};

/* Tells whether some scan is done, so that there are rows. */
static inline bool kept_done(const struct kept *k)
{
	for (size_t i = 0; k && i < k->scan_count; i++)
		if (strcmp(k->scans[i].state, "done") == 0)
			return true;
	return false;
}

/* Returns what keeps blocks alive as of a scan of each process: scan number `scan`, or with 0 that
 * of --at scan:N, or the last one up to the report's moment (one that is done, if any is). NULL = there is no such
 * scan. Reads the database only if `scan` is another one than before. */
const struct kept *kept_read(struct model *m, int64_t scan);

/* Returns the row that follows `row` when the tree is written: the first below it, the next beside
 * it, or the next beside the nearest of its parents; NONE = it is the last. */
uint32_t kept_next(const struct kept *k, uint32_t row);

/* Holds a step of a path: `count` blocks of one site, each of which points to the next. */
struct kept_step {
	int64_t site; /* 0 = not known */
	uint64_t count;
};
/* Reads the shortest path to a block of a row: sets *root to the keeper at which it begins, fills
 * `steps` (at most `max`) and returns their number. 0 = it is not known. */
size_t kept_path(struct model *m, const struct kept *k, const struct kept_row *row,
		 const struct keeper **root, struct kept_step *steps, size_t max);

/* Holds what a keeper, or a set, keeps of some sites. */
struct kept_part {
	uint32_t top; /* index of its row */
	struct live live;
	uint32_t most; /* index of the row of these sites with most bytes */
};
/* Finds what keeps the blocks of the sites for which `wanted` returns true, most bytes first. Sets
 * *parts to an array in the model's arena and returns its length. */
size_t kept_parts(struct model *m, const struct kept *k,
		  bool (*wanted)(void *arg, const struct site *s), void *arg,
		  struct kept_part **parts);

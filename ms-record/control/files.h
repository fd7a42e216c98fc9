/* SPDX-License-Identifier: MIT
 * Names and files of the traces of one run: FILE, FILE~, FILE.d/ and its index.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "index.h"
#include "libcommon/base/dest.h"

struct ms_err;
struct output;

/* Holds the options of the traces' files; room cli fills them in. */
struct files_options {
	const char *output; /* NULL = EXE.PID.trace */
	int level;          /* zstd's */
	bool addresses;
	bool no_further;       /* --follow=none, --poll: nothing goes into FILE.d */
	bool keep_live;        /* --keep, of either kind */
	uint64_t keep_last_ns; /* --keep=last:DUR; 0 = --keep=live */
	uint64_t max_bytes;    /* --max-size; 0 = none */
};

struct files {
	char *path; /* of the launched image's trace; "fd:N" for a descriptor */
	/* for a regular file only: */
	struct ms_dest dest; /* its name, behind symbolic links that were followed */
	dev_t dev;           /* and which it is */
	ino_t ino;
	bool has_old;   /* FILE~ had that name before this run */
	bool has_older; /* what was FILE~ then is kept until files_begin */
	char *folder;   /* FILE.d, or NULL: there can be none */
	int beside;     /* the folder that this is in, O_PATH */
	int inside;     /* itself, once it was made; -1 */
	struct index index;
};

/* Works out the name of the trace of `exe` (a path) as process `pid` and makes it; no other
 * recorder gets it then. An old file goes to FILE~. A FIFO is waited for until somebody reads it,
 * five seconds at most. NULL with `err` set. */
struct output *files_open(struct files *f, const struct files_options *o, const char *exe,
			  pid_t pid, struct ms_err *err);
/* There is something to write: FILE.d of an earlier recording is removed, but what else is in it.
 */
void files_begin(struct files *f);
/* There was nothing: the file is removed, and old ones have their names again. */
void files_discard(struct files *f);
/* A trace in FILE.d for image `seq`, made at its first block. NULL with `err` set. */
struct output *files_open_further(struct files *f, const struct files_options *o, const char *name,
				  pid_t pid, uint32_t seq, struct ms_err *err);
/* Removes a trace that is not kept, if it was made. */
void files_remove(const struct output *o);
/* Adds an image that is over to FILE.d/index. */
void files_index(struct files *f, const struct image *m);
/* Closes the index and frees. */
void files_done(struct files *f);

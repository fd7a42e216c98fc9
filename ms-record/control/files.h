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

/* Holds options about trace files; filled in by cli/. */
struct files_options {
	const char *output; /* NULL = EXE.PID.trace */
	int level;          /* zstd compression level */
	bool addresses;
	bool no_further;       /* --follow=none, --poll: no traces in FILE.d */
	bool keep_live;        /* --keep=live or --keep=last */
	uint64_t keep_last_ns; /* --keep=last:DUR; 0 = --keep=live */
	uint64_t max_bytes;    /* --max-size; 0 = none */
};

struct files {
	char *path; /* path of the launched program's trace; "fd:N" for a descriptor */
	/* The following members are only for a regular file. */
	struct ms_dest dest; /* FILE's name after following symbolic links */
	dev_t dev;           /* device and inode of the trace */
	ino_t ino;
	bool has_old;   /* an earlier file was renamed to FILE~ in this run */
	bool has_older; /* the previous FILE~ is kept under another name until files_begin */
	char *folder;   /* path of FILE.d; NULL = FILE cannot have one */
	int beside;     /* O_PATH descriptor of the folder that contains FILE.d */
	int inside;     /* descriptor of FILE.d; -1 = not created yet */
	struct index index;
};

/* Expands the name pattern for process `pid`, which runs the program at path `exe`; creates the
 * file and locks it against other recorders. Renames an existing file to FILE~. Opening a FIFO
 * waits up to five seconds for a reader. Returns NULL with `err` set on failure. */
struct output *files_open(struct files *f, const struct files_options *o, const char *exe,
			  pid_t pid, struct ms_err *err);
/* Prepares for the first write: removes FILE.d of an earlier recording, except files that we did
 * not make. */
void files_begin(struct files *f);
/* Removes the file if nothing was recorded, and renames old files back. */
void files_discard(struct files *f);
/* Returns the output of a trace in FILE.d for the program image (process between two execs) with
 * number `seq`; the file is created with its first block. Returns NULL with `err` set on
 * failure. */
struct output *files_open_further(struct files *f, const struct files_options *o, const char *name,
				  pid_t pid, uint32_t seq, struct ms_err *err);
/* Removes the file of a trace that is not kept, if it was created. */
void files_remove(const struct output *o);
/* Adds a program image that has ended to FILE.d/index. */
void files_index(struct files *f, const struct image *m);
/* Closes the index and frees the members of `f`. */
void files_done(struct files *f);

/* SPDX-License-Identifier: MIT
 * Names and files of the traces of one run: FILE, FILE~, FILE.d/ and its index.
 */
#ifndef FILES_H
#define FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "index.h"

struct ms_err;
struct options;
struct image;
struct output;
struct session;

struct files {
	char *path;   /* of the launched image's trace; "fd:N" for a descriptor */
	char *file;   /* the same, behind symbolic links; NULL = not a regular file */
	bool has_old; /* FILE~ had that name before this run */
	char *folder; /* FILE.d, or NULL: there can be none */
	bool folder_made, discarded;
	struct index index;
};

/* Works out the name of the trace of `exe` (a path) as process `pid` and opens it; no other
 * recorder gets it then. An old file goes to FILE~. NULL with `err` set. */
struct output *files_open(struct files *f, const struct options *o, const char *exe, pid_t pid,
			  struct ms_err *err);
/* There is something to write: an old FILE.d is removed. */
void files_begin(struct files *f);
/* There was nothing: the file is removed, and an old one has its name again. */
void files_discard(struct files *f);
/* A trace in FILE.d for image `seq`, made at its first block. NULL with `err` set. */
struct output *files_open_further(struct files *f, const struct options *o, const char *name,
				  pid_t pid, uint32_t seq, struct ms_err *err);
/* Makes a file that is not there yet. -1 with errno set. Used by the writing thread. */
int files_create(const char *path);
/* Removes a trace that is not kept. */
void files_remove(struct files *f, const struct session *s);
/* Adds an image that is over to FILE.d/index. */
void files_index(struct files *f, const struct image *m);
/* Closes the index and frees. */
void files_done(struct files *f);

#endif

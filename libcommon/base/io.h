/* SPDX-License-Identifier: MIT
 * Files that appear whole or not at all, and reading all of an input.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "dest.h"

struct ms_err;

/* Write all `n` bytes to `fd`. 0, or -1 with errno set. EINTR and short writes are handled. */
int ms_write_all(int fd, const void *data, size_t n);

/* Closes a descriptor, if it is one (not below 0); errno stays as it is. */
void ms_close(int fd);

/* Write `n` bytes to the file `path` under a temporary name in the same folder, then rename over
 * it. An earlier file stays as it was when anything fails. The new one is for its owner alone,
 * unless an earlier one of ours, where nobody else can have put it, said otherwise. A path that is
 * not a regular file (/dev/full, a FIFO) is written directly; a trace is never replaced, nor
 * followed a symbolic link of somebody else's. 0, or -1 with `err` set. */
int ms_write_file(const char *path, const void *data, size_t n, struct ms_err *err);

/* Holds a file that is written bit by bit, but otherwise as ms_write_file does: `fd` is to be
 * written between begin and end. One at a time; `path` is borrowed. */
struct ms_file {
	int fd;
	bool direct; /* no regular file: there is no temporary one */
	bool shared; /* to be set between begin and end: it holds what everybody may read */
	const char *path;
	struct ms_dest dest;
};
int ms_file_begin(struct ms_file *f, const char *path, struct ms_err *err);
/* With `rc` not 0 the file is removed, and an earlier one stays as it was. Returns `rc`, or -1 with
 * `err` set. */
int ms_file_end(struct ms_file *f, int rc, struct ms_err *err);

/* Opens a file that is to be seen while it is written, but otherwise as ms_write_file does: the new
 * file has its name at once. The descriptor, or -1 with `err` set. */
int ms_open_output(const char *path, struct ms_err *err);

/* Read `fd` to its end, at most `max` bytes, into malloc'ed memory (free it). 0, or -1 with `err`
 * set; `name` is for the message. An empty input gives *n = 0. */
int ms_read_all(int fd, const char *name, size_t max, void **data, size_t *n, struct ms_err *err);

/* Remove temporary files of ms_write_file on SIGINT, SIGTERM, SIGHUP and SIGPIPE, then die by the
 * signal. */
void ms_cleanup_on_signals(void);

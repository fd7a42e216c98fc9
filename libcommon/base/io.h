/* SPDX-License-Identifier: MIT
 * Writes files atomically, and reads whole inputs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "dest.h"

struct ms_err;

/* Writes all `n` bytes to `fd`, also after EINTR and short writes. Returns 0, or -1 with errno
 * set. */
int ms_write_all(int fd, const void *data, size_t n);

/* Closes a descriptor unless it is negative; errno is preserved. */
void ms_close(int fd);

/* Writes `n` bytes to the file `path`, under a temporary name in the same folder that is then
 * renamed. If anything fails, an earlier file is unchanged. The new file is readable by its owner
 * only, unless there was an earlier one of ours that nobody else can have put there: its mode is
 * kept. A path that is not a regular file (/dev/full, a FIFO) is written directly. Traces are never
 * replaced, and symbolic links of other users are not followed. Returns 0, or -1 with `err` set. */
int ms_write_file(const char *path, const void *data, size_t n, struct ms_err *err);

/* Holds a file that is written in parts, but otherwise as ms_write_file does: write to `fd` between
 * begin and end. Only one file at a time can be written; `path` is borrowed. */
struct ms_file {
	int fd;
	bool direct; /* not a regular file, so written without a temporary file */
	bool shared; /* everybody may read the file; to be set between begin and end */
	const char *path;
	struct ms_dest dest;
};
int ms_file_begin(struct ms_file *f, const char *path, struct ms_err *err);
/* Ends the file. If `rc` is not 0, the new file is removed, and an earlier file is unchanged.
 * Returns `rc`, or -1 with `err` set. */
int ms_file_end(struct ms_file *f, int rc, struct ms_err *err);

/* Opens an output as ms_write_file does, but under its final name at once, so that it can be read
 * while it is written. Returns the descriptor, or -1 with `err` set. */
int ms_open_output(const char *path, struct ms_err *err);

/* Reads `fd` to its end, at most `max` bytes, into memory from malloc, which the caller frees.
 * Returns 0, or -1 with `err` set; `name` is used in the message. An empty input gives *n = 0, one
 * that is too large gives *n > max and -1. */
int ms_read_all(int fd, const char *name, size_t max, void **data, size_t *n, struct ms_err *err);

/* Makes SIGINT, SIGTERM, SIGHUP and SIGPIPE remove temporary files of ms_write_file before they
 * kill the process. */
void ms_cleanup_on_signals(void);

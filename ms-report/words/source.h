/* SPDX-License-Identifier: MIT
 * Source files: found, read and split into lines.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct model;

struct source {
	const char **v; /* lines, without tabs */
	size_t n;
};

/* Reads a regular file of at most `most` bytes; *n is its size. Returns NULL if there is no such
 * file. The caller frees the result. */
char *source_read_file(const char *path, size_t most, size_t *n);

/* Reads a source file as source_read_file does: at the path in the frames, or below the source root
 * (NULL = not given) or the program's working directory. Sets *from to the path that was read, or
 * tried last. */
char *source_read(struct model *m, const char *file, const char *root, size_t most,
		  const char **from, size_t *n);

struct source source_split(struct model *m, const char *text, size_t n);

/* Tells whether a file was written after the recording began, so that its lines may differ. */
bool source_is_newer(const struct model *m, const char *path);

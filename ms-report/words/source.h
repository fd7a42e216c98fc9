/* SPDX-License-Identifier: MIT
 * Source files as text: found, read, cut into lines.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct model;

struct source {
	const char **v; /* lines, without tabs */
	size_t n;
};

/* Reads a regular file of at most `most` bytes; NULL = there is no such. Free the result. */
char *source_read_file(const char *path, size_t most, size_t *n);

/* Reads, as source_read_file does, a file as frames have it: as the compiler saw it, or below the
 * root of the sources (NULL = nobody said) or where it ran. *from: where it was, or would have
 * been. */
char *source_read(struct model *m, const char *file, const char *root, size_t most,
		  const char **from, size_t *n);

struct source source_split(struct model *m, const char *text, size_t n);

/* A file that was written after the recording began may have other lines than what was recorded. */
bool source_is_newer(const struct model *m, const char *path);

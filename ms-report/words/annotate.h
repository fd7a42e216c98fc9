/* SPDX-License-Identifier: MIT
 * The lines of a source file, with the memory that was allocated on each.
 */
#pragma once

#include "table.h"

struct ms_err;

/* Finds the source file among those of the frames. It matches if its path is `name`, ends with
 * `name`, or is the file on disk that `name` refers to. For a file on disk that was built
 * elsewhere, the best match has the most trailing path components in common. Returns NULL with
 * `err` set: there is no match, or there are several. */
const char *annotate_find(struct model *m, const char *name, struct ms_err *err);

struct annotate {
	const char *file, *name;   /* path in the frames; path as typed */
	const char *root;          /* root of the sources; NULL = not given */
	const struct style *style; /* how to show names */
	enum metric metric;
	bool context; /* with source lines around those that have figures */
};
/* Makes a table of the `limit` largest lines, in the order of the file, and the number of
 * others. */
struct table table_annotate(struct model *m, const struct annotate *a, size_t limit);

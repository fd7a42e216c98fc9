/* SPDX-License-Identifier: MIT
 * The lines of a source file with what was allocated there.
 */
#pragma once

#include "table.h"

struct ms_err;

/* The file of frames that `name` means: it is that name, ends with it, or is what `name` on the disk
 * leads to; of a file on the disk that was built elsewhere, the one whose last parts are the same.
 * NULL with `err` set: none, or several. */
const char *annotate_find(struct model *m, const char *name, struct ms_err *err);

struct annotate {
	const char *file, *name;   /* as frames have it; as it was typed */
	const char *root;          /* where sources are; NULL = nobody said */
	const struct style *style; /* of names */
	enum metric metric;
	bool context; /* with lines around those that have figures */
};
/* The `limit` lines with most, in the order of the file, and how many more there are. */
struct table table_annotate(struct model *m, const struct annotate *a, size_t limit);

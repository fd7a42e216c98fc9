/* SPDX-License-Identifier: MIT
 * The list of a figure that very many sites share: by function, file or directory.
 */
#pragma once

#include "lists.h"

/* Returns the list of sites `l` as it is if its first five rows have a third of what all sites have
 * or more; else one of the same figures whose rows stand for all sites of a function (of one file),
 * a source file, a directory, a namespace or crate, or a module: the first of these of which `limit`
 * rows, six at most, have more than half, or else the one of which they have most. Lives in the
 * model's arena. */
struct list list_grouped(struct model *m, struct list l, size_t limit);

/* The part of the path, or of the name of the function, that all sites of a row of such a list have
 * in common, with its `length`, as the database has it; of GROUPED_FUNCTION the function. NULL = it
 * is not known. */
const char *grouped_name(const struct model *m, const struct list *l, const struct site *row,
			 size_t *length);
/* Does a row of GROUPED_DIRECTORY of that name stand for all directories in it, too? */
bool grouped_deepest(const struct list *l, const char *directory);
/* The frame of its largest site, or NULL. */
const struct frame *grouped_frame(const struct model *m, const struct site *row);

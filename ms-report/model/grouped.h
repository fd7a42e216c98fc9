/* SPDX-License-Identifier: MIT
 * Groups the sites of a list whose total is scattered over very many sites: by function, file or
 * directory.
 */
#pragma once

#include "lists.h"

/* Returns the list of sites `l` unchanged if its first five rows have a third of the total or
 * more. Else returns a list of groups: by function and file, by file, by directory, by namespace
 * or crate, or by module. The first kind whose first `limit` rows (six at most) have more than
 * half of the total is taken, or else the kind whose first rows have the most. Lives in the
 * model's arena. */
struct list list_grouped(struct model *m, struct list l, size_t limit);

/* Returns the common part of the sites of a row: part of a path or of a function's name, as stored
 * in the database; *length is its length. Returns NULL if it is not known. */
const char *grouped_name(const struct model *m, const struct list *l, const struct site *row,
			 size_t *length);
/* Tells whether a row for `directory` includes its subdirectories. */
bool grouped_deepest(const struct list *l, const char *directory);
/* Returns the frame of a row's largest site, or NULL. */
const struct frame *grouped_frame(const struct model *m, const struct site *row);

/* SPDX-License-Identifier: MIT
 * Tracks which row of a list is selected, and which rows are visible.
 *
 * Rows are identified by stable ids. The selection stays with its row when rows are added, removed
 * or reordered; if the row itself is removed, the row now at its index is selected.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct list {
	const uint64_t *ids; /* borrowed until the next list_set: ids of rows in order */
	size_t n;
	uint64_t selected; /* id of the selected row */
	size_t at;         /* index of the selected row */
	size_t top;        /* index of the first visible row */
	size_t height;     /* visible rows, from the latest list_view */
	int row;           /* screen row of the first visible row */
	bool has;          /* a row is selected */
	bool follows; /* the user has not selected a row: the first row stays selected, whichever it
			 is */
	bool kept;    /* reordering keeps the selection, too */
};

void list_init(struct list *l);
/* Sets the rows. All ids must differ. */
void list_set(struct list *l, const uint64_t *ids, size_t n);
/* Moves the selection by `rows`, within the list. */
void list_move(struct list *l, long rows);
void list_first(struct list *l);
void list_last(struct list *l);
/* Call after reordering: selects the first row, unless the selection is to be kept. */
void list_sorted(struct list *l);
/* Toggles whether reordering keeps the selection. Returns whether it does now. */
bool list_keep(struct list *l);
/* Selects a row by its id. Returns false if there is none. */
bool list_choose(struct list *l, uint64_t id);
/* Adjusts the view to `height` rows, including the selected one. Returns the index of the first
 * visible row. */
size_t list_view(struct list *l, size_t height);

/* SPDX-License-Identifier: MIT
 * Which row of a list is selected, and which rows are in view.
 *
 * Rows are named by numbers that stay theirs. The selection stays with its row when rows come, go
 * or change places; only when its own row goes does it pass to the one that has taken its place.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct list {
	const uint64_t *ids; /* borrowed: rows in their order, until the next list_set */
	size_t n;
	uint64_t selected; /* id */
	size_t at;         /* its place */
	size_t top;        /* first row in view */
	size_t height;     /* rows in view, of the latest list_view */
	int row;           /* of the screen, where the first one was drawn */
	bool has;          /* is anything selected? */
	bool follows; /* nobody chose: the selection stays at the first row, whatever that is */
	bool kept;    /* another order keeps the selection, too */
};

void list_init(struct list *l);
/* The rows are now these. No id is twice among them. */
void list_set(struct list *l, const uint64_t *ids, size_t n);
/* Moves the selection, as far as there are rows. */
void list_move(struct list *l, long rows);
void list_first(struct list *l);
void list_last(struct list *l);
/* The rows have another order: shows the first one, unless the selection is to be kept. */
void list_sorted(struct list *l);
/* Keeps the selection when the order changes, or no longer. Returns whether it does now. */
bool list_keep(struct list *l);
/* Selects a row by its id. False: there is none. */
bool list_choose(struct list *l, uint64_t id);
/* There is room for `height` rows: the selected one is among them. Returns the first row. */
size_t list_view(struct list *l, size_t height);

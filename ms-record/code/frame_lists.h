/* SPDX-License-Identifier: MIT
 * Lists of functions of modules without .eh_frame_hdr, in shared memory, where the guest finds
 * them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ms-record/guest/layout.h"

struct attach_map;
struct process;

/* Holds the function lists of the modules of an program image. The creator fills in the members
 * before the empty line; pointers there are borrowed. */
struct frame_lists {
	int memfd;              /* descriptor of the shared memory */
	uint8_t *memory;        /* mapping of the shared memory in this process */
	struct mg_session *mem; /* the guest's header in the shared memory */
	uint64_t lists;         /* offset of the guest's mg_frames[] */
	uint64_t low, bytes;    /* offset and size of the space for lists; memory is allocated on
				   first use */

	uint64_t used; /* bytes of that space in use */
	struct mg_frames v[MG_LISTS_MAX];
	uint32_t n;
};

/* Adds a list of the functions of the module whose ELF header is at the start of `map`. Returns the
 * list's index + 1 in the guest's mg_frames[]; 0 = the module needs none because it has an
 * .eh_frame_hdr, or no list can be made. Called by the thread that owns the session's modules. */
uint32_t frame_lists_add(struct frame_lists *l, const struct process *process,
			 const struct attach_map *map);
/* Reads the lists of an earlier recording from the shared memory. No more lists can be added
 * then. */
void frame_lists_take(struct frame_lists *l);
/* Returns the function list of the module that starts at `start`, or NULL. */
const struct mg_frames *frame_lists_find(const struct frame_lists *l, uint64_t start);
/* Reads the word at `offset` of the shared memory, if it is part of a list. Returns false if it is
 * not. */
bool frame_lists_read(const struct frame_lists *l, uint64_t offset, uint64_t *word);

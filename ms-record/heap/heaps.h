/* SPDX-License-Identifier: MIT
 * Merges the blocks of the program's custom heaps: those of hooked functions and of memscope.h's
 * pools.
 *
 * The live table holds these blocks like those of ms_alloc, apart from malloc's. A block's call
 * stack tells its heap: a marker with the heap's name stands above the outermost frame. A pool
 * knows its blocks, so that all can be freed at once. What malloc allocates inside a hooked
 * function is backing: it has its own table and counts in no figure of the heap.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct heaps;
struct item;
struct reader;
struct session;

/* Stores the details of an item while records are parsed, and returns the item's `extra`. Kinds:
 * ITEM_HEAP_ALLOC, ITEM_HEAP_REALLOC, and ITEM_POOL, whose `name` it keeps. */
uint32_t heaps_add_detail(struct session *s, uint64_t heap, uint64_t pool, char *name);
void heaps_free(struct heaps *h);

/* ---- in the merge ---- */

/* Turns *it, whose block is about to be added, into an ordinary item with the call stack below
 * its heap's marker. Returns the block's pool, to be passed to heaps_join once the block is
 * added; 0 = none. */
uint64_t heaps_place(struct session *s, struct item *it);
void heaps_join(struct session *s, uint64_t pool, uint64_t address, uint64_t number);
/* Handles an ITEM_POOL. */
void heaps_pool(struct session *s, struct reader *r, const struct item *it);
/* Handles an ITEM_BACKING. */
void heaps_backing(struct session *s, struct reader *r, const struct item *it);
/* Handles the free of a block that is not live. Returns true if the block is backing of a custom
 * heap, or memory of malloc whose own free follows. `sure`: also frees a custom heap's block at
 * the address of the backing. */
bool heaps_give(struct session *s, struct reader *r, const struct item *it, bool sure);

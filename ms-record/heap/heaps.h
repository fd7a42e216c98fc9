/* SPDX-License-Identifier: MIT
 * Heaps of the program's own in the merge: blocks of hooked functions and of memscope.h's pools.
 *
 * Their blocks are in the live table like those of ms_alloc, apart from malloc's. Which heap one is
 * of says its call stack: above its outermost frame stands a marker with the heap's name. A pool
 * knows its blocks, so that all can be freed at once. What malloc gave out inside a hooked function
 * is backing: in a table of its own, in no figure of the heap.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct heaps;
struct item;
struct reader;
struct session;

/* While records are parsed: what an item of kind ITEM_HEAP_ALLOC or ITEM_HEAP_REALLOC (in `extra`),
 * or ITEM_POOL (in `extra`, its name is kept), says besides. */
uint32_t heaps_add_detail(struct session *s, uint64_t heap, uint64_t pool, char *name);
void heaps_free(struct heaps *h);

/* ---- in the merge ---- */

/* A block is about to be bound: makes *it an item like others, under its heap's marker. Returns the
 * pool that it belongs to, for heaps_join after it was; 0 = none. */
uint64_t heaps_place(struct session *s, struct item *it);
void heaps_join(struct session *s, uint64_t pool, uint64_t address, uint64_t number);
/* ITEM_POOL */
void heaps_pool(struct session *s, struct reader *r, const struct item *it);
/* ITEM_BACKING */
void heaps_backing(struct session *s, struct reader *r, const struct item *it);
/* A block that is not live is given back: is it backing, or is nothing to be recorded of it?
 * `sure`: then a block of the program's own heap at that address goes with it. */
bool heaps_give(struct session *s, struct reader *r, const struct item *it, bool sure);

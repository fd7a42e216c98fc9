/* SPDX-License-Identifier: MIT
 * Merges the items of all rings, in the order of their stamps, into events of the trace.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct session;
struct reader;
struct item;

/* Creates s->heap; merge_end frees it. `serial`: serial of the session in its pool. */
void merge_begin(struct session *s, uint32_t serial);
void merge_end(struct session *s);

/* Merges every item whose stamp is below `limit` (UINT64_MAX = all). No item below `limit` may
 * arrive later; items up to merge_lookahead() above it should have arrived, so that the order of
 * items can be repaired. */
void merge_until(struct session *s, uint64_t limit);
/* Merges up to each stamp, within `limit`, at which a forked child still needs its parent's blocks,
 * and adds a fork point there. */
void merge_forks(struct session *s, uint64_t limit);
/* Adds a mark after the events merged so far, and flushes the batch, unless marks are frequent. `thread`: 1 + index of the
 * thread; 0 = a mark from outside the process. */
void merge_mark(struct session *s, const char *name, uint64_t ns, uint32_t thread);
/* Returns how far ahead, in stamps, the merge may look for a free or allocation out of order. */
uint64_t merge_lookahead(const struct session *s);

/* Returns the next event of the trace for the caller to fill in: kind, thread and time are set.
 * `key`: key of the item. Valid until the next call. */
struct ms_event *merge_emit(struct session *s, uint8_t kind, uint32_t thread, uint64_t key);

/* Frees the block at `address` at the item's stamp. */
void merge_free(struct session *s, struct reader *r, const struct item *it, uint64_t address);
/* Ends any live block at the address of the item's new block. */
void merge_make_way(struct session *s, const struct reader *r, const struct item *it);

/* Handles address space that is mapped (ITEM_MAP) or unmapped (ITEM_UNMAP): mapped.c. */
void mapped_take(struct session *s, struct reader *r, const struct item *it);
void mapped_give(struct session *s, struct reader *r, const struct item *it);
/* Notes whether the memory that the reader's next ITEM_MAP maps a second time is in a known
 * mapping. */
void mapped_look(struct session *s, struct reader *r, const struct item *it);

/* SPDX-License-Identifier: MIT
 * The merge: items of all rings in the order of their stamps, to events of the trace.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct session;
struct reader;
struct item;

/* Makes and frees s->heap. `serial`: the session's in its pool. */
void merge_begin(struct session *s, uint32_t serial);
void merge_end(struct session *s);

/* Merges every item whose stamp is below `limit` (UINT64_MAX = all). No item below it may arrive
 * later; items up to merge_lookahead() above it should have arrived, so that order can be repaired.
 */
void merge_until(struct session *s, uint64_t limit);
/* Merges up to each stamp below `limit` at which a child has yet to find what it inherits. */
void merge_forks(struct session *s, uint64_t limit);
/* Puts a mark behind the events merged so far, and hands on. `thread`: index + 1; 0 = from outside.
 */
void merge_mark(struct session *s, const char *name, uint64_t ns, uint32_t thread);
/* How far, in stamps, a free may be found late. */
uint64_t merge_lookahead(const struct session *s);

/* The next event of the trace, to be filled in: kind, thread and time are set. `key`: the item's.
 * Valid until the next one. */
struct ms_event *merge_emit(struct session *s, uint8_t kind, uint32_t thread, uint64_t key);

/* The block at `address` is freed at the item's stamp. */
void merge_free(struct session *s, struct reader *r, const struct item *it, uint64_t address);
/* Whatever is live at the address that the item takes goes. */
void merge_make_way(struct session *s, const struct reader *r, const struct item *it);

/* mapped.c: address space taken (ITEM_MAP) or given back (ITEM_UNMAP). */
void mapped_take(struct session *s, struct reader *r, const struct item *it);
void mapped_give(struct session *s, struct reader *r, const struct item *it);
/* Is there anything known at an address that the reader's next ITEM_MAP maps a second time? */
void mapped_look(struct session *s, struct reader *r, const struct item *it);

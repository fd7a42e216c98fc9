/* SPDX-License-Identifier: MIT
 * Rings are prepared for threads, read, and taken back. Records are checked while they are read,
 * because the process that writes them may be broken or hostile.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct session;
struct reader;

/* Bytes of a ring to read at a time: few enough that parsed items are still in the cache when they
 * are merged. */
#define RING_PART 65536u

/* Prepares memory for more rings while too few rings are free and the budget allows it. */
void ring_prepare(struct session *s);
/* Reads about RING_PART bytes of each ring, and converts the records to items for the merge.
 * Returns the bytes read. *limit receives the watermark, at most `now`: no item with an earlier
 * stamp can arrive any more. Sets s->damaged if a record is invalid. */
uint64_t ring_read_all(struct session *s, uint64_t now, uint64_t *limit);
/* Frees the rings of threads that have ended. `hurry`: frees also rings that were in use a moment
 * ago. */
void ring_return(struct session *s, bool hurry);
/* Tells whether a ring must be read now: it is half full of unread bytes, or its thread waits for
 * us. Ignores rings that cannot be read now (drained.h). Call it after announcing sleep. */
bool ring_wanted(struct session *s);
/* Halves the memory for items if a burst has left most of it unused. */
void ring_shrink(struct reader *r);
void ring_free(struct reader *r);
/* Adopts the first `n` rings of a pool slot (a forked child's part of the shared memory). They were
 * prepared before the session existed. */
void ring_adopt(struct session *s, uint32_t n);
/* Adopts and empties the rings left by the previous recording of a standby process. `proc`: the
 * process is known, so rings of ended threads can be found and freed. Call it before the session is
 * woken (R8 in guest/layout.h). */
void ring_take_over(struct session *s, bool proc);

/* Parses records from the reader's position, until `most` of the `bytes` unread bytes, or all of
 * them, are parsed. Returns the number of bytes parsed, or -1 with the session marked as damaged.
 * In parse.c. */
int64_t parse_records(struct session *s, struct reader *r, uint64_t bytes, uint64_t most);

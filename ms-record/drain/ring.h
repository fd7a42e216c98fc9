/* SPDX-License-Identifier: MIT
 * Rings are prepared for threads, read, and taken back. Records are checked while they are read,
 * because the process that writes them may be broken or hostile.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct session;
struct reader;

/* Bytes read of a ring at a time, few enough for items to be merged while they are in the cache. */
#define RING_PART 65536u

/* Allocates memory for further rings while too few are free and the budget allows it. */
void ring_prepare(struct session *s);
/* Reads up to RING_PART bytes, or little more, of each ring and turns the records into items of
 * the merge. Returns the bytes read. *limit receives the watermark, at most `now`: no item with
 * an earlier stamp can arrive later. Sets s->damaged if a record is invalid. */
uint64_t ring_read_all(struct session *s, uint64_t now, uint64_t *limit);
/* Frees the rings of threads that have ended. `hurry`: also rings that were busy a moment ago. */
void ring_return(struct session *s, bool hurry);
/* Tells whether a ring is half full of unread bytes or its thread waits until it is read, except
 * for rings that cannot be read now (drained.h). Call it after announcing sleep. */
bool ring_wanted(struct session *s);
/* Halves the memory for items if a burst has left most of it unused. */
void ring_shrink(struct reader *r);
void ring_free(struct reader *r);
/* Takes over the first `n` rings of a slot, which were prepared before the session existed. */
void ring_adopt(struct session *s, uint32_t n);
/* Takes over and empties the rings of a standby process's previous recording. `proc`: the
 * session's process is known, so rings of ended threads can be found and freed. Call it before
 * the session is woken (R8 in guest/layout.h). */
void ring_take_over(struct session *s, bool proc);

/* Reads records from the reader's position, `bytes` bytes long, until `most` bytes or all are
 * read. Returns the bytes read, or -1 with the session marked as damaged. In parse.c. */
int64_t parse_records(struct session *s, struct reader *r, uint64_t bytes, uint64_t most);

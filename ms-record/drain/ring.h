/* SPDX-License-Identifier: MIT
 * Rings: made ready for threads to take, read, and taken back. Records are checked as they are
 * read, because whoever writes them may be broken or hostile.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct session;
struct reader;

/* At a time, so that items are merged while they are in the cache. */
#define RING_PART 65536u

/* Puts memory behind further rings while fewer than enough are free and the budget lasts. */
void ring_prepare(struct session *s);
/* One look at every ring: what arrived becomes items of the merge, of each ring RING_PART bytes or
 * little more. Returns the bytes read, and in *limit the watermark: no item with a stamp below it can
 * arrive later. Sets s->damaged when a
 * record cannot be. */
uint64_t ring_read_all(struct session *s, uint64_t now, uint64_t *limit);
/* Gives rings of threads that are gone back to the pool. `hurry`: also ones that were busy a moment
 * ago. */
void ring_return(struct session *s, bool hurry);
/* Is a ring half full of bytes that were not read, or does its thread wait for them to be? Not one for
 * which no look helps (drained.h). After who sleeps has said so. */
bool ring_wanted(struct session *s);
/* Gives back memory for events that a burst took, half of it each time. */
void ring_shrink(struct reader *r);
void ring_free(struct reader *r);
/* The first `n` rings of a slot were made ready before its session was: it takes them over. */
void ring_adopt(struct session *s, uint32_t n);
/* On standby: takes over the rings of the recording before, all of them empty from now on. A ring
 * whose thread is gone is free again; `proc`: the session's process is known, so that this can be
 * told. Before the session is woken (R8). */
void ring_take_over(struct session *s, bool proc);

/* parse.c: reads records at the reader's place, of which there are `bytes` bytes, until `most` bytes
 * or more are read, or all. How many, or -1 and the session is marked as damaged. */
int64_t parse_records(struct session *s, struct reader *r, uint64_t bytes, uint64_t most);

/* SPDX-License-Identifier: MIT
 * Tracks blocks of an attached process that are older than the attachment, apart from recorded
 * blocks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct attach_memory;
struct preexisting;
struct hijack;
struct live_block;
struct session;

/* Extends enum ms_before_state: the heap is being walked, or the result is not evaluated yet. */
#define PREEXISTING_LOOKING 0

/* Counts the blocks that were allocated before the attachment. */
struct preexisting_counts {
	unsigned state;
	uint64_t blocks, bytes, largest; /* at the attachment; usable bytes */
	uint64_t frees, freed_bytes;     /* frees of these blocks since the attachment */
	uint64_t took_ns;                /* duration of the walk */
	char why[120];                   /* reason, if the state is not MS_BEFORE_WHOLE */
};

/* Begins the walk of a process's heap in a new thread; `h` has the process open, and its hooks are
 * in place. `walk`: the heap is glibc's. `tps`: the thread pointers of the process, borrowed. */
void preexisting_begin(struct session *s, const struct hijack *h, bool walk, const uint64_t *tps,
		       uint32_t tp_count);
/* Stops the walk's thread, waits for it, and frees `b`. */
void preexisting_free(struct preexisting *b);
struct preexisting_counts preexisting_counts(const struct preexisting *b);
/* Tells whether the blocks are known, as far as they will ever be (any thread). `b` may be NULL. */
bool preexisting_ready(const struct preexisting *b);

/* ---- called by the draining thread ---- */

/* Notes that a block was allocated at an address. */
void preexisting_made(struct preexisting *b, uint64_t address);
/* Tells whether a block was ever allocated at the address since the attachment; rarely true
 * although none was. */
bool preexisting_seen(const struct preexisting *b, uint64_t address);
/* Handles a free of an unknown block. Returns true if the block was allocated before the
 * attachment, and copies it to *was; the caller first writes an event that says that. During the
 * walk, returns false, and the decision is made later. */
bool preexisting_freed(struct preexisting *b, uint64_t address, struct live_block *was);
/* Passes each of these blocks that is still live to `f`, in no order; none before they are known.
 * `b` may be NULL. */
void preexisting_each(const struct preexisting *b,
		      void (*f)(void *arg, const struct live_block *block), void *arg);
/* Evaluates the walk once it is complete and merged, and writes the result to the trace. Called
 * in every round of the draining thread. `end`: last call. */
void preexisting_look(struct session *s, bool end);

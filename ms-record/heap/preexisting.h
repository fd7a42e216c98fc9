/* SPDX-License-Identifier: MIT
 * Blocks of an attached process from before it was attached to: kept apart from those that are
 * recorded, which they never become.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct attach_memory;
struct preexisting;
struct hijack;
struct live_block;
struct session;

/* A state besides those of enum ms_before_state: the heap is being walked, or that is yet to be
 * understood. */
#define PREEXISTING_LOOKING 0

/* Counts the blocks from before the attachment. */
struct preexisting_counts {
	unsigned state;
	uint64_t blocks, bytes, largest; /* when it was attached to; usable bytes */
	uint64_t frees, freed_bytes;     /* of these since */
	uint64_t took_ns;                /* the walk */
	char why[120];                   /* the state is not MS_BEFORE_WHOLE: why not */
};

/* For a session of a process that `h` has open and whose hooks are there; its heap is walked by a
 * thread of ours. `walk`: it is glibc's. `tps`: its thread pointers, borrowed. */
void preexisting_begin(struct session *s, const struct hijack *h, bool walk, const uint64_t *tps,
		       uint32_t tp_count);
/* Waits for the thread. */
void preexisting_free(struct preexisting *b);
struct preexisting_counts preexisting_counts(const struct preexisting *b);

/* ---- the draining thread's ---- */

/* A block is made at an address. */
void preexisting_made(struct preexisting *b, uint64_t address);
/* Was there ever one made at it since? Now and then true where there was none. */
bool preexisting_seen(const struct preexisting *b, uint64_t address);
/* A block of which nothing is known is given back. True: it is one from before, and *was is it; the
 * event that says so is to go ahead. While the heap is walked that is decided later. */
bool preexisting_freed(struct preexisting *b, uint64_t address, struct live_block *was);
/* Each round: is the walk understood by now? Its outcome goes into the trace. `end`: the last
 * chance. */
void preexisting_look(struct session *s, bool end);

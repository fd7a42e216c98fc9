/* SPDX-License-Identifier: MIT
 * The live blocks of a trace being written, and checkpoints of them (writing thread).
 *
 * The blocks are kept in order of allocation number, so that a checkpoint is written by walking
 * through them:
 *
 *    numbers:  0 ............ base .......................... base + WINDOW
 *              |   old blocks  |  window: a ring, one slot each |
 *
 * An allocation is put into the window, an array indexed by the low bits of its number, with a
 * bit that means "live"; most blocks are freed while they are there, which clears the bit. When
 * the window moves on, 64 slots leave it at a time, and their live blocks are appended to the
 * list of old blocks, which is therefore sorted; before a checkpoint this is done for the whole
 * window. The numbers of freed old blocks are only noted; once there are notes for a quarter of
 * them, and before a checkpoint, the notes are sorted and the blocks are removed in one pass. An
 * old block takes 5 to 7 bytes (packed.h), more with its address, and a note 8.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_err;
struct ms_event;
struct ms_trace_writer;

struct live_list;

/* Makes an empty list. Without `addresses` it does not keep the blocks' addresses, so no
 * checkpoint has them. */
struct live_list *live_list_new(bool addresses);
void live_list_free(struct live_list *l);
/* Applies an event to the list. Call it for every event of the trace in order. An allocation's
 * number must be set; it is one more than that of the previous allocation. */
void live_list_event(struct live_list *l, const struct ms_event *ev);
uint64_t live_list_blocks(const struct live_list *l);
/* Calls `f` for every live block, in order of allocation number. */
void live_list_stacks(struct live_list *l, void (*f)(void *arg, uint64_t number, uint32_t stack),
		      void *arg);

/* Writes the state before event number `event` of the trace, that is after all events so far, in
 * as many blocks as needed. `addresses`: include the blocks' addresses, for a file without the
 * events that allocated them. Returns 0, or -1 with `err` and errno set. */
int checkpoint_write(struct live_list *l, uint64_t event, bool addresses, struct ms_trace_writer *t,
		     struct ms_err *err);

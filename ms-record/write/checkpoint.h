/* SPDX-License-Identifier: MIT
 * What is live in a trace being written, and checkpoints of it (writing thread).
 *
 * The blocks are kept in order of allocation number, so that a checkpoint is written by walking
 * through them:
 *
 *    numbers:  0 ............ base .......................... base + WINDOW
 *              |   old blocks  |  window: a ring, one slot each |
 *
 * An allocation lands in the window, an array indexed by the low bits of its number, with a bit
 * that says "live"; most blocks are freed there, which clears the bit. When the window moves on, 64
 * slots leave it at a time, and what is still live of them is put at the end of the list of old
 * blocks, which is thereby sorted; before a checkpoint all that are live are. Old blocks that are
 * freed are only noted; when a quarter of them is, and before a checkpoint, the notes are sorted and
 * taken out in one walk. An old block takes 5 to 7 bytes (packed.h), more with its address, and a
 * note 8.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_err;
struct ms_event;
struct ms_trace_writer;

struct live_list;

/* Makes a list; without `addresses` those of its blocks are not kept, and no checkpoint has
 * them. */
struct live_list *live_list_new(bool addresses);
void live_list_free(struct live_list *l);
/* Takes over what an event changes: call for every event of the trace in order, with the number of
 * an allocation set, which is one more than that of the allocation before. */
void live_list_event(struct live_list *l, const struct ms_event *ev);
uint64_t live_list_blocks(const struct live_list *l);
/* Calls `f` for every live block, in order of number. */
void live_list_stacks(struct live_list *l, void (*f)(void *arg, uint64_t number, uint32_t stack),
		      void *arg);

/* Writes the state after all events so far, which is the one before event number `event` of the
 * trace, in as many blocks as it takes. `addresses`: with those of the blocks, for when the events
 * that made them are not in the file. 0, or -1 with `err` and errno set. */
int checkpoint_write(struct live_list *l, uint64_t event, bool addresses, struct ms_trace_writer *t,
		     struct ms_err *err);

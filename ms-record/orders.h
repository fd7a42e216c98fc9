/* SPDX-License-Identifier: MIT
 * What the control thread asks of the draining thread, one thing at a time.
 *
 * A mark or a flush is done at one stamp in every image: exactly there the merge stops for a
 * moment, so that what the program did before is before it in the trace.
 */
#ifndef ORDERS_H
#define ORDERS_H

#include <stdint.h>

struct drain;
struct session;

enum order_kind {
	ORDER_LOOK,  /* at the run's state, at once; and the figures */
	ORDER_FLUSH, /* hand on everything up to now */
	ORDER_MARK,  /* put a mark, and hand on */
};

struct order {
	enum order_kind kind;
	char name[256];
	/* Answers, valid once `done`. The figures are of the images that run. */
	uint64_t ticket; /* of the last batch that was handed on */
	struct figures {
		uint64_t images, events, allocations, live_bytes, live_blocks, peak_bytes, lost;
		uint64_t paused_ns, paused_allocations;
	} figures;
	int done; /* atomic */
};

/* Gives an order and wakes the thread; `o` is borrowed until o->done, of which the eventfd
 * drain->event tells. */
void orders_give(struct drain *d, struct order *o);
/* The following are the draining thread's. Takes a new order, if there is one. */
void orders_take(struct drain *d);
/* Merges up to the stamp of the session's order, if `limit` lies beyond it, and does it. */
void orders_merge(struct session *s, uint64_t limit);
/* Does the session's order now: everything before it was merged, or never will be. */
void orders_do(struct session *s);
/* Answers when no session has anything left to do. */
void orders_answer(struct drain *d);
/* Adds the figures of a session. */
void orders_add_figures(struct figures *f, const struct session *s);

#endif

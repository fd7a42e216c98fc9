/* SPDX-License-Identifier: MIT
 * What the control thread asks of the draining thread, one thing at a time.
 *
 * A mark or a flush is done at one stamp in every image: exactly there the merge stops for a
 * moment, so that what the program did before is before it in the trace.
 */
#pragma once

#include <stdint.h>

struct drain;
struct session;
struct stats;

enum drain_request_kind {
	DRAIN_REFRESH, /* look at the run's state, at once; and the figures */
	DRAIN_FLUSH,   /* hand on everything up to now */
	DRAIN_MARK,    /* put a mark, and hand on */
};

struct drain_request {
	enum drain_request_kind kind;
	char name[256];
	/* Answers, valid once `done`. The figures are of the images that run. */
	uint64_t ticket; /* of the last batch that was handed on */
	struct figures {
		uint64_t images, events, allocations, live_bytes, live_blocks, peak_bytes, lost;
		uint64_t paused_ns, paused_allocations;
	} figures;
	int done; /* atomic */
};

/* Sends a request and wakes the thread; `r` is borrowed until r->done, of which the eventfd
 * drain->event tells. */
void drain_requests_send(struct drain *d, struct drain_request *r);
/* The following are the draining thread's. Takes a new request, if there is one. */
void drain_requests_take(struct drain *d);
/* The stamp of the session's request; UINT64_MAX = it has none. */
uint64_t drain_requests_stamp(const struct session *s);
/* All that came before that stamp is merged, and nothing later: the request is done. */
void drain_requests_reached(struct session *s, uint64_t stamp);
/* Performs the session's request now: everything before it was merged, or never will be. */
void drain_requests_perform(struct session *s);
/* Answers when no session has anything left to do. */
void drain_requests_answer(struct drain *d);
/* Adds the figures of an image that is over, which has nothing live. */
void figures_add(struct figures *f, const struct stats *t, uint64_t paused_ns);
/* Adds the figures of a session. */
void drain_requests_add_figures(struct figures *f, const struct session *s);

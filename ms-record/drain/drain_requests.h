/* SPDX-License-Identifier: MIT
 * Requests of the control thread to the draining thread, one at a time.
 *
 * A mark or a flush is performed at one stamp in every image: the merge stops exactly at that
 * stamp, so that everything the program did earlier comes earlier in the trace.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct drain;
struct session;
struct stats;

#define DRAIN_ALL UINT32_MAX        /* all program images */
#define DRAIN_NONE (UINT32_MAX - 1) /* no program image */

/* Describes a mark in one program image (its number), whose trace is then kept, or in all. */
struct drain_mark {
	uint32_t image;
	const char *name; /* borrowed; NULL = only flush */
	bool checkpoint;  /* write the live blocks before the next event */
};
struct drain_marks {
	struct drain_mark *v;
	size_t n, cap;
};

/* Asks for marks in the program images that they name, and for all of these images' events up to
 * then to be written; for the pause state of all images to be updated; and for figures. */
struct drain_request {
	struct drain_marks marks;
	/* Results, valid once `done` is set: a ticket, and totals of the running program
	 * images. */
	uint64_t ticket; /* ticket of the last batch passed to the writing thread */
	struct figures {
		uint64_t images, events, allocations, live_bytes, live_blocks, peak_bytes, lost;
		uint64_t paused_ns, paused_allocations;
	} figures;
	int done; /* atomic: 1 = the request is completed */
};

/* Sends a request and wakes the draining thread. `r` is borrowed until r->done is set; the eventfd
 * drain->event is written then. */
void drain_requests_send(struct drain *d, struct drain_request *r);
/* Takes a new request, if there is one. This and the following functions are for the draining
 * thread only. */
void drain_requests_take(struct drain *d);
/* Returns the stamp of the session's request, or UINT64_MAX if it has none. */
uint64_t drain_requests_stamp(const struct session *s);
/* Performs the session's request if `stamp` is the stamp of that request. All earlier events must
 * be merged, and no later ones. */
void drain_requests_reached(struct session *s, uint64_t stamp);
/* Performs the session's request now. All events before it must be merged, or lost for good. */
void drain_requests_perform(struct session *s);
/* Marks the request as done if every session has performed it. */
void drain_requests_answer(struct drain *d);
/* Adds the figures of an ended program image, which has no live blocks. */
void figures_add(struct figures *f, const struct stats *t, uint64_t paused_ns);
/* Adds the figures of a session. */
void drain_requests_add_figures(struct figures *f, const struct session *s);

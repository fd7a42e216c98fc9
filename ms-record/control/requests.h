/* SPDX-License-Identifier: MIT
 * Marks and flushes that the control thread asks of the draining thread, for --tell and --when.
 *
 * The draining thread takes one request at a time. Meanwhile marks are collected for the next one;
 * requests are numbered from 1, and whoever added a mark waits for the number of its request.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ms-record/drain/drain_requests.h"

struct drain;
struct writer;

struct requests {
	struct drain_marks next;   /* marks of the next request */
	struct drain_request sent; /* the request in progress, or the last one */
	uint64_t number;           /* of `sent` */
	uint64_t merged, written;  /* numbers of the last requests that are merged, and written */
	uint64_t ticket;           /* of the writing thread, for `merged` */
	bool waits;                /* `sent` is in progress */
};

/* Adds a mark, `name` borrowed until it is merged, to the next request. NULL = only a flush; for
 * DRAIN_NONE only the figures, which are in `sent` once that is merged. Returns the number of that
 * request. */
uint64_t requests_add(struct requests *r, uint32_t image, const char *name, bool checkpoint);
/* Looks how far the request in progress is: events before it are merged, or written as well. */
void requests_look(struct requests *r, const struct drain *d, struct writer *w);
/* Sends the next request unless there is none, or one is in progress. */
void requests_send(struct requests *r, struct drain *d);
void requests_free(struct requests *r);

/* SPDX-License-Identifier: MIT
 * --max-size: the traces of a run together never get larger (writing thread).
 *
 * Room for the ends of all open traces (index, losses, end block) is kept back. A block that would
 * go beyond is not written: then either the trace is written anew without what was freed
 * (rewrite.h), or nothing but ends is written from there on, in no trace of the run.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/column.h"

struct ms_err;
struct ms_record_writer;
struct output;

struct limit {
	uint64_t max;       /* bytes */
	bool keep;          /* --keep=live, or last */
	uint64_t keep_ns;   /* --keep=last; 0 = live */
	uint64_t used;      /* atomic: bytes of all traces */
	uint64_t reserved;  /* of them for ends of open ones */
	int reached;        /* atomic */
	char why[128];      /* why keeping was not enough; "" = it was not asked for */
	uint64_t rewritten; /* atomic: how many times a trace was written anew */
	int event;          /* eventfd, written when one was, and when the limit is reached */
};

/* A trace was begun, or all of it is written. Nothing without a limit. */
void limit_begin(struct output *o);
void limit_end(struct output *o);
/* Writes a block of `o`. 0 = done; 1 = it is not in the file, or as part of a trace written anew:
 * nothing is to be done about it; -1 with `err` set: writing failed. */
int limit_write(struct output *o, uint16_t type, const uint64_t ns[2],
		const struct ms_column *columns, size_t n, struct ms_err *err);
/* Lets the end of `o` use what was kept back for it; `last_ns` is the recording's. When something
 * was not written, says how much. 0, or -1 with `err` set. */
int limit_close(struct output *o, uint64_t last_ns, struct ms_err *err);
/* Bytes that a block may take that is not needed. */
uint64_t limit_room(const struct output *o);
/* A block of `o` was written by others, in what limit_room gave. Nothing without a limit. */
void limit_grown(struct output *o);
/* Returns the bytes that a trace written anew may take: half of what the others leave. */
uint64_t limit_half(const struct output *o);
/* No trace of the run takes more from here on; limit->why says why. */
void limit_reach(struct output *o);
/* The trace of `o` was written anew. */
void limit_moved(struct output *o);
/* Returns the bytes that the traces leave unused, once all are written. */
uint64_t limit_left(const struct limit *l);
/* A trace of that many bytes was removed. */
void limit_give_back(struct limit *l, uint64_t bytes);

/* SPDX-License-Identifier: MIT
 * The limit --max-size of the total size of a run's traces (writing thread).
 *
 * Room for the ends of all open traces (index, losses, end block) is reserved. A block that
 * would exceed the limit is not written: instead the trace is rewritten without freed blocks
 * (rewrite.h), or from then on only ends are written, in all traces of the run.
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
	uint64_t max;       /* limit in bytes */
	bool keep;          /* --keep=live or --keep=last */
	uint64_t keep_ns;   /* span of --keep=last; 0 = --keep=live */
	uint64_t used;      /* atomic: bytes of all traces */
	uint64_t reserved;  /* bytes reserved for the ends of open traces */
	int reached;        /* atomic: the limit is reached */
	char why[128];      /* why --keep could not stay below the limit; "" = no --keep */
	uint64_t rewritten; /* atomic: number of rewritten traces */
	int event;          /* eventfd, written when a trace is rewritten or the limit reached */
};

/* Begin and end the accounting of a trace: limit_begin is called once the trace is begun, limit_end
 * once all of it is written. Without a limit they do nothing. */
void limit_begin(struct output *o);
void limit_end(struct output *o);
/* Writes a block of `o`. Returns 0 if written, -1 with `err` set if writing failed. Returns 1 if
 * the trace was rewritten instead, or the limit was reached; the caller has nothing to do. */
int limit_write(struct output *o, uint16_t type, const uint64_t ns[2],
		const struct ms_column *columns, size_t n, struct ms_err *err);
/* Releases the bytes reserved for the end of `o`, so that the end can be written, and records how
 * many events were not written. `last_ns`: the end of the recording. Returns 0, or -1 with `err`
 * set. */
int limit_close(struct output *o, uint64_t last_ns, struct ms_err *err);
/* Returns how many bytes an optional block may take. */
uint64_t limit_room(const struct output *o);
/* Counts a block of `o` that was written without limit_write, within limit_room. Does nothing
 * without a limit. */
void limit_grown(struct output *o);
/* Returns the size limit, in bytes, of a rewritten trace: half of the space that the other
 * traces leave. */
uint64_t limit_half(const struct output *o);
/* Ends recording in all traces of the run; limit->why has the reason. */
void limit_reach(struct output *o);
/* Counts the rewritten trace of `o` and reports the rewriting. */
void limit_moved(struct output *o);
/* Returns the bytes below the limit that are unused once all traces are written. */
uint64_t limit_left(const struct limit *l);
/* Subtracts the size of a removed trace, in bytes. */
void limit_give_back(struct limit *l, uint64_t bytes);

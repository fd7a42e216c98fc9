/* SPDX-License-Identifier: MIT
 * Writes the cut: copied blocks, changed records, the checkpoint, and events.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cut_live.h"
#include "format/event.h"
#include "format/record.h"

#include "libcommon/base/ranges.h"
#include "libcommon/trace/tracefile.h"

struct ms_anonymizer;
struct ms_err;

struct cut_writer {
	struct ms_trace_writer *w;
	uint64_t tick_ns;
	struct ms_event_encoder *events;
	void *memory; /* memory of the encoder */
	bool open;    /* a block of events has been begun */
	uint64_t first_tick, last_tick;
	uint64_t number, event;      /* numbers of the next allocation and the next event */
	uint64_t count;              /* number of events written */
	struct ms_anonymizer *names; /* for --anonymize, else NULL */
	const char *input;           /* name of the trace being read, for messages */
	bool *files;                 /* current symbols block: whether each string is a file name */
	size_t strings;              /* number of strings of the current symbols block read so
					far */
	struct ms_err *err;
};

/* Starts a trace on `fd` with a header like `head`. Returns 0, or -1 with c->err set; call
 * cut_writer_free in both cases. */
int cut_writer_open(struct cut_writer *c, int fd, const struct ms_trace_head *head,
		    struct ms_err *err);
void cut_writer_free(struct cut_writer *c);
/* Functions below return 0, or -1 with c->err set. */
/* Sets an error: the trace being read is damaged. Returns -1. */
int cut_damaged(const struct cut_writer *c, const char *what);
/* Copies a block; with --anonymize its names are replaced. */
int cut_copy(struct cut_writer *c, const struct ms_block *b);
/* Writes a block with one record: first the fields of `record`, except those in the bit set `skip`,
 * then the fields of `more`. */
int cut_record(struct cut_writer *c, uint16_t type, const struct ms_block *b,
	       struct ms_record record, uint64_t skip, const struct ms_record_writer *more);
/* Writes a checkpoint at time `tick` before event c->event. It has all blocks of `live` under their
 * new numbers (`as`), the number of each thread's latest allocation (UINT64_MAX = none), and mapped
 * ranges. */
int cut_checkpoint(struct cut_writer *c, uint64_t tick, const struct cut_live *live,
		   const uint64_t *last, size_t threads, const struct ms_ranges *ranges);
/* Writes an event with the next number. */
int cut_event(struct cut_writer *c, const struct ms_event *ev);
/* Writes the current block of events. Call before changing c->number or c->event, and at the
 * end. */
int cut_flush(struct cut_writer *c);

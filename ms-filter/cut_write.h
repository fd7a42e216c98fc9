/* SPDX-License-Identifier: MIT
 * Writing the cut: blocks that are copied, records that change, the checkpoint, and events.
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
	void *memory; /* of the encoder */
	bool open;    /* a block of events is begun */
	uint64_t first_tick, last_tick;
	uint64_t number, event;      /* the next ones */
	uint64_t count;              /* events written */
	struct ms_anonymizer *names; /* --anonymize, or NULL */
	const char *input;           /* name of the trace that is read, in errors */
	bool *files;                 /* of the symbols block in hand: which strings are files */
	size_t strings;              /* read of it */
	struct ms_err *err;
};

/* Starts a trace on `fd` like one with that header. 0, or -1 with c->err set; cut_writer_free in
 * both cases. */
int cut_writer_open(struct cut_writer *c, int fd, const struct ms_trace_head *head,
		    struct ms_err *err);
void cut_writer_free(struct cut_writer *c);
/* Each of these: 0, or -1 with c->err set. */
/* Fails because the trace that is read is damaged there. Returns -1. */
int cut_damaged(const struct cut_writer *c, const char *what);
/* A block as it is, but for names with --anonymize. */
int cut_copy(struct cut_writer *c, const struct ms_block *b);
/* A block of one record: the fields of `record` but those in the set `skip`, then what `more`
 * holds. */
int cut_record(struct cut_writer *c, uint16_t type, const struct ms_block *b,
	       struct ms_record record, uint64_t skip, const struct ms_record_writer *more);
/* All blocks of `live` as they were before event c->event at `tick`, numbered as `as` says; the
 * latest allocation of each thread, UINT64_MAX for none; and mapped ranges. */
int cut_checkpoint(struct cut_writer *c, uint64_t tick, const struct cut_live *live,
		   const uint64_t *last, size_t threads, const struct ms_ranges *ranges);
/* An event, numbered on. */
int cut_event(struct cut_writer *c, const struct ms_event *ev);
/* Ends the block in hand: before the numbers are set anew, and at the end. */
int cut_flush(struct cut_writer *c);

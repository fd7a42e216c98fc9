/* SPDX-License-Identifier: MIT
 * Records of a verdicts block (see trace.h): what a scan of a process's memory found, per call
 * stack.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

enum ms_verdict {
	MS_VERDICT_IS_DIRECT,    /* unreachable, and no other such block outside of a cycle with it
				    points to it */
	MS_VERDICT_IS_INDIRECT,  /* unreachable, and another such block points to it */
	MS_VERDICT_IS_REACHABLE, /* something points to it */
	MS_VERDICT_IS_UNKNOWN,   /* not all memory that could point to it was looked at */
	MS_VERDICTS
};

/* The head of a scan. */
struct ms_verdict_scan {
	uint64_t scan, time_ns, event, state, pause_ns, took_ns, read_bytes;
	bool wide;
	const char *label; /* not NUL-ended when read */
	size_t label_size;
};
/* The blocks of one call stack in it. */
struct ms_verdict_site {
	uint64_t scan, stack;
	uint64_t blocks[MS_VERDICTS], bytes[MS_VERDICTS];
	uint64_t retained_blocks, retained_bytes;
};
struct ms_verdict_record {
	bool is_scan;
	union {
		struct ms_verdict_scan scan;
		struct ms_verdict_site site;
	};
};

/* Most bytes of a record, without the label. */
#define MS_VERDICT_RECORD_BYTES 256u

/* Writes a record. False when it did not fit. */
bool ms_verdict_put_scan(struct ms_record_writer *w, const struct ms_verdict_scan *s);
bool ms_verdict_put_site(struct ms_record_writer *w, const struct ms_verdict_site *s);
/* Takes a record apart, into whose bytes `label` points. False when it names no scan. */
bool ms_verdict_get(struct ms_record rec, struct ms_verdict_record *out);

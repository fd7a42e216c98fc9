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
	uint64_t number;  /* of the next allocation; 0 = not known */
	uint64_t align;   /* words were looked for at its multiples; 0 = 8 */
	uint64_t cleared; /* bits of words that were no part of an address */
	/* Marks by memscope.h: blocks that are no leaks whatever points to them; ranges of memory that
	 * are roots, and those that could not be kept. */
	uint64_t ignored, roots, roots_refused;
};
/* Indirect blocks of a stack that direct blocks of another one, or of the same, retain. */
struct ms_verdict_root {
	uint64_t stack, blocks, bytes;
};
/* The blocks of one call stack in it. */
struct ms_verdict_site {
	uint64_t scan, stack;
	uint64_t blocks[MS_VERDICTS], bytes[MS_VERDICTS];
	uint64_t retained_blocks, retained_bytes;
	const struct ms_verdict_root *roots; /* of its indirect blocks, by stack; borrowed */
	size_t root_count;
};
struct ms_verdict_record {
	bool is_scan;
	union {
		struct ms_verdict_scan scan;
		struct ms_verdict_site site;
	};
};

/* Most bytes of a record, without the label and roots; of each of these. */
#define MS_VERDICT_RECORD_BYTES 256u
#define MS_VERDICT_ROOT_BYTES_MAX 48u

/* Writes a record. False when it did not fit. */
bool ms_verdict_put_scan(struct ms_record_writer *w, const struct ms_verdict_scan *s);
bool ms_verdict_put_site(struct ms_record_writer *w, const struct ms_verdict_site *s);
/* Takes a record apart, into whose bytes `label` points; `roots` are left out. False when it names
 * no scan. */
bool ms_verdict_get(struct ms_record rec, struct ms_verdict_record *out);
/* The next root of a record, from its start on. False: there is none. Those that are not in order,
 * or have no blocks, are passed over. `out` is the one before, or zero. */
bool ms_verdict_next_root(struct ms_record *rec, struct ms_verdict_root *out);

/* SPDX-License-Identifier: MIT
 * Records of a verdicts block (see trace.h): the results of a leak scan, per call stack.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

enum ms_verdict {
	MS_VERDICT_IS_DIRECT,    /* unreachable, and no other unreachable block points to it, except
				    in a cycle with it */
	MS_VERDICT_IS_INDIRECT,  /* unreachable, and another unreachable block points to it */
	MS_VERDICT_IS_REACHABLE, /* reachable from a root */
	MS_VERDICT_IS_UNKNOWN,   /* not all memory that might point to it was scanned */
	MS_VERDICTS
};

/* Describes a leak scan as a whole. */
struct ms_verdict_scan {
	uint64_t scan, time_ns, event, state, pause_ns, took_ns, read_bytes;
	bool wide;
	const char *label; /* not NUL-terminated when read */
	size_t label_size;
	uint64_t number;  /* number of the next allocation; 0 = not known */
	uint64_t align;   /* alignment of the words scanned in bytes; 0 = 8 */
	uint64_t cleared; /* bits of words that do not belong to an address */
	/* From marks in memscope.h: blocks that never count as leaks, memory ranges that were
	 * roots, and ranges that exceeded the limit. */
	uint64_t ignored, roots, roots_refused;
};
/* Counts the indirect blocks of one call stack that are retained by direct blocks of call stack
 * `stack`. */
struct ms_verdict_root {
	uint64_t stack, blocks, bytes;
};
/* Holds the blocks of one call stack in a scan. */
struct ms_verdict_site {
	uint64_t scan, stack;
	uint64_t blocks[MS_VERDICTS], bytes[MS_VERDICTS];
	uint64_t retained_blocks, retained_bytes;
	const struct ms_verdict_root *roots; /* roots of the site's indirect blocks, by stack;
						borrowed */
	size_t root_count;
};
struct ms_verdict_record {
	bool is_scan;
	union {
		struct ms_verdict_scan scan;
		struct ms_verdict_site site;
	};
};

/* Returns the worst result of any block of the record; MS_VERDICTS = it has no blocks. */
enum ms_verdict ms_verdict_worst(const struct ms_verdict_site *s);
/* Returns the word that snapshots use: "unreachable", "indirect", ... */
const char *ms_verdict_word(enum ms_verdict v);

/* Maximum bytes of a record without its label and roots (first constant) and of each root (second
 * constant). */
#define MS_VERDICT_RECORD_BYTES 256u
#define MS_VERDICT_ROOT_BYTES_MAX 48u

/* Write a record. Returns false if it did not fit. */
bool ms_verdict_put_scan(struct ms_record_writer *w, const struct ms_verdict_scan *s);
bool ms_verdict_put_site(struct ms_record_writer *w, const struct ms_verdict_site *s);
/* Parses a record; `label` points into its bytes, and `roots` are left out. Returns false if it has
 * no scan number. */
bool ms_verdict_get(struct ms_record rec, struct ms_verdict_record *out);
/* Reads the next root of a record. Before the first call `rec` is at the record's start and `out`
 * is zero; later `out` is the previous root. Returns false if there is none. Skips roots that are
 * out of order or have no blocks. */
bool ms_verdict_next_root(struct ms_record *rec, struct ms_verdict_root *out);
/* Returns the word that snapshots use for MS_SCAN_*: "done", "killed", ...; NULL = unknown. */
const char *ms_scan_state_name(uint64_t state);

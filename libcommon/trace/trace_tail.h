/* SPDX-License-Identifier: MIT
 * The end of a finished trace, behind which blocks are appended: symbols, sums.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "libcommon/base/arena.h"

struct ms_err;
struct ms_recording;
struct ms_trace_writer;

/* Describes the end of a trace that has been read. */
struct ms_trace_tail {
	struct stat file;      /* status of the file when it was read */
	MS_ARRAY(uint8_t) end; /* records of the last end block */
	uint64_t first_ns, last_ns;
	uint64_t end_offset; /* position in the file after the last end block */
	uint32_t next_block; /* number of the first block to append at end_offset */
	uint64_t has;        /* bit set of the types of blocks before the last end block */
};

/* Reads the blocks of `types` (bit set) and the end blocks of the finished trace `path`, and skips
 * its events if possible. Returns a recording of them, without symbols; NULL with `err` set if that
 * fails, or the trace is incomplete or still being written: `what` is what was to be added. The
 * caller frees tail->end.v. */
struct ms_recording *ms_trace_tail_read(struct ms_trace_tail *tail, const char *path,
					uint64_t types, const char *what, struct ms_err *err);
/* Creates a memory file for the blocks to be appended. Returns its descriptor, or -1 with `err`
 * set. */
int ms_trace_tail_memory(struct ms_err *err);
/* Writes a copy of the last end block, which has to follow blocks that are appended. Returns 0, or
 * -1 with `err` set. */
int ms_trace_tail_write(const struct ms_trace_tail *tail, struct ms_trace_writer *w,
			struct ms_err *err);
/* Appends the whole memory file to the trace after its last end block. Leaves the trace unchanged if
 * it is no longer the file that was read, or has another size. Returns 0, or -1 with `err` set. */
int ms_trace_tail_append(const struct ms_trace_tail *tail, const char *path, int memory,
			 struct ms_err *err);

/* SPDX-License-Identifier: MIT
 * Room dump: a core dump becomes a trace.
 *   In:  a core dump; the trace of the same run, or none.
 *   Out: a trace whose events are the allocations of the blocks that were live, with one scan of the dumped
 *        memory, and what keeps the blocks.
 *   Used by: main.c.
 *
 *   dump_file.c, dump_notes.c   the dump as mappings, memory and threads
 *   dump_blocks.c               the live blocks, by the walk that -p makes, and as the trace has them
 *   dump_trace.c                a session of a process that is no more, and the trace written
 *
 * The rooms below take the dump for a process, whose memory is read by functions of dump_file.c.
 */
#pragma once

#include <stdbool.h>

struct files_options;
struct ms_err;
struct scan_options;
struct session_options;

struct dump_options {
	const char *core;  /* --core; NULL = none */
	const char *exe;   /* where the program's file is now; NULL = where it was */
	const char *trace; /* the trace of the same run; NULL = none */
	bool quiet;
};

/* Writes the trace of a core dump. Returns 0, 1 if the dump is incomplete, which is said, or -1 with
 * `err` set. */
int dump_record(const struct dump_options *o, const struct session_options *session,
		const struct scan_options *scan, const struct files_options *files,
		struct ms_err *err);

/* SPDX-License-Identifier: MIT
 * The trace of the run that a core dump is of: live blocks by address, call stacks, modules, threads.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "dump_blocks.h"

struct dump_trace;
struct ms_err;
struct ms_recording;

struct dump_join {
	struct ms_recording *rec; /* all but the events */
	const char *path;
	/* Blocks that were live at its end, sorted by address. */
	struct dump_known *v;
	size_t n, cap;
};

/* Reads the trace. Returns 0, or -1 with `err` set: it has no addresses, or is sampled. */
int dump_join_open(struct dump_join *j, const char *path, struct ms_err *err);
/* Copies what describes modules, threads and stacks to the trace of the dump, so that numbers stay valid,
 * before modules and threads of the dump are added. Returns 0, or -1 with `err` set. */
int dump_join_copy(const struct dump_join *j, struct dump_trace *t, struct ms_err *err);
void dump_join_free(struct dump_join *j);

/* SPDX-License-Identifier: MIT
 * The trace of a core dump: a session of a process that is no more.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/base/err.h"
#include "ms-record/control/files.h"
#include "ms-record/ptrace/attach_elf.h"
#include "ms-record/session/session.h"
#include "ms-record/write/encode.h"

struct dump_file;
struct dump_join;
struct session_options;

struct dump_trace {
	struct files files;
	struct output *out;
	struct session *s;
	struct encoders encoders;
	struct attach_memory memory; /* of the dump */
	uint64_t length_ns;          /* from the start of the recording to the dump */
	uint32_t frames_sent, nodes_sent;
};

/* Makes the session. `j`: the trace of the same run; NULL = there is none. The arguments are borrowed. */
void dump_trace_begin(struct dump_trace *t, const struct dump_file *d, const struct dump_join *j,
		      const struct session_options *o);
/* Opens the file and writes what is known of the process. `missing`: what the dump lacks, "" = nothing.
 * Returns 0, or -1 with `err` set. */
int dump_trace_open(struct dump_trace *t, const struct dump_file *d, const struct dump_join *j,
		    const struct files_options *o, const char *missing, struct ms_err *err);
/* Adds an allocation. Returns 0, or -1 with `err` set. */
int dump_trace_add(struct dump_trace *t, const struct ms_event *e, struct ms_err *err);
/* Writes what is left, and the end. Returns 0, or -1 with `err` set. */
int dump_trace_close(struct dump_trace *t, const struct dump_file *d, bool glibc,
		     struct ms_err *err);
void dump_trace_free(struct dump_trace *t);

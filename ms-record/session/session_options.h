/* SPDX-License-Identifier: MIT
 * What is asked of the recording of a process image, as rooms from here to drain obey it. Room cli
 * fills it in; a session has it as `opt`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hook_spec.h"
#include "libcommon/base/cli.h"

#define SESSION_WAIT_NS UINT64_C(2000000000)

struct session_options {
	bool attached;    /* -p: the process runs already; its threads never wait for ms-record */
	uint32_t sharers; /* number of processes of -p that share --buffer; 0 without -p */
	bool mapped, usable_size, free_stacks, addresses, verify, no_args;
	bool label_names;       /* each thread has its name as its outermost label */
	bool no_interpreter;    /* frames of an interpreter are not read */
	bool leak_check;        /* leak scans are enabled: no --leak-check=no */
	bool resident;          /* resident memory is recorded at scans and at the end */
	bool begins_later;      /* --start-after DUR, or start of --when */
	bool judged;            /* live or failed of --when: figures must not be old */
	const char *start_mark; /* --start-after mark:NAME; NULL = none */
	const char *leak_mark;  /* NAME of --leak-check=mark:NAME; NULL = none */
	uint32_t end_wait_ms;   /* longest delay of the process's exit for a leak scan; 0 = none */
	uint32_t moment_ms; /* longest delay of a thread in ms_retention, or at exit; 0 = none */
	uint32_t depth;
	uint64_t wait_ns; /* --buffer=wait:DUR, default SESSION_WAIT_NS; 0 = drop at once */
	uint64_t buffer_bytes;
	uint64_t sample_bytes;  /* mean bytes between samples; 0 = every event */
	uint64_t sample_seed;   /* not 0 if sampling */
	uint64_t recorded;      /* bit set of MS_OPTION_*, written to the trace */
	struct hooks hooks;     /* --hook */
	struct ms_cli_list env; /* --env, recorded in the trace; borrowed */
};

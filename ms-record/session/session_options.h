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
	bool attached;    /* -p: it runs already, and never waits for us */
	uint32_t sharers; /* processes of -p, which --buffer is divided among; 0 without */
	bool mapped, usable_size, free_stacks, addresses, verify, no_args;
	bool no_interpreter;    /* its frames are not read */
	bool leak_check;        /* not --leak-check=no */
	bool resident;          /* what is resident is told at scans and at the end */
	bool begins_later;      /* --start-after DUR */
	const char *start_mark; /* --start-after mark:NAME; NULL = none */
	const char *leak_mark;  /* NAME of --leak-check=mark:NAME; NULL = at no mark */
	uint32_t end_wait_ms;   /* how long its end may be held for a leak scan; 0 = not */
	uint32_t depth;
	uint64_t wait_ns; /* --buffer=wait:DUR, SESSION_WAIT_NS without; 0 = drop at once */
	uint64_t buffer_bytes;
	uint64_t sample_bytes;  /* 0 = every event */
	uint64_t sample_seed;   /* not 0 if sampling */
	uint64_t recorded;      /* MS_OPTION_* of the trace */
	struct hooks hooks;     /* --hook */
	struct ms_cli_list env; /* --env, which the trace names; borrowed */
};

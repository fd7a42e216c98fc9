/* SPDX-License-Identifier: MIT
 * What is asked of a recording: each room's part of it, and what room control itself obeys. Room
 * cli fills it in.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "files.h"
#include "follow.h"
#include "libcommon/base/arena.h"
#include "ms-record/launch/launch.h"
#include "ms-record/scan/scan.h"
#include "ms-record/session/session_options.h"
#include "triggers_parse.h"

struct control_options {
	struct launch_options launch;
	struct session_options session;
	struct scan_options scan;
	struct files_options files;
	struct follow follow;
	struct triggers triggers; /* --when, --retention-at */
	MS_ARRAY(pid_t) pids;     /* -p */
	const char *proc_root;    /* NULL = /proc */
	uint64_t duration_ns;     /* -d: maximum time to record; 0 = until the command or process
				    ends */
	uint64_t start_after_ns;  /* --start-after DUR; 0 = at once */
	uint64_t interval_ns;     /* time between /proc samples */
	bool interval_asked;      /* -i was given */
	bool wait_all; /* --wait=all: record until all processes started by COMMAND have ended */
	bool no_symbols, no_cache, verbose;
};

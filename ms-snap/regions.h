/* SPDX-License-Identifier: MIT
 * --maps and --smaps: regions of running processes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libcommon/snapshot/snapshot.h"

struct ms_err;

struct regions_options {
	bool maps, smaps, all, skip_kernel;
	const char *pid_text; /* of -p; NULL = none */
	pid_t pid;
	const char *proc_root; /* NULL = /proc */
	uint64_t count;        /* 0 = not given */
};

/* Checks what was given; `every_ns` is that of --every, 0 = none. 0, or -1 with `err` set. */
int regions_check(struct regions_options *o, uint64_t every_ns, struct ms_err *err);
/* Reads them as often as asked, until SIGINT or SIGTERM where no end was. NULL with `err` set. */
sqlite3 *regions_snapshot(const struct regions_options *o, uint64_t every_ns, struct ms_err *err);

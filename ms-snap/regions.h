/* SPDX-License-Identifier: MIT
 * Implements --maps and --smaps: regions of running processes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/cli.h"
#include "libcommon/snapshot/snapshot.h"

struct ms_cli;
struct ms_err;

struct regions_options {
	bool maps, smaps, all, skip_kernel;
	struct ms_cli_list pid_texts; /* from -p and the operands */
	MS_ARRAY(pid_t) pids;         /* sorted pids, parsed from pid_texts */
	const char *proc_root;        /* NULL = /proc */
	uint64_t every_ns;            /* 0 = once */
	uint64_t count;               /* 0 = not given */
	bool lines;                   /* lines of JSON to standard output instead of a snapshot */
};

/* Checks the options. `every_ns` is from --every, 0 = none; `output`: a snapshot is written.
 * Returns 0, or -1 with `err` set. */
int regions_check(struct regions_options *o, uint64_t every_ns, bool output, struct ms_err *err);
/* Reads the processes as often as requested; without a count, until SIGINT or SIGTERM. Writes lines
 * if these were requested, else stores a snapshot in *db. Returns 0; 2 if one of several given
 * processes could not be read; or -1 with `err` set. */
int regions_read(const struct regions_options *o, const struct ms_cli *cli, sqlite3 **db,
		 struct ms_err *err);

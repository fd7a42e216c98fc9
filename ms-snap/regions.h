/* SPDX-License-Identifier: MIT
 * --maps and --smaps: regions of running processes.
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
	struct ms_cli_list pid_texts; /* of -p, and operands */
	MS_ARRAY(pid_t) pids;         /* of these, in order */
	const char *proc_root;        /* NULL = /proc */
	uint64_t every_ns;            /* 0 = once */
	uint64_t count;               /* 0 = not given */
	bool lines;                   /* of JSON to standard output, not a snapshot */
};

/* Checks what was given; `every_ns` is that of --every, 0 = none, and `output` whether a snapshot
 * is to be written there. 0, or -1 with `err` set. */
int regions_check(struct regions_options *o, uint64_t every_ns, bool output, struct ms_err *err);
/* Reads them as often as asked, until SIGINT or SIGTERM where no end was. *db is a snapshot, unless
 * lines were written. 0; 2: of several processes that were named one could not be read; -1 with
 * `err` set. */
int regions_read(const struct regions_options *o, const struct ms_cli *cli, sqlite3 **db,
		 struct ms_err *err);

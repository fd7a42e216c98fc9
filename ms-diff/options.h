/* SPDX-License-Identifier: MIT
 * The command line of ms-diff.
 */
#pragma once

#include "run.h"

#include "libcommon/base/cli.h"
#include "libcommon/dataset/dataset.h"
#include "libcommon/names/wrappers.h"

struct options {
	struct ms_cli_list
		inputs[2];  /* inputs by side, as typed; a single input is in both, with `points`
			       set */
	bool points;        /* compare the first point of a single input with its last */
	const char *per;    /* "allocations" or "mark:NAME", or NULL */
	int64_t min_change; /* in bytes */
	bool exit_code, allow_missing_old;
	const char *history;         /* --history: dataset with the old runs; NULL = none */
	struct ms_cli_list keys;     /* --key: keys that runs of the dataset must have */
	uint64_t last;               /* --last: number of runs of the dataset */
	struct ms_wrappers wrappers; /* --wrapper: further wrapper functions */
	const char *output;          /* NULL = standard output */
	struct ms_cli cli;
};

/* Reads the command line into `o` (zeroed by the caller); strings are borrowed from argv. Returns
 * 0, or -1 with `err` set. Call options_free also after a failure. */
int options_parse(struct options *o, int argc, char **argv, struct ms_err *err);
void options_free(struct options *o);

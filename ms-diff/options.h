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
		inputs[2];  /* as typed, by side; one input alone is in both, with `points` set */
	bool points;        /* of one input: its first point against its last */
	const char *per;    /* "allocations" or "mark:NAME", or NULL */
	int64_t min_change; /* bytes */
	bool exit_code, allow_missing_old;
	const char *history; /* --history: the old runs are in this dataset; NULL = they are not */
	struct ms_cli_list keys;     /* --key */
	uint64_t last;               /* --last */
	struct ms_wrappers wrappers; /* --wrapper */
	const char *output;          /* NULL = standard output */
	struct ms_cli cli;
};

/* Reads the command line into `o` (zeroed by the caller); strings are borrowed from argv. 0, or -1
 * with `err` set. options_free also after a failure. */
int options_parse(struct options *o, int argc, char **argv, struct ms_err *err);
void options_free(struct options *o);

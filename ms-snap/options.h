/* SPDX-License-Identifier: MIT
 * Options of ms-snap's command line.
 */
#pragma once

#include <stdbool.h>

#include "regions.h"

#include "libcommon/base/cli.h"
#include "libcommon/dataset/dataset.h"
#include "libcommon/snapshot/snapshot.h"
#include "libcommon/names/wrappers.h"

struct ms_arena;
struct ms_err;

struct options {
	struct ms_cli_list inputs, points,
		debug_dirs; /* debug_dirs ends in NULL unless it is empty */
	const char *output; /* NULL = standard output */
	const char *sysroot;
	const char *from, *to; /* --from, --to */
	uint64_t every_ns;     /* --every; 0 = not given */
	enum ms_read read;
	struct ms_wrappers wrappers; /* --wrapper */
	bool embed;                  /* --symbols=embed */
	const char *held;            /* --symbols=held; NULL = none */
	bool no_symbols, no_cache;
	bool anonymize;
	const char *dataset;     /* --dataset; NULL = none */
	struct ms_cli_list keys; /* --key, see dataset.h */
	uint64_t debuginfod_ns;  /* --symbols=debuginfod; 0 = no */
	/* --core, the program behind it, --trace; NULL = not given. core_path: where the trace that
	 * was made of it is. */
	const char *core, *core_exe, *core_trace;
	char core_path[32];
	struct regions_options regions;
	struct ms_cli cli;
};

/* Reads the command line into `o` (zeroed by the caller). Strings are borrowed from argv or
 * allocated in `a`. Returns 0, or -1 with `err` set; call options_free in both cases. */
int options_parse(struct options *o, int argc, char **argv, struct ms_arena *a, struct ms_err *err);
void options_free(struct options *o);

/* SPDX-License-Identifier: MIT
 * Options of ms-top's command line.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ms-top/rows/columns.h"
#include "ms-top/serve/serve.h"
#include "libcommon/base/cli.h"
#include "libcommon/names/wrappers.h"

struct ms_err;

struct options {
	struct ms_cli cli;
	pid_t pid; /* 0 = all processes */
	uint64_t delay_ns;
	uint64_t frames; /* 0 = unlimited */
	bool batch, json, kernel, full_names;
	const char *root, *filter;
	const char *trace; /* NULL = none */
	const char *log;   /* NULL = none */
	struct column_set columns;
	enum column_id sort;
	int site_sort;  /* order of a trace's sites: enum site_column */
	bool sort_open; /* the user has not chosen an order */
	bool reverse;
	const char *sort_text;      /* --sort */
	struct serve_options serve; /* .listen NULL = do not listen */
	struct ms_wrappers wrappers;
};

/* Parses the command line. Returns 0, or -1 with `err` set. Borrows from argv; call options_free
 * also after a failure. */
int options_parse(struct options *o, int argc, char **argv, struct ms_err *err);
void options_free(struct options *o);

/* SPDX-License-Identifier: MIT
 * POINT: a moment of a recording, in the syntax that all tools share.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ms_err;

enum ms_point_kind {
	MS_POINT_PEAK,   /* "peak" */
	MS_POINT_END,    /* "end" */
	MS_POINT_START,  /* "start" */
	MS_POINT_AFTER,  /* "1.5s": `ns` after the start */
	MS_POINT_BEFORE, /* "-10m": `ns` before the end */
	MS_POINT_CLOCK,  /* "14:30:05" UTC: first such time at or after the start; `ns` after
			    midnight */
	MS_POINT_SCAN,   /* "scan:2": when scan number `nth` of the process was made */
	MS_POINT_MARK,   /* "mark:NAME#3": occurrence `nth` of the mark, from 1; 0 = the last */
};

struct ms_point {
	enum ms_point_kind kind;
	const char *label; /* the POINT as given; borrowed */
	uint64_t ns;
	const char *mark; /* part of `label` */
	int mark_length;
	uint64_t nth;
};

/* Parses `s`, which must outlive `p`. Returns 0, or -1 with `err` set to a line that lists the
 * valid forms. */
int ms_point_parse(const char *s, struct ms_point *p, struct ms_err *err);

/* Finds the @ of "FILE@POINT". Returns NULL if there is none, a file with the whole name exists, or
 * FILE does not exist (the whole is then reported as missing). */
const char *ms_point_split(const char *path);

/* SPDX-License-Identifier: MIT
 * The command line of ms-filter: what to read, what to write, and the conditions on sites.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/cli.h"

struct ms_arena;
struct ms_err;

/* What a condition looks at. One option and its "not" twin share a subject. */
enum subject {
	MIN,           /* live bytes at any point */
	MIN_LIVE,      /* live bytes at the point "end" */
	MIN_PEAK,      /* live bytes at the point "peak" */
	MIN_ALLOCATED, /* bytes over the whole run */
	MIN_BLOCKS,    /* live blocks at any point */
	FUNCTION,      /* of any frame */
	FILE_NAME,     /* of any frame */
	MODULE,        /* of any frame */
	THREAD,
	PROCESS,
	TEMPORARY, /* all blocks of the site were temporary */
	RUNTIME,   /* no frame is of the user's own code */
	SUBJECTS,
};

/* The bit of a subject in a set of what was asked for or found. */
#define KEEP(subject) (UINT32_C(1) << (subject))
#define DROP(subject) (UINT32_C(1) << ((subject) + 16))

struct condition {
	enum subject subject;
	bool drop;        /* the option began with --not- */
	uint64_t value;   /* MIN*: bytes or blocks */
	regex_t regex;    /* FUNCTION, FILE_NAME, MODULE */
	const char *text; /* THREAD, PROCESS: a name with wildcards, or a number */
};

struct options {
	struct {
		struct condition *v;
		size_t n, cap;
	} conditions;
	uint32_t keep, drop; /* KEEP() and DROP() bits that occur among the conditions */
	const char *filter;  /* the conditions as one would type them; "" = none */
	const char *input;   /* "-" = standard input */
	const char *output;  /* NULL = standard output */
	struct ms_cli cli;
	struct ms_arena *arena; /* where `filter` is made */
};

/* Reads the command line into `o` (zeroed by the caller). Strings are borrowed from argv or made in
 * `a`. 0, or -1 with `err` set. options_free gives back what the regular expressions hold, also
 * after a failure. */
int options_parse(struct options *o, int argc, char **argv, struct ms_arena *a, struct ms_err *err);
void options_free(struct options *o);

/* The text of -h. */
extern const char options_help[];

#endif

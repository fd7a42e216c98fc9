/* SPDX-License-Identifier: MIT
 * The command line of ms-filter: input, output, and conditions on sites.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/cli.h"
#include "libcommon/base/point.h"

struct ms_err;
struct ms_suppressions;
struct where;

/* Names the figure or text that a condition examines. A condition and its negation by --not share a
 * subject. */
enum subject {
	MIN,             /* live bytes at any point */
	MIN_LIVE,        /* live bytes at the point "end" */
	MIN_PEAK,        /* live bytes at the point "peak" */
	MIN_ALLOCATED,   /* bytes over the whole run */
	MIN_DELTA,       /* bytes of growth or shrinkage, in a comparison */
	MIN_BLOCKS,      /* live blocks at any point */
	MIN_ALLOCATIONS, /* allocations over the whole run */
	MIN_LIFETIME,    /* mean lifetime of the freed blocks */
	MAX_LIFETIME,
	MIN_AGE, /* age of the oldest live block at any point */
	MAX_AGE,
	FUNCTION,  /* function of any frame */
	FILE_NAME, /* source file of any frame */
	MODULE,    /* module of any frame */
	THREAD,
	LABEL,
	PROCESS,
	VERDICT,
	SIZE,       /* size of one of the site's blocks */
	FIRST,      /* time of the first allocation */
	LAST,       /* time of the last allocation */
	BORN,       /* time of a block's allocation: a condition on blocks (born.h) */
	ALIVE_AT,   /* moment at which a block was live: a condition on blocks */
	WHERE,      /* expression of --where */
	SUPPRESSED, /* suppressed by a line of a file */
	TEMPORARY,  /* all blocks of the site were temporary */
	RUNTIME,    /* no frame is user code, or the site is a one-time allocation of the runtime */
	ONE_TIME,   /* the site is a known one-time allocation of the runtime */
	SUBJECTS,
};

/* Returns the bit of a condition on `subject` in a bit set of conditions; DROP(subject) is the bit
 * of the negated condition. */
#define KEEP(subject) (UINT64_C(1) << (subject))
#define DROP(subject) (UINT64_C(1) << ((subject) + 32))

struct condition {
	enum subject subject;
	const char *name;        /* name of the option, without dashes */
	bool drop;               /* the condition is negated (--not) */
	uint64_t value, high;    /* MIN*, MAX*: value in bytes, blocks or ns; SIZE: range in
				    bytes, inclusive */
	bool has[2];             /* FIRST, LAST, BORN: which ends of the span are given */
	struct ms_point span[2]; /* ends of the span; ALIVE_AT: only the first */
	const char *text;        /* FUNCTION, FILE_NAME, MODULE: a regular expression; THREAD,
				    PROCESS: a name with wildcards, or a number; VERDICT: the
				    verdict's name */
	struct where *where;     /* for WHERE */
	struct ms_suppressions *suppressions; /* for SUPPRESSED */
};

struct options {
	MS_ARRAY(struct condition) conditions;
	uint64_t keep, drop;   /* union of the conditions' KEEP() and DROP() bits */
	bool anonymize;        /* anonymize names and paths */
	bool invert;           /* keep the sites that the conditions would hide */
	const char *filter;    /* conditions as on a command line; "" = none */
	const char *input;     /* "-" = standard input */
	const char *output;    /* NULL = standard output */
	const char *trace_out; /* file for --trace-out; NULL = use cut_fd */
	int cut_fd;            /* descriptor of the temporary trace made for conditions on blocks */
	const char *from, *to; /* span of --trace-out as given, or NULL */
	bool where_help;       /* only print the list of columns */
	struct ms_cli cli;
	struct ms_arena *arena; /* arena of `filter` */
};

/* Reads the command line into `o` (zeroed by the caller). Strings are borrowed from argv or made in
 * `a`. Returns 0, or -1 with `err` set. Call options_free, which frees regular expressions, also
 * after a failure. */
int options_parse(struct options *o, int argc, char **argv, struct ms_arena *a, struct ms_err *err);
void options_free(struct options *o);

/* Returns `before` followed by an option as on a command line; `arg` may be NULL. */
const char *option_words(struct ms_arena *a, const char *before, const char *name, const char *arg);

/* ---- arguments.c ---- */

/* Parses `arg` of the option `name`, whose subject is set; NULL if the option has no argument.
 * Returns 0, or -1 with `err` set. */
int argument_set(struct condition *c, const char *name, const char *arg, struct ms_arena *a,
		 struct ms_err *err);
void argument_free(struct condition *c);
/* Refuses a bad regular expression of the option `name`. Returns 0, or -1 with `err` set. */
int regex_check(const char *name, const char *regex, struct ms_err *err);
/* Refuses a minimum above the maximum. Returns 0, or -1 with `err` set. */
int arguments_check(const struct options *o, struct ms_err *err);

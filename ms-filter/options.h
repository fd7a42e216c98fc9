/* SPDX-License-Identifier: MIT
 * The command line of ms-filter: what to read, what to write, and the conditions on sites.
 */
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/cli.h"
#include "libcommon/base/point.h"

struct ms_err;
struct ms_suppressions;
struct where;

/* Names the figure or text that a condition looks at. A condition and that of --not share a
 * subject. */
enum subject {
	MIN,             /* live bytes at any point */
	MIN_LIVE,        /* live bytes at the point "end" */
	MIN_PEAK,        /* live bytes at the point "peak" */
	MIN_ALLOCATED,   /* bytes over the whole run */
	MIN_DELTA,       /* bytes by which it grew or shrank, of a difference */
	MIN_BLOCKS,      /* live blocks at any point */
	MIN_ALLOCATIONS, /* over the whole run */
	MIN_LIFETIME,    /* of its freed blocks, on average */
	MAX_LIFETIME,
	MIN_AGE, /* of its oldest live block at any point */
	MAX_AGE,
	FUNCTION,  /* of any frame */
	FILE_NAME, /* of any frame */
	MODULE,    /* of any frame */
	THREAD,
	PROCESS,
	VERDICT,
	SIZE,       /* of one of its blocks */
	FIRST,      /* its first allocation */
	LAST,       /* its last one */
	BORN,       /* when a block was allocated, */
	ALIVE_AT,   /* and a moment at which it was live: conditions on blocks (born.h) */
	WHERE,      /* an expression */
	SUPPRESSED, /* by a line of a file */
	TEMPORARY,  /* all blocks of the site were temporary */
	RUNTIME,    /* no frame is of the user's own code, or ONE_TIME */
	ONE_TIME,   /* a known one-time allocation of the runtime */
	SUBJECTS,
};

/* The bit of a subject in a set of what was asked for or found. */
#define KEEP(subject) (UINT64_C(1) << (subject))
#define DROP(subject) (UINT64_C(1) << ((subject) + 32))

struct condition {
	enum subject subject;
	const char *name;        /* of the row of the option, without its dashes */
	bool drop;               /* it is one of --not */
	uint64_t value, high;    /* MIN*, MAX*: bytes, blocks or ns; SIZE: bytes, both included */
	bool has[2];             /* FIRST, LAST, BORN: which ends of the span there are */
	struct ms_point span[2]; /* ALIVE_AT: the first */
	regex_t regex;           /* FUNCTION, FILE_NAME, MODULE */
	const char *text;        /* THREAD, PROCESS: a name with wildcards, or a number; VERDICT */
	struct where *where;     /* WHERE */
	struct ms_suppressions *suppressions; /* SUPPRESSED */
};

struct options {
	MS_ARRAY(struct condition) conditions;
	uint64_t keep, drop;   /* KEEP() and DROP() bits that occur among the conditions */
	bool anonymize;        /* names and paths */
	bool invert;           /* keep what they would hide */
	const char *filter;    /* the conditions as one would type them; "" = none */
	const char *input;     /* "-" = standard input */
	const char *output;    /* NULL = standard output */
	const char *trace_out; /* write a trace there instead; NULL = no, */
	int cut_fd;            /* or, for conditions on blocks, to this descriptor */
	const char *from, *to; /* POINTs of --trace-out, or NULL */
	bool where_help;       /* list the columns, and nothing else */
	struct ms_cli cli;
	struct ms_arena *arena; /* where `filter` is made */
};

/* Reads the command line into `o` (zeroed by the caller). Strings are borrowed from argv or made in
 * `a`. 0, or -1 with `err` set. options_free gives back what the regular expressions hold, also
 * after a failure. */
int options_parse(struct options *o, int argc, char **argv, struct ms_arena *a, struct ms_err *err);
void options_free(struct options *o);

/* Returns the words `before` and an option after them, as one types it; `arg` may be NULL. */
const char *option_words(struct ms_arena *a, const char *before, const char *name, const char *arg);

/* ---- arguments.c ---- */

/* Takes over `arg` of the option `name`, whose subject is set; NULL for an option without one. 0,
 * or -1 with `err` set. */
int argument_set(struct condition *c, const char *name, const char *arg, struct ms_arena *a,
		 struct ms_err *err);
void argument_free(struct condition *c);
/* A minimum above the maximum is met by nothing. 0, or -1 with `err` set. */
int arguments_check(const struct options *o, struct ms_err *err);

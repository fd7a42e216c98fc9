/* SPDX-License-Identifier: MIT
 * Command lines: each tool has one table of options, used to read them and to print --help.
 */
#pragma once

#include <getopt.h> /* for callers: optind */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_arena;
struct ms_cli_option;
struct ms_err;

/* Holds an argument, the row of its option, and the member that the row names (or the whole struct
 * of options). */
struct ms_cli_arg {
	const struct ms_cli_option *row;
	void *to;
	const char *text; /* NULL = none */
};
/* Stores an argument. Returns 0, or -1 with `err` set. */
typedef int ms_cli_take(const struct ms_cli_arg *arg, struct ms_err *err);

/* Describes an option, a value of an option, or a title. A row without a name is a title, in
 * `help`; a row with neither ends the table. "NAME=KEY" is a value of the option NAME, given as
 * --NAME=KEY[:ARGUMENT] and listed below NAME by --help. An option with values accepts several,
 * separated by commas; text that is none of the keys goes to the option's own `take`, unless its
 * argument is WHAT. */
struct ms_cli_option {
	const char *name; /* long name, without its dashes */
	char letter;      /* short name, or 0 */
	/* how the argument is shown and which are allowed. NULL = the option takes none; "a|b" =
	 * one of these words; "[N]5" = optional, 5 if left out */
	const char *argument;
	ms_cli_take *take;
	size_t offset, size;      /* where to store: a member, or 0, 0 = the whole struct */
	int value;                /* identifies the row in the tool's own `take` functions */
	const char *least, *most; /* limits, as written on a command line; "" = above 0, NULL =
				     none */
	unsigned rank;            /* position in the short help, from 1; 0 = only in --help=all */
	/* Help text; the short help prints the part before the first "; ". NULL = the help of the
	 * option describes this value. */
	const char *help;
};

/* Describes an older spelling of an option. Only --help=old lists older spellings. */
struct ms_cli_old {
	const char *name; /* without its dashes; NULL ends the table */
	const char *row;  /* name of the row that replaces it */
	/* NULL = the argument is passed to the row. Otherwise the row gets this text followed by
	 * the argument. "[TEXT:" = the argument is optional; without it the colon is omitted. */
	const char *before;
};

/* Initialises the members of a row from `offset` to `most`, for a member of the tool's struct
 * options with limits. MS_AT: without limits; MS_WHOLE: for the whole struct. */
#define MS_RANGE(member, least, most)                                                              \
	offsetof(struct options, member), sizeof(((struct options *)0)->member), 0, least, most
#define MS_AT(member) MS_RANGE(member, NULL, NULL)
#define MS_WHOLE(value) 0, 0, value, NULL, NULL

struct ms_cli_list {
	const char **v;
	size_t n, cap;
};

/* Stores true in a bool. */
ms_cli_take ms_cli_flag;
/* Store into a const char *: ms_cli_text any text, ms_cli_name a non-empty text, ms_cli_output the
 * name of an output or NULL for "-", ms_cli_point a POINT. ms_cli_add appends a non-empty text to a
 * struct ms_cli_list. */
ms_cli_take ms_cli_text, ms_cli_name, ms_cli_output, ms_cli_point, ms_cli_add;
/* Store into an integer of 4 or 8 bytes. Syntax: see units.h. */
ms_cli_take ms_cli_size, ms_cli_duration, ms_cli_count;
/* Stores into a bool or an enum the index of the word in row->argument, from 0; 1 if there is only
 * one word. */
ms_cli_take ms_cli_choice;

struct ms_cli_tool {
	const char *name, *usage, *about; /* usage: the usage line of --help; about: a
					     description */
	const char *examples;             /* end of --help: three command lines that use ./app */
	const struct ms_cli_option *rows;
	const struct ms_cli_old *olds; /* NULL = none */
	bool reads;   /* accepts all options of struct ms_cli; else only --help and --version */
	bool command; /* arguments after the first operand belong to another command */
};

enum { MS_CLI_ROWS_MAX = 128 }; /* maximum number of rows, titles and values included */

/* Holds the options that all tools share, and which options were given. */
struct ms_cli {
	uint64_t max_image; /* largest snapshot in bytes */
	bool allow_partial, quiet;
	bool asked, version; /* asked: -h or -V was given, and nothing else is checked; version: it
				was -V */
	int help;            /* which help was requested */
	const struct ms_cli_tool *tool;
	size_t given_count;
	const struct ms_cli_option *given[MS_CLI_ROWS_MAX]; /* each row once */
};

/* Reads all options into `options` (the tool's) and `cli` (zeroed by the caller). Stops at -h or
 * -V. Sets optind to the first operand. Returns 0, or -1 with `err` set. */
int ms_cli_read(const struct ms_cli_tool *tool, void *options, struct ms_cli *cli, int argc,
		char **argv, struct ms_err *err);
/* Tells whether the option of that long name, or a value of it, was given; for "NAME=KEY", whether
 * that value was given. */
bool ms_cli_given(const struct ms_cli *cli, const char *name);
/* Returns the name of a given row if `names` (words with spaces between) lists neither the row nor
 * its option; NULL = there is no such row. */
const char *ms_cli_other(const struct ms_cli *cli, const char *names);
/* Writes the output of -h or -V to standard output. Returns 0, or -1 with `err` set: a full disk
 * must be noticed. */
int ms_cli_answer(const struct ms_cli *cli, struct ms_err *err);
/* Writes `text` to standard output and flushes it. Returns 0, or -1 with `err` set. */
int ms_cli_print(const char *text, struct ms_err *err);

/* Reports why a tool failed on standard error and returns 2. In a pipeline only the first failure
 * is reported: if the reader is gone, the tool dies by SIGPIPE; if its input pipe was empty, it
 * prints nothing. */
int ms_cli_failed(const char *tool, const struct ms_err *err);
/* Prints a line on standard error, preceded by the tool's name; nothing with --quiet. */
void ms_cli_remark(const struct ms_cli *cli, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Splits an operand FILE@POINT: returns FILE, allocated in `a`, and sets *point. Without a POINT,
 * returns the operand and sets *point to NULL. */
const char *ms_cli_operand(struct ms_arena *a, const char *operand, const char **point);

/* Makes writing to a closed pipe or beyond the file size limit return an error, and makes signals
 * remove temporary files. Call before anything is read. */
void ms_cli_signals(void);

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

/* A row of a table. One without a name is the title of those after it, which its help is; one with
 * neither ends the table. "NAME=KEY" is a value of the option NAME, --NAME=KEY[:ARGUMENT], which
 * --help shows below it. An option with values takes several at a time, with a comma before each
 * further one, and anything else with its own `take`, unless its argument is WHAT. */
struct ms_cli_option {
	const char *name; /* long name, without its dashes */
	char letter;      /* short name, or 0 */
	/* NULL = none; "a|b": one of these words; "[N]5": optional, default 5 */
	const char *argument;
	ms_cli_take *take;
	size_t offset, size;      /* of the member; 0, 0 = all options */
	int value;                /* what a function of the tool's own knows the row by */
	const char *least, *most; /* limits, as one types them; "" = above 0, NULL = none */
	unsigned rank;            /* among the commonest, from 1; 0 = for --help=all */
	/* The help of the row, of which the short help has the part before the first "; ". NULL =
	 * that of the option of which it is a value says it. */
	const char *help;
};

/* An older spelling, which is read as what it stands for; no --help but --help=old lists it. */
struct ms_cli_old {
	const char *name; /* without its dashes; NULL ends the table */
	const char *row;  /* name of the row that it stands for */
	/* NULL = its argument is that of the row; else what the argument follows as the text that
	 * the row is given, "[TEXT:": it may be left out, with
	 * the colon */
	const char *before;
};

/* offset to most of a row: a member of the tool's struct options, such with limits, or all. */
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
/* Store into a const char *: any text; a non-empty text; the name of an output, NULL for "-"; a
 * POINT. ms_cli_add appends a non-empty text to a struct ms_cli_list. */
ms_cli_take ms_cli_text, ms_cli_name, ms_cli_output, ms_cli_point, ms_cli_add;
/* Store into an integer of 4 or 8 bytes. Syntax: see units.h. */
ms_cli_take ms_cli_size, ms_cli_duration, ms_cli_count;
/* Stores into a bool or an enum the index of the word in row->argument, from 0; 1 if there is only
 * one word. */
ms_cli_take ms_cli_choice;

struct ms_cli_tool {
	const char *name, *usage, *about; /* for --help: the usage line, and a description */
	const char *examples; /* end of --help: three command lines, for a folder with ./app */
	const struct ms_cli_option *rows;
	const struct ms_cli_old *olds; /* NULL = none */
	bool reads; /* traces and snapshots: it takes all of struct ms_cli; else --help and --version */
	bool command; /* what follows the first operand is not ours */
};

enum { MS_CLI_ROWS_MAX = 128 }; /* titles and values included */

/* Holds the options that all tools share, and which options were given. */
struct ms_cli {
	uint64_t max_image; /* largest snapshot in bytes */
	bool allow_partial, quiet;
	bool asked, version; /* asked: -h or -V was given, and nothing else is checked; version:
				-V */
	int help;            /* which help was requested */
	const struct ms_cli_tool *tool;
	size_t given_count;
	const struct ms_cli_option *given[MS_CLI_ROWS_MAX]; /* each row once */
};

/* Reads all options into `options` (the tool's) and `cli` (zeroed by the caller). Stops at -h or
 * -V. Sets optind to the first operand. 0, or -1 with `err` set. */
int ms_cli_read(const struct ms_cli_tool *tool, void *options, struct ms_cli *cli, int argc,
		char **argv, struct ms_err *err);
/* Was the option of that long name given, or a value of it? Of "NAME=KEY": was that value? */
bool ms_cli_given(const struct ms_cli *cli, const char *name);
/* The name of a row that was given and of which no word of `names` is the name, nor that of its
 * option; NULL = there is none. */
const char *ms_cli_other(const struct ms_cli *cli, const char *names);
/* Writes the output of -h or -V to standard output. 0, or -1 with `err` set: a full disk must be
 * noticed. */
int ms_cli_answer(const struct ms_cli *cli, struct ms_err *err);
/* Writes `text` to standard output and flushes it. 0, or -1 with `err` set. */
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

/* Makes a closed output pipe and the file size limit errors that functions return, and lets signals
 * remove temporary files. Call before anything is read. */
void ms_cli_signals(void);

/* SPDX-License-Identifier: MIT
 * Command lines: a table of options per tool, by which they are read and --help is printed.
 */
#pragma once

#include <getopt.h> /* optind */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_arena;
struct ms_cli_option;
struct ms_err;

/* An argument, of which row, and the member that the row names, or all options. */
struct ms_cli_arg {
	const struct ms_cli_option *row;
	void *to;
	const char *text; /* NULL = none */
};
/* Takes one. 0, or -1 with `err` set. */
typedef int ms_cli_take(const struct ms_cli_arg *arg, struct ms_err *err);

/* A row of a table. One without a name is the title of those after it, which its help is; one with
 * neither ends the table. "NAME=KEY" is a value of the option NAME, --NAME=KEY[:ARGUMENT], which
 * --help shows below it. An option with values takes several at a time, with a comma before each
 * further one, and anything else with its own `take`, unless its argument is WHAT. */
struct ms_cli_option {
	const char *name; /* the long one, without its dashes */
	char letter;      /* the short one, or 0 */
	/* NULL = none; "a|b": one of these; "[N]5": it may be left out, and is 5 then */
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
	 * the row is given, which is gone after its `take`; "[TEXT:": it may be left out, with
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

/* Into a bool. */
ms_cli_take ms_cli_flag;
/* Into a const char *: any text; one that is not empty; the name of an output, "-" is NULL; a POINT.
 * Onto a struct ms_cli_list: one that is not empty. */
ms_cli_take ms_cli_text, ms_cli_name, ms_cli_output, ms_cli_point, ms_cli_add;
/* Into a number of 4 or 8 bytes: units.h. */
ms_cli_take ms_cli_size, ms_cli_duration, ms_cli_count;
/* Into a bool or an enum: which one of the words of row->argument, from 0; if there is only one, 1. */
ms_cli_take ms_cli_choice;

struct ms_cli_tool {
	const char *name, *usage, *about; /* of --help: how it is called, and what it does */
	const char *examples; /* the end of --help: three lines to type, in a folder with ./app */
	const struct ms_cli_option *rows;
	const struct ms_cli_old *olds; /* NULL = none */
	bool reads; /* traces and snapshots: it takes all of struct ms_cli; else --help and --version */
	bool command; /* what follows the first operand is not ours */
};

enum { MS_CLI_ROWS_MAX = 128 }; /* titles and values included */

/* Options that several tools take, and which ones were given. */
struct ms_cli {
	uint64_t max_image; /* bytes of the largest snapshot */
	bool allow_partial, quiet;
	bool asked, version; /* -h or -V: nothing else is checked then; it is -V */
	int help;            /* of -h, which */
	const struct ms_cli_tool *tool;
	size_t given_count;
	const struct ms_cli_option *given[MS_CLI_ROWS_MAX]; /* each once */
};

/* Reads all options into `options`, the tool's, and `cli` (zeroed by the caller). Nothing after -h
 * or -V is looked at. Then optind is the first operand. 0, or -1 with `err` set. */
int ms_cli_read(const struct ms_cli_tool *tool, void *options, struct ms_cli *cli, int argc,
		char **argv, struct ms_err *err);
/* Was the option of that long name given, or a value of it? Of "NAME=KEY": was that value? */
bool ms_cli_given(const struct ms_cli *cli, const char *name);
/* The name of a row that was given and of which no word of `names` is the name, nor that of its
 * option; NULL = there is none. */
const char *ms_cli_other(const struct ms_cli *cli, const char *names);
/* Writes what -h or -V asks for to standard output. 0, or -1 with `err` set: a full disk behind it
 * must not go unnoticed. */
int ms_cli_answer(const struct ms_cli *cli, struct ms_err *err);
/* Writes any text to standard output, as ms_cli_answer does. 0, or -1 with `err` set. */
int ms_cli_print(const char *text, struct ms_err *err);

/* Ends a tool that failed: says why on standard error and returns 2. Only the first one of a
 * pipeline speaks: without a reader it ends by SIGPIPE, as other programs do, and a pipe that was
 * empty is status 2 without a word. */
int ms_cli_failed(const char *tool, const struct ms_err *err);
/* A line on standard error, after the tool's name; not with --quiet. */
void ms_cli_remark(const struct ms_cli *cli, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* FILE of an operand FILE@POINT, made in `a`, and *point its POINT; else the operand and NULL. */
const char *ms_cli_operand(struct ms_arena *a, const char *operand, const char **point);

/* To be called before anything is read: a reader of our output that went away and a limit of file
 * sizes are errors that functions return, and a signal leaves no temporary file behind. */
void ms_cli_signals(void);

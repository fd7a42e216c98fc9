/* SPDX-License-Identifier: MIT
 * What the command lines of the tools that read traces and snapshots have in common.
 */
#ifndef MS_CLI_H
#define MS_CLI_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

struct ms_arena;
struct ms_err;

/* Options that every such tool takes. */
struct ms_cli {
	uint64_t max_image; /* bytes of the largest snapshot */
	bool allow_partial, quiet, help, version;
};

#define MS_CLI_START                                                                               \
	{                                                                                          \
		.max_image = UINT64_C(4) << 30                                                     \
	}

/* Their rows in a tool's table of long options, and their letters. A tool's own long options
 * without a letter have values from 0x100 to MS_OPT_SHARED - 1. */
enum { MS_OPT_SHARED = 0x10000, MS_OPT_ALLOW_PARTIAL = MS_OPT_SHARED, MS_OPT_MAX_IMAGE };
#define MS_CLI_LONGS                                                                               \
	{"allow-partial", no_argument, NULL, MS_OPT_ALLOW_PARTIAL},                                \
		{"max-image", required_argument, NULL, MS_OPT_MAX_IMAGE},                          \
		{"quiet", no_argument, NULL, 'q'}, {"help", no_argument, NULL, 'h'},               \
	{                                                                                          \
		"version", no_argument, NULL, 'V'                                                  \
	}
#define MS_CLI_SHORTS "qhV"

/* Takes an option of the tool's own, `c` with optarg. 0, or -1 with `err` set. */
typedef int ms_cli_take(void *options, int c, char **argv, struct ms_err *err);

/* Reads all options: shared ones into `cli`, each other one, and '?' and ':', through `take`.
 * `shorts` begins with ':'. Nothing after -h or -V is looked at. Then optind is the first operand.
 * 0, or -1 with `err` set. */
int ms_cli_read(struct ms_cli *cli, int argc, char **argv, const char *shorts,
		const struct option *longs, ms_cli_take *take, void *options, struct ms_err *err);

/* The name of the long option of that value, or NULL. */
const char *ms_cli_name(const struct option *longs, int value);
/* What was wrong when getopt_long gave '?' or ':' (`c`): unknown, ambiguous, an argument too few or
 * too many. Sets `err`; always -1. */
int ms_cli_bad_option(const char *tool, int c, char **argv, const struct option *longs,
		      struct ms_err *err);

/* FILE of an operand FILE@POINT, made in `a`, and *point its POINT; else the operand and NULL. */
const char *ms_cli_operand(struct ms_arena *a, const char *operand, const char **point);

/* To be called before anything is read: a reader of our output that went away and a limit of file
 * sizes are errors like any other, and a signal leaves no temporary file behind. */
void ms_cli_signals(void);
/* Writes `text` (of -h or -V) to standard output. 0, or -1 with `err` set: a full disk behind it
 * must not go unnoticed. */
int ms_cli_print(const char *text, struct ms_err *err);

#endif

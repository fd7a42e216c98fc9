/* SPDX-License-Identifier: MIT
 * What the command lines of the tools that read traces and snapshots have in common.
 */
#include "cli.h"

#include "arena.h"
#include "err.h"
#include "io.h"
#include "point.h"
#include "units.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

const char *ms_cli_name(const struct option *longs, int value)
{
	const struct option *l = longs;
	while (l->name && l->val != value)
		l++;
	return l->name;
}

/* A long option that getopt_long does not know, or knows several of. */
static int unknown_word(const char *tool, const char *word, const struct option *longs,
			struct ms_err *err)
{
	size_t n = strcspn(word, "=");
	bool begins = false;
	for (const struct option *l = longs; l->name && n > 2; l++)
		begins |= strncmp(word + 2, l->name, n - 2) == 0;
	return ms_err_set(err, "%s option '%.*s' (%s -h lists them)",
			  begins ? "ambiguous" : "unknown", (int)n, word, tool);
}

int ms_cli_bad_option(const char *tool, int c, char **argv, const struct option *longs,
		      struct ms_err *err)
{
	/* getopt_long tells a short option by optopt, a known long one by its value there */
	const char *word = argv[optind - 1], *name = ms_cli_name(longs, optopt);
	const char *why = c == ':' ? "needs an argument" : "takes no argument";
	bool is_long = strncmp(word, "--", 2) == 0;
	if (optopt == 0)
		return unknown_word(tool, word, longs, err);
	if (name && (is_long || optopt > 0xff))
		return ms_err_set(err, "option '--%s' %s", name, why);
	if (c == ':')
		return ms_err_set(err, "option '-%c' %s", optopt, why);
	return ms_err_set(err, "unknown option '-%c' (%s -h lists them)", optopt, tool);
}

/* One option. 1 when it is none of the shared ones. */
static int take_shared(struct ms_cli *cli, int c, struct ms_err *err)
{
	switch (c) {
	case MS_OPT_ALLOW_PARTIAL:
		cli->allow_partial = true;
		return 0;
	case MS_OPT_MAX_IMAGE:
		return ms_parse_size(optarg, &cli->max_image, err);
	case 'q':
		cli->quiet = true;
		return 0;
	case 'h':
		cli->help = true;
		return 0;
	case 'V':
		cli->version = true;
		return 0;
	default:
		return 1;
	}
}

int ms_cli_read(struct ms_cli *cli, int argc, char **argv, const char *shorts,
		const struct option *longs, ms_cli_take *take, void *options, struct ms_err *err)
{
	int c;
	opterr = 0;
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		int rc = take_shared(cli, c, err);
		if (rc > 0)
			rc = take(options, c, argv, err);
		if (rc != 0)
			return -1;
		if (cli->help || cli->version)
			return 0;
	}
	return 0;
}

const char *ms_cli_operand(struct ms_arena *a, const char *operand, const char **point)
{
	const char *at = ms_point_split(operand);
	*point = at ? at + 1 : NULL;
	return at ? ms_arena_strndup(a, operand, (size_t)(at - operand)) : operand;
}

void ms_cli_signals(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	ms_cleanup_on_signals();
}

int ms_cli_print(const char *text, struct ms_err *err)
{
	if (fputs(text, stdout) >= 0 && fflush(stdout) == 0)
		return 0;
	return ms_err_sys(err, "cannot write to standard output");
}

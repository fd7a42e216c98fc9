/* SPDX-License-Identifier: MIT
 * Command lines: a table of options per tool, by which they are read and --help is printed.
 */
#include "cli.h"

#include "arena.h"
#include "err.h"
#include "progress.h"
#include "io.h"
#include "mapped_file.h"
#include "meant.h"
#include "point.h"
#include "units.h"

#include <ctype.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 256, HELP_COLUMN = 29, WIDTH = 80 };
enum { QUESTIONS = 3 }; /* place of the first of `shared` that all tools have */
enum { HELP_COMMON, HELP_ALL, HELP_ROWS };

/* ---- the rows of all tools ---- */

#define SHARED(member)                                                                             \
	offsetof(struct ms_cli, member), sizeof(((struct ms_cli *)0)->member), 0, NULL, NULL

static const struct ms_cli_option shared[] = {
	{"allow-partial", 0, NULL, ms_cli_flag, SHARED(allow_partial), 0,
	 "exit 0 even if an input is incomplete"},
	{"max-image", 0, "SIZE", ms_cli_size, SHARED(max_image), 0,
	 "largest snapshot to read from a pipe, or to make (default 4G)"},
	{"quiet", 'q', NULL, ms_cli_flag, SHARED(quiet), 0, "print no notes on standard error"},
	{"help", 'h', "[common|all|rows]common", ms_cli_choice, SHARED(help), 0,
	 "the common options; all of them; all, one per line, for scripts"},
	{"version", 'V', NULL, ms_cli_flag, SHARED(version), 0, "version"},
};

static bool is_shared(const struct ms_cli_option *row)
{
	return row >= shared && row < shared + sizeof shared / sizeof *shared;
}

/* Titles and options of the tool, in order, into `rows`; their number. */
static size_t collect(const struct ms_cli_tool *tool,
		      const struct ms_cli_option *rows[MS_CLI_ROWS_MAX])
{
	size_t n = 0;
	for (const struct ms_cli_option *r = tool->rows;
	     (r->name || r->help) && n < MS_CLI_ROWS_MAX; r++)
		rows[n++] = r;
	for (size_t i = tool->reads ? 0 : QUESTIONS;
	     i < sizeof shared / sizeof *shared && n < MS_CLI_ROWS_MAX; i++)
		rows[n++] = &shared[i];
	return n;
}

/* ---- arguments ---- */

static int store(const struct ms_cli_arg *arg, uint64_t n)
{
	if (arg->row->size == sizeof n)
		*(uint64_t *)arg->to = n;
	else if (arg->row->size == sizeof(uint32_t))
		*(uint32_t *)arg->to = (uint32_t)n;
	else
		*(bool *)arg->to = n != 0;
	return 0;
}

int ms_cli_flag(const struct ms_cli_arg *arg, struct ms_err *err)
{
	(void)err;
	return store(arg, 1);
}

int ms_cli_text(const struct ms_cli_arg *arg, struct ms_err *err)
{
	(void)err;
	*(const char **)arg->to = arg->text;
	return 0;
}

int ms_cli_name(const struct ms_cli_arg *arg, struct ms_err *err)
{
	const char *what = arg->row->argument;
	*(const char **)arg->to = arg->text;
	return arg->text[0] ? 0
			    : ms_err_set(err, "option '--%s': empty %s", arg->row->name,
					 strstr(what, "FILE")     ? "file name"
					 : strstr(what, "FOLDER") ? "folder name"
								  : "argument");
}

int ms_cli_point(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct ms_point p;
	*(const char **)arg->to = arg->text;
	return ms_point_parse(arg->text, &p, err);
}

int ms_cli_output(const struct ms_cli_arg *arg, struct ms_err *err)
{
	int rc = ms_cli_name(arg, err);
	if (strcmp(arg->text, "-") == 0)
		*(const char **)arg->to = NULL;
	return rc;
}

int ms_cli_add(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct ms_cli_list *list = arg->to;
	return ms_cli_name(&(struct ms_cli_arg){arg->row, MS_PUSH(list), arg->text}, err);
}

typedef int parse(const char *s, uint64_t *n, struct ms_err *err);

static int take_number(parse *read, const struct ms_cli_arg *arg, struct ms_err *err)
{
	const struct ms_cli_option *row = arg->row;
	uint64_t n, least = 1, most = UINT64_MAX;
	struct ms_err why = {0};
	if (read(arg->text, &n, &why) != 0 ||
	    (row->least && row->least[0] && read(row->least, &least, &why) != 0) ||
	    (row->most && read(row->most, &most, &why) != 0))
		return ms_err_set(err, "option '--%s': %s", row->name, why.text);
	if (row->least && n < least)
		return ms_err_set(err, "bad --%s '%s': %s %s is needed", row->name, arg->text,
				  row->least[0] ? "at least" : "more than",
				  row->least[0] ? row->least : "0");
	if (n > most)
		return ms_err_set(err, "bad --%s '%s': at most %s is allowed", row->name, arg->text,
				  row->most);
	return store(arg, n);
}

int ms_cli_size(const struct ms_cli_arg *arg, struct ms_err *err)
{
	return take_number(ms_parse_size, arg, err);
}

int ms_cli_duration(const struct ms_cli_arg *arg, struct ms_err *err)
{
	return take_number(ms_parse_duration, arg, err);
}

int ms_cli_count(const struct ms_cli_arg *arg, struct ms_err *err)
{
	const struct ms_cli_option *row = arg->row;
	char what[64];
	uint64_t n;
	snprintf(what, sizeof what, "--%s", row->name);
	if (ms_parse_count(arg->text, what, row->least ? strtoull(row->least, NULL, 10) : 0,
			   row->most ? strtoull(row->most, NULL, 10) : UINT64_MAX, &n, err) != 0)
		return -1;
	return store(arg, n);
}

int ms_cli_choice(const struct ms_cli_arg *arg, struct ms_err *err)
{
	const char *word = arg->row->argument + (arg->row->argument[0] == '[');
	char all[200] = "";
	for (unsigned i = 0;; i++) {
		size_t n = strcspn(word, "|]");
		bool last = word[n] != '|', then_last = !last && !strchr(word + n + 1, '|');
		if (strlen(arg->text) == n && strncmp(arg->text, word, n) == 0)
			return store(arg, last && i == 0 ? 1 : i);
		snprintf(all + strlen(all), sizeof all - strlen(all), "%.*s%s", (int)n, word,
			 last        ? ""
			 : then_last ? " or "
				     : ", ");
		if (last)
			return ms_err_set(err, "bad --%s '%s': expected %s", arg->row->name,
					  arg->text, all);
		word += n + 1;
	}
}

/* ---- reading ---- */

/* A long option that getopt_long does not know, or knows several of. */
static int unknown_word(const char *tool, const char *word, const struct option *longs,
			struct ms_err *err)
{
	size_t n = strcspn(word, "=");
	bool begins = false;
	struct ms_meant meant = {0};
	for (const struct option *l = longs; l->name && n > 2; l++) {
		begins |= strncmp(word + 2, l->name, n - 2) == 0;
		ms_meant_try(&meant, word + 2, n - 2, l->name);
	}
	if (!begins && meant.word)
		return ms_err_set(err,
				  "unknown option '%.*s': did you mean --%s? (%s --help=all lists "
				  "them)",
				  (int)n, word, meant.word, tool);
	return ms_err_set(err, "%s option '%.*s' (%s --help=all lists them)",
			  begins ? "ambiguous" : "unknown", (int)n, word, tool);
}

/* getopt_long gave '?' or ':' (`c`); optopt is 0, the letter, or the value of the long one. */
static int bad_option(const char *tool, int c, const char *word, const struct option *longs,
		      const struct ms_cli_option *const *rows, struct ms_err *err)
{
	const char *why = c == ':' ? "needs an argument" : "takes no argument";
	if (optopt == 0)
		return unknown_word(tool, word, longs, err);
	if (optopt >= LONG)
		return ms_err_set(err, "option '--%s' %s", rows[optopt - LONG]->name, why);
	if (c == ':')
		return ms_err_set(err, "option '-%c' %s", optopt, why);
	return ms_err_set(err, "unknown option '-%c' (%s --help=all lists them)", optopt, tool);
}

/* The rows as getopt_long takes them, by whose values they are found again. */
static void prepare(const struct ms_cli_option *const *rows, size_t n, struct option *l, char *s)
{
	for (size_t i = 0; i < n; i++) {
		const char *arg = rows[i]->argument;
		int how = !arg            ? no_argument
			  : arg[0] == '[' ? optional_argument
					  : required_argument;
		if (rows[i]->name)
			*l++ = (struct option){rows[i]->name, how, NULL, LONG + (int)i};
		if (rows[i]->letter) {
			*s++ = rows[i]->letter;
			s = stpcpy(s, how == required_argument ? ":" : "");
		}
	}
}

int ms_cli_read(const struct ms_cli_tool *tool, void *options, struct ms_cli *cli, int argc,
		char **argv, struct ms_err *err)
{
	const struct ms_cli_option *rows[MS_CLI_ROWS_MAX];
	struct option longs[MS_CLI_ROWS_MAX + 1] = {0};
	char shorts[2 * MS_CLI_ROWS_MAX + 3];
	size_t n = collect(tool, rows);
	prepare(rows, n, longs, stpcpy(shorts, tool->command ? "+:" : ":"));
	cli->tool = tool;
	cli->max_image = UINT64_C(4) << 30;
	opterr = 0;
	for (int c; !cli->asked && (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
		size_t i = c >= LONG ? (size_t)c - LONG : 0;
		while (c < LONG && i < n && rows[i]->letter != c)
			i++;
		if (i == n)
			return bad_option(tool->name, c, argv[optind - 1], longs, rows, err);
		const char *argument = rows[i]->argument;
		struct ms_cli_arg arg = {rows[i], is_shared(rows[i]) ? (void *)cli : options,
					 optarg};
		if (!optarg && argument && argument[strcspn(argument, "]") + 1])
			arg.text = strchr(argument, ']') + 1;
		arg.to = (char *)arg.to + rows[i]->offset;
		if (!ms_cli_given(cli, rows[i]->name))
			cli->given[cli->given_count++] = rows[i];
		if (rows[i]->take(&arg, err) != 0)
			return -1;
		cli->asked = is_shared(rows[i]) && rows[i] >= &shared[QUESTIONS];
	}
	return 0;
}

bool ms_cli_given(const struct ms_cli *cli, const char *name)
{
	for (size_t i = 0; i < cli->given_count; i++)
		if (strcmp(cli->given[i]->name, name) == 0)
			return true;
	return false;
}

const char *ms_cli_other(const struct ms_cli *cli, const char *names)
{
	for (size_t i = 0; i < cli->given_count; i++) {
		const char *name = cli->given[i]->name, *word = names;
		size_t n = strlen(name);
		while (*word && (strcspn(word, " ") != n || strncmp(word, name, n) != 0))
			word += strcspn(word, " "), word += *word == ' ';
		if (!*word)
			return name;
	}
	return NULL;
}

/* ---- --help ---- */

/* The words of `s` up to `end` in lines that begin at `column`; the first one has `at` already. */
static void put_words(FILE *to, const char *s, const char *end, int at, int column)
{
	for (size_t n; s < end; s += n + 1) {
		n = strcspn(s, " ");
		n = s + n < end ? n : (size_t)(end - s);
		if (at + 1 + (int)n > WIDTH)
			at = fputc('\n', to) - '\n';
		at += fprintf(to, "%*s%.*s", at < column ? column - at : at > 0, "", (int)n, s);
	}
	fputc('\n', to);
}

static void put_row(FILE *to, const struct ms_cli_option *row, bool whole)
{
	const char *arg = row->argument ? row->argument : "", *more = strstr(row->help, "; ");
	int at = fprintf(to, "  %c%c%c --%s", row->letter ? '-' : ' ',
			 row->letter ? row->letter : ' ', row->letter ? ',' : ' ', row->name);
	if (arg[0] == '[')
		at += fprintf(to, "[=%.*s]", (int)strcspn(arg + 1, "]"), arg + 1);
	else if (arg[0])
		at += fprintf(to, "%c%s", islower((unsigned char)arg[0]) ? '=' : ' ', arg);
	if (at >= HELP_COLUMN) /* on one screen each line counts */
		at = whole ? fputc('\n', to) - '\n' : at + fprintf(to, " ");
	put_words(to, row->help, more && !whole ? more : strchr(row->help, 0), at, HELP_COLUMN);
}

static void put_help(FILE *to, const struct ms_cli *cli)
{
	const struct ms_cli_option *rows[MS_CLI_ROWS_MAX];
	const char *title = "";
	unsigned shown = 0, options = 0;
	size_t n = collect(cli->tool, rows);
	if (cli->help != HELP_ROWS) {
		fprintf(to, "usage: %s", cli->tool->usage);
		put_words(to, cli->tool->about, strchr(cli->tool->about, 0), 0, 0);
	}
	for (size_t i = 0; i < n; i++) {
		title = rows[i]->name ? title : rows[i]->help;
		bool older = strcmp(title, MS_CLI_OLDER) == 0;
		options += rows[i]->name && !older;
		if (cli->help == HELP_ROWS && rows[i]->name)
			fprintf(to, "%s\t%c\t%s\t%s\t%u\t%s\n", rows[i]->name,
				rows[i]->letter ? rows[i]->letter : '-',
				rows[i]->argument ? rows[i]->argument : "-", title, rows[i]->rank,
				rows[i]->help ? rows[i]->help : "-");
		else if (cli->help == HELP_ALL && older)
			continue;
		else if (cli->help == HELP_ALL && !rows[i]->name)
			fprintf(to, "\n%s:\n", title);
		else if (cli->help == HELP_ALL && rows[i]->help)
			put_row(to, rows[i], true);
		/* the commonest: by rank */
		for (size_t k = 0; cli->help == HELP_COMMON && k < n; k++)
			if (rows[k]->rank == i + 1) {
				fputs(shown++ ? "" : "\n", to);
				put_row(to, rows[k], false);
			}
	}
	if (cli->help == HELP_COMMON)
		fprintf(to, "all %u options: %s --help=all; the manual: man %s\n\nexamples:\n%s",
			options, cli->tool->name, cli->tool->name, cli->tool->examples);
}

int ms_cli_answer(const struct ms_cli *cli, struct ms_err *err)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	if (!to)
		return ms_err_sys(err, "cannot print");
	if (cli->version)
		fprintf(to, "%s " MS_VERSION "\n", cli->tool->name);
	else
		put_help(to, cli);
	fclose(to);
	int rc = ms_cli_print(text, err);
	free(text);
	return rc;
}

int ms_cli_print(const char *text, struct ms_err *err)
{
	if (fputs(text, stdout) >= 0 && fflush(stdout) == 0)
		return 0;
	return ms_err_sys(err, "cannot write to standard output");
}

int ms_cli_failed(const char *tool, const struct ms_err *err)
{
	sigset_t set;
	ms_progress_hide();
	if (err->pipe) {
		signal(SIGPIPE, SIG_DFL);
		sigemptyset(&set);
		sigaddset(&set, SIGPIPE);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		raise(SIGPIPE);
	}
	if (!err->empty)
		fprintf(stderr, "%s: %s\n", tool, err->text);
	return 2;
}

void ms_cli_remark(const struct ms_cli *cli, const char *fmt, ...)
{
	struct ms_err line = {0};
	if (cli->quiet)
		return;
	va_list ap;
	va_start(ap, fmt);
	ms_err_setv(&line, fmt, ap);
	va_end(ap);
	ms_progress_hide();
	fprintf(stderr, "%s: %s\n", cli->tool->name, line.text);
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
	ms_mapped_files_survive();
}

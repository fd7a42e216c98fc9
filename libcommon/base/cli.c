/* SPDX-License-Identifier: MIT
 * Command lines: each tool has one table of options, used to read them and to print --help.
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

enum { LONG = 256, OLD = LONG + MS_CLI_ROWS_MAX, HELP_COLUMN = 29, WIDTH = 80 };
enum { QUESTIONS = 4 }; /* index in `shared` of the first option that all tools have */
enum { HELP_COMMON, HELP_ALL, HELP_ROWS, HELP_OLD };

/* ---- the rows of all tools ---- */

#define SHARED(member)                                                                             \
	offsetof(struct ms_cli, member), sizeof(((struct ms_cli *)0)->member), 0, NULL, NULL

static const struct ms_cli_option shared[] = {
	{"allow", 0, "WHAT", NULL, MS_WHOLE(0), 0,
	 "accept what would otherwise fail or end with status 2"},
	{"allow=partial", 0, NULL, ms_cli_flag, SHARED(allow_partial), 0,
	 "incomplete inputs: exit with status 0, not 2"},
	{"allow=image", 0, "SIZE", ms_cli_size, SHARED(max_image), 0,
	 "snapshots up to SIZE, read from a pipe or newly made (default 4G)"},
	{"quiet", 'q', NULL, ms_cli_flag, SHARED(quiet), 0, "print no notes on standard error"},
	{"help", 'h', "[common|all|rows|old]common", ms_cli_choice, SHARED(help), 0,
	 "the common options; all of them; all, one per line, for scripts; older spellings"},
	{"version", 'V', NULL, ms_cli_flag, SHARED(version), 0, "version"},
};

static const struct ms_cli_old shared_olds[] = {
	{"allow-partial", "allow=partial", NULL},
	{"max-image", "allow=image", NULL},
	{0},
};

static bool is_shared(const struct ms_cli_option *row)
{
	return row >= shared && row < shared + sizeof shared / sizeof *shared;
}

/* Collects the tool's titles and options, then the shared options. Returns how many there are. */
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
		return ms_err_set(err, "bad --%s '%s': must be %s %s", row->name, arg->text,
				  row->least[0] ? "at least" : "more than",
				  row->least[0] ? row->least : "0");
	if (n > most)
		return ms_err_set(err, "bad --%s '%s': must be at most %s", row->name, arg->text,
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

/* ---- values: rows "NAME=KEY" of an option "NAME" ---- */

/* Holds the state of one call of ms_cli_read. */
struct reading {
	const struct ms_cli_tool *tool;
	const struct ms_cli_option *rows[MS_CLI_ROWS_MAX];
	size_t n;
	const struct ms_cli_old *olds[MS_CLI_ROWS_MAX];
	size_t old_count;
	void *options; /* the tool's */
	struct ms_cli *cli;
	struct ms_err *err;
};

/* Returns the KEY of a row "OPTION=KEY" of `option`; NULL = `row` is not a value of `option`. */
static const char *key_of(const struct ms_cli_option *row, const struct ms_cli_option *option)
{
	size_t n = strlen(option->name);
	return row->name && strncmp(row->name, option->name, n) == 0 && row->name[n] == '='
		       ? row->name + n + 1
		       : NULL;
}

static bool has_values(const struct reading *r, const struct ms_cli_option *option)
{
	size_t i = 0;
	while (i < r->n && !key_of(r->rows[i], option))
		i++;
	return i < r->n;
}

/* Returns the row "OPTION=KEY" of the table of options that describes a value of `option`, and
 * whose KEY is at the beginning of `text`; NULL = none. */
static const struct ms_cli_option *value_at(const struct reading *r,
					    const struct ms_cli_option *option, const char *text)
{
	size_t n = strcspn(text, ":,");
	for (size_t i = 0; i < r->n; i++) {
		const char *key = key_of(r->rows[i], option);
		if (key && strlen(key) == n && strncmp(key, text, n) == 0 &&
		    (text[n] != ':' || r->rows[i]->argument))
			return r->rows[i];
	}
	return NULL;
}

/* Tells whether `option` accepts only the values that have rows "OPTION=KEY" of their own in the
 * table of options. */
static bool only_values(const struct ms_cli_option *option)
{
	return strncmp(option->argument + (option->argument[0] == '['), "WHAT", 4) == 0;
}

/* Tells whether `text` begins with a value of `option`: a key, or a word of the option's own
 * argument. */
static bool value_begins(const struct reading *r, const struct ms_cli_option *option,
			 const char *text)
{
	size_t n = strcspn(text, ":,"), length;
	if (value_at(r, option, text))
		return true;
	for (const char *w = only_values(option) ? "" : option->argument; *w; w += *w == '|') {
		length = strspn(w, "abcdefghijklmnopqrstuvwxyz-");
		if (length && length == n && strncmp(w, text, n) == 0)
			return true;
		w += strcspn(w, "|");
	}
	return false;
}

/* Prints the keys of `option` into `to`, each after `before` and with its argument. */
static void put_keys(FILE *to, const struct reading *r, const struct ms_cli_option *option,
		     const char *before)
{
	for (size_t i = 0; i < r->n; i++) {
		const char *key = key_of(r->rows[i], option), *arg = r->rows[i]->argument;
		if (!key)
			continue;
		fprintf(to, "%s%s", before, key);
		if (arg && arg[0] == '[')
			fprintf(to, "[:%.*s]", (int)strcspn(arg + 1, "]"), arg + 1);
		else if (arg)
			fprintf(to, ":%.*s",
				isupper((unsigned char)arg[0]) ? (int)strcspn(arg, "|") : 4,
				isupper((unsigned char)arg[0]) ? arg : "WORD");
		before = "|";
	}
}

static int bad_value(const struct reading *r, const struct ms_cli_option *option, const char *text)
{
	char *keys = NULL;
	size_t size;
	FILE *to = open_memstream(&keys, &size);
	if (!to)
		return ms_err_sys(r->err, "cannot print");
	put_keys(to, r, option, "");
	fclose(to);
	ms_err_set(r->err, "bad --%s '%s': expected %s", option->name, text, keys);
	free(keys);
	return -1;
}

/* Stores an option, or one of its values, and records that it was given. `text` NULL = no
 * argument. */
static int take_row(struct reading *r, const struct ms_cli_option *row, const char *text)
{
	struct ms_cli *cli = r->cli;
	const char *argument = row->argument;
	struct ms_cli_arg arg = {row, is_shared(row) ? (void *)cli : r->options, text};
	if (!text && argument && argument[0] == '[' && strchr(argument, ']')[1])
		arg.text = strchr(argument, ']') + 1;
	arg.to = (char *)arg.to + row->offset;
	size_t i = 0;
	while (i < cli->given_count && cli->given[i] != row)
		i++;
	if (i == cli->given_count)
		cli->given[cli->given_count++] = row;
	return row->take(&arg, r->err);
}

/* Stores the argument of an option; if the option has values, stores each value in the argument.
 * Replaces the commas between values in `text` by NULs. */
static int take_values(struct reading *r, const struct ms_cli_option *option, char *text)
{
	if (!has_values(r, option))
		return take_row(r, option, text);
	for (char *end = text; text; text = end) {
		for (end = text; (end = strchr(end, ',')) && !value_begins(r, option, end + 1);)
			end++;
		if (end)
			*end++ = '\0';
		const struct ms_cli_option *value = value_at(r, option, text);
		if (text[strcspn(text, ":,")] == ',')
			value = NULL;
		const char *colon = value ? strchr(text, ':') : NULL;
		if (value && !colon && value->argument && value->argument[0] != '[')
			return ms_err_set(r->err, "option '--%s' needs a value: --%s:%s",
					  value->name, value->name, value->argument);
		if (!value && only_values(option))
			return bad_value(r, option, text);
		if (take_row(r, value ? value : option,
			     !value  ? text
			     : colon ? colon + 1
				     : NULL) != 0)
			return -1;
	}
	return 0;
}

static const struct ms_cli_option *row_named(const struct reading *r, const char *name)
{
	size_t i = 0;
	while (i + 1 < r->n && (!r->rows[i]->name || strcmp(r->rows[i]->name, name) != 0))
		i++;
	return r->rows[i];
}

/* Returns `before` and `text`, concatenated, in memory that is never freed. */
static char *joined(const char *before, const char *text)
{
	static struct kept {
		struct kept *next; /* keeps the text reachable for leak checkers */
		char text[];
	} * all;
	size_t n = strlen(before), m = strlen(text);
	struct kept *k = ms_xrealloc(NULL, 1, sizeof *k + n + m + 1);
	memcpy(k->text, before, n);
	memcpy(k->text + n, text, m + 1);
	k->next = all;
	all = k;
	return k->text;
}

/* Stores an older spelling as the option that it stands for. */
static int take_old(struct reading *r, const struct ms_cli_old *old, const char *text)
{
	const struct ms_cli_option *row = row_named(r, old->row);
	if (!old->before)
		return take_row(r, row, text);
	char *whole = joined(old->before + (old->before[0] == '['), text ? text : "");
	if (!text)
		whole[strlen(whole) - 1] = '\0';
	return take_values(r, row, whole);
}

/* ---- reading ---- */

/* Reports a long option that getopt_long does not know, or that is an ambiguous abbreviation. */
static int unknown_word(const struct reading *r, const char *word, const struct option *longs)
{
	size_t n = strcspn(word, "=");
	bool begins = false;
	struct ms_meant meant = {0};
	const char *tool = r->tool->name;
	for (const struct option *l = longs; l->name && n > 2; l++) {
		begins |= strncmp(word + 2, l->name, n - 2) == 0;
		ms_meant_try(&meant, word + 2, n - 2, l->name);
	}
	for (size_t i = 0; i < r->old_count && meant.word; i++)
		if (meant.word == r->olds[i]->name)
			meant.word = r->olds[i]->row;
	if (!begins && meant.word)
		return ms_err_set(r->err,
				  "unknown option '%.*s': did you mean --%s? (%s --help=all lists "
				  "all options)",
				  (int)n, word, meant.word, tool);
	return ms_err_set(r->err, "%s option '%.*s' (%s --help=all lists all options)",
			  begins ? "ambiguous" : "unknown", (int)n, word, tool);
}

/* Reports an error of getopt_long, which returned `c`: '?' or ':'. optopt: 0, a letter, or the
 * value of a long option. */
static int bad_option(const struct reading *r, int c, const char *word, const struct option *longs)
{
	const char *why = c == ':' ? "needs an argument" : "takes no argument";
	if (optopt == 0)
		return unknown_word(r, word, longs);
	if (optopt >= LONG)
		return ms_err_set(r->err, "option '--%s' %s",
				  optopt >= OLD ? r->olds[optopt - OLD]->name
						: r->rows[optopt - LONG]->name,
				  why);
	if (c == ':')
		return ms_err_set(r->err, "option '-%c' %s", optopt, why);
	return ms_err_set(r->err, "unknown option '-%c' (%s --help=all lists all options)", optopt,
			  r->tool->name);
}

static int how(const struct ms_cli_option *row)
{
	return !row->argument            ? no_argument
	       : row->argument[0] == '[' ? optional_argument
					 : required_argument;
}

/* Fills the option tables of getopt_long: `l` for long options, with the value LONG or OLD + index,
 * and `s` for letters. */
static void prepare(const struct reading *r, struct option *l, char *s)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct ms_cli_option *row = r->rows[i];
		if (row->name && !strchr(row->name, '='))
			*l++ = (struct option){row->name, how(row), NULL, LONG + (int)i};
		if (row->letter) {
			*s++ = row->letter;
			s = stpcpy(s, how(row) == required_argument ? ":" : "");
		}
	}
	for (size_t i = 0; i < r->old_count; i++) {
		const struct ms_cli_old *old = r->olds[i];
		*l++ = (struct option){old->name,
				       !old->before            ? how(row_named(r, old->row))
				       : old->before[0] == '[' ? optional_argument
							       : required_argument,
				       NULL, OLD + (int)i};
	}
}

/* Collects the rows and the older spellings of a tool. */
static void begin(struct reading *r)
{
	r->n = collect(r->tool, r->rows);
	for (const struct ms_cli_old *o = r->tool->olds; o && o->name; o++)
		r->olds[r->old_count++] = o;
	for (const struct ms_cli_old *o = r->tool->reads ? shared_olds : NULL; o && o->name; o++)
		r->olds[r->old_count++] = o;
}

int ms_cli_read(const struct ms_cli_tool *tool, void *options, struct ms_cli *cli, int argc,
		char **argv, struct ms_err *err)
{
	struct reading r = {.tool = tool, .options = options, .cli = cli, .err = err};
	struct option longs[2 * MS_CLI_ROWS_MAX + 1] = {0};
	char shorts[2 * MS_CLI_ROWS_MAX + 3];
	begin(&r);
	prepare(&r, longs, stpcpy(shorts, tool->command ? "+:" : ":"));
	cli->tool = tool;
	cli->max_image = UINT64_C(4) << 30;
	opterr = 0;
	for (int c; !cli->asked && (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
		size_t i = c >= LONG && c < OLD ? (size_t)c - LONG : 0;
		while (c < LONG && i < r.n && r.rows[i]->letter != c)
			i++;
		if (i == r.n)
			return bad_option(&r, c, argv[optind - 1], longs);
		if (c >= OLD ? take_old(&r, r.olds[c - OLD], optarg) != 0
		    : optarg ? take_values(&r, r.rows[i], optarg) != 0
			     : take_row(&r, r.rows[i], NULL) != 0)
			return -1;
		cli->asked = c < OLD && is_shared(r.rows[i]) && r.rows[i] >= &shared[QUESTIONS];
	}
	return 0;
}

/* Tells whether `name` (`n` bytes) is the name of the row, or of the option that the row is a value
 * of. */
static bool means(const struct ms_cli_option *row, const char *name, size_t n)
{
	return strncmp(row->name, name, n) == 0 && (!row->name[n] || row->name[n] == '=');
}

bool ms_cli_given(const struct ms_cli *cli, const char *name)
{
	for (size_t i = 0; i < cli->given_count; i++)
		if (means(cli->given[i], name, strlen(name)))
			return true;
	return false;
}

const char *ms_cli_other(const struct ms_cli *cli, const char *names)
{
	for (size_t i = 0; i < cli->given_count; i++) {
		const char *word = names;
		while (*word && !means(cli->given[i], word, strcspn(word, " ")))
			word += strcspn(word, " "), word += *word == ' ';
		if (!*word)
			return cli->given[i]->name;
	}
	return NULL;
}

/* ---- --help ---- */

/* Prints the words from `s` to `end` in lines that begin at `column`. The first line is already
 * filled up to column `at`. */
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

/* Prints the help of an option or of a value; unless `whole`, only up to the first "; ". */
static void put_row(FILE *to, const struct ms_cli_option *row, bool whole)
{
	const char *arg = row->argument ? row->argument : "", *help = row->help ? row->help : "",
		   *more = strstr(help, "; "), *key = row->name ? strchr(row->name, '=') : NULL;
	int at = key && whole ? fprintf(to, "        %s", key + 1)
			      : fprintf(to, "  %c%c%c --%s", row->letter ? '-' : ' ',
					row->letter ? row->letter : ' ', row->letter ? ',' : ' ',
					row->name);
	if (arg[0] == '[')
		at += fprintf(to, "[%c%.*s]", key ? ':' : '=', (int)strcspn(arg + 1, "]"), arg + 1);
	else if (arg[0])
		at += fprintf(to, "%c%s",
			      key                              ? ':'
			      : islower((unsigned char)arg[0]) ? '='
							       : ' ',
			      arg);
	if (at >= HELP_COLUMN) /* short help avoids line breaks, to fit on one screen */
		at = whole ? fputc('\n', to) - '\n' : at + fprintf(to, " ");
	put_words(to, help, more && !whole ? more : strchr(help, 0), at, HELP_COLUMN);
}

/* Prints an option in one line for scripts; the words of its argument are listed with its
 * values. */
static void put_for_scripts(FILE *to, const struct reading *r, const struct ms_cli_option *row,
			    const char *title)
{
	const char *arg = row->argument ? row->argument : "-";
	bool only = row->argument && only_values(row);
	int own = (int)(arg[0] == '[' ? strcspn(arg, "]") : strlen(arg));
	fprintf(to, "%s\t%c\t", row->name, row->letter ? row->letter : '-');
	fprintf(to, "%.*s", only ? arg[0] == '[' : own, arg);
	put_keys(to, r, row, only ? "" : "|");
	fprintf(to, "%s\t%s\t%u\t%s\n", arg[0] == '[' ? arg + own : "", title, row->rank,
		row->help);
}

/* Prints all options with their values, under titles or in the format for scripts. */
static void put_all(FILE *to, const struct reading *r, bool for_scripts)
{
	const char *title = "";
	bool values = false;
	for (size_t i = 0; i < r->n; i++) {
		const struct ms_cli_option *row = r->rows[i];
		title = row->name ? title : row->help;
		if (!for_scripts && !row->name)
			fprintf(to, "\n%s:\n", title);
		if (!row->name || strchr(row->name, '='))
			continue;
		if (for_scripts) {
			put_for_scripts(to, r, row, title);
			continue;
		}
		put_row(to, row, true);
		for (size_t k = 0; k < r->n; k++)
			if (key_of(r->rows[k], row) && r->rows[k]->help)
				put_row(to, r->rows[k], true);
		values |= has_values(r, row);
	}
	if (values && !for_scripts)
		fprintf(to, "\nBelow an option are its values; several can be given: "
			    "--option=one,two:ARG\n");
}

/* Prints the commonest options, by rank. */
static void put_common(FILE *to, const struct reading *r)
{
	const struct ms_cli_tool *tool = r->tool;
	unsigned options = 0;
	fputc('\n', to);
	for (size_t i = 0; i < r->n; i++) {
		options += r->rows[i]->name && !strchr(r->rows[i]->name, '=');
		for (size_t k = 0; k < r->n; k++)
			if (r->rows[k]->rank == i + 1)
				put_row(to, r->rows[k], false);
	}
	fprintf(to, "all %u options: %s --help=all; the manual: man %s\n\nexamples:\n%s", options,
		tool->name, tool->name, tool->examples);
}

/* Prints an older spelling and the option that it stands for. */
static void put_old(FILE *to, const struct reading *r, const struct ms_cli_old *old)
{
	const char *argument = row_named(r, old->row)->argument;
	char sign = strchr(old->row, '=') ? ':' : '=';
	fprintf(to, "--%s\t--%s", old->name, old->row);
	if (old->before && old->before[0] == '[')
		fprintf(to, "=%.*s[:...]\n", (int)strlen(old->before) - 2, old->before + 1);
	else if (old->before)
		fprintf(to, "=%s...\n", old->before);
	else if (argument && argument[0] == '[')
		fprintf(to, "[%c%.*s]\n", sign, (int)strcspn(argument + 1, "]"), argument + 1);
	else if (argument)
		fprintf(to, "%c%s\n", sign, argument);
	else
		fputc('\n', to);
}

static void put_help(FILE *to, const struct ms_cli *cli)
{
	struct reading r = {.tool = cli->tool};
	begin(&r);
	for (size_t i = 0; i < r.old_count && cli->help == HELP_OLD; i++)
		put_old(to, &r, r.olds[i]);
	if (cli->help == HELP_COMMON || cli->help == HELP_ALL) {
		fprintf(to, "usage: %s", cli->tool->usage);
		put_words(to, cli->tool->about, strchr(cli->tool->about, 0), 0, 0);
	}
	if (cli->help == HELP_COMMON)
		put_common(to, &r);
	else if (cli->help != HELP_OLD)
		put_all(to, &r, cli->help == HELP_ROWS);
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

/* SPDX-License-Identifier: MIT
 * Parses the command line of ms-top.
 */
#include "options.h"

#include <string.h>

#include "ms-top/trace/trace.h"
#include "libcommon/base/err.h"

/* Parses --sort: a column of processes, or of the sites of a trace. */
static int take_sort(struct options *o, struct ms_err *err)
{
	o->reverse = o->sort_text[0] == '-';
	const char *name = o->sort_text + o->reverse;
	int id = o->trace ? site_column_find(name, err) : column_find(name, strlen(name), err);
	if (id < 0)
		return -1;
	if (o->trace)
		o->site_sort = id;
	else
		o->sort = (enum column_id)id;
	return 0;
}

/* Checks the options of --listen. It needs a trace, and cannot be combined with plain frames
 * (screens printed as text). */
static int check_serve(struct options *o, struct ms_err *err)
{
	const struct serve_options *s = &o->serve;
	const char *of_serve = s->allow_remote ? "remote" : s->token_file ? "token-file" : NULL;
	if (!s->listen)
		return of_serve ? ms_err_set(err,
					     "'--listen=%s' needs an address: "
					     "--listen=ADDRESS,%s%s",
					     of_serve, of_serve, s->allow_remote ? "" : ":FILE")
				: 0;
	if (!o->trace)
		return ms_err_set(err, "'--listen' needs a trace: name one");
	if (o->batch)
		return ms_err_set(err, "'--listen' and '--batch': choose one");
	o->serve.full_names = o->full_names;
	o->serve.wrappers = &o->wrappers;
	return 0;
}

/* Refuses options that would have no effect. */
static int check(struct options *o, struct ms_err *err)
{
	if (o->trace && o->pid)
		return ms_err_set(err, "-p and '%s': choose one", o->trace);
	if (o->trace && strcmp(o->root, "/proc") != 0)
		return ms_err_set(err, "--proc-root and '%s': choose one", o->trace);
	const char *of_list = ms_cli_given(&o->cli, "kernel")    ? "--kernel"
			      : ms_cli_given(&o->cli, "columns") ? "--columns"
								 : NULL;
	const char *of_trace = o->wrappers.n ? "--wrapper" : o->full_names ? "--full-names" : NULL;
	if (of_trace && o->batch && !o->trace)
		return ms_err_set(err, "'%s' is for traces only", of_trace);
	if (o->log && o->trace)
		return ms_err_set(err,
				  "'--log' is for processes: a trace already keeps everything");
	if ((o->trace || o->pid) && of_list)
		return ms_err_set(err, "'%s' is for the list of processes only", of_list);
	if (o->pid && (o->filter[0] || o->sort_text))
		return ms_err_set(
			err, "'%s' is for the list of processes and for traces, not for -p PID",
			o->filter[0] ? "--filter" : "--sort");
	o->sort_open = !o->sort_text;
	if (check_serve(o, err) != 0)
		return -1;
	return o->sort_text ? take_sort(o, err) : 0;
}

static int take_columns(const struct ms_cli_arg *arg, struct ms_err *err)
{
	return columns_parse(arg->text, arg->to, err);
}

static int take_filter(const struct ms_cli_arg *arg, struct ms_err *err)
{
	if (strlen(arg->text) >= PATTERN_ROOM)
		return ms_err_set(err, "bad --filter '%.20s...': at most %d bytes", arg->text,
				  PATTERN_ROOM - 1);
	return ms_cli_text(arg, err);
}

static const struct ms_cli_option rows[] = {
	{.help = "What is shown"},
	{"pid", 'p', "PID", ms_cli_count, MS_RANGE(pid, "1", "1073741824"), 1,
	 "show one process: its memory, history and regions"},
	{"columns", 0, "LIST", take_columns, MS_AT(columns), 4,
	 "columns to show, by title, such as pid,rss,command"},
	{"sort", 0, "COLUMN", ms_cli_text, MS_AT(sort_text), 3,
	 "sort by this column (default RSS, of a trace LIVE); -COLUMN reverses"},
	{"filter", 0, "TEXT", take_filter, MS_AT(filter), 5,
	 "show only processes, or sites, that match TEXT; text or regular expression"},
	{"wrapper", 0, "REGEX", ms_wrapper_take, MS_AT(wrappers), 0,
	 "functions that match are wrappers of malloc: sites are named after their callers; may be "
	 "repeated"},
	{"full-names", 0, NULL, ms_cli_flag, MS_AT(full_names), 0,
	 "show full function names, and every frame of the runtime"},
	{"kernel", 0, NULL, ms_cli_flag, MS_AT(kernel), 8, "show kernel threads too"},
	{"proc-root", 0, "FOLDER", ms_cli_text, MS_AT(root), 0, "read FOLDER instead of /proc"},
	{.help = "Refresh and output"},
	{"delay", 'd', "DURATION", ms_cli_duration, MS_RANGE(delay_ns, "100ms", NULL), 2,
	 "refresh interval (default 1s, at least 100ms)"},
	{"batch", 'b', "[WHAT]", ms_cli_flag, MS_AT(batch), 6,
	 "print plain text frames; needs no terminal"},
	{"batch=json", 0, NULL, ms_cli_flag, MS_AT(json), 7,
	 "print frames as JSON objects, one per line"},
	{"log", 0, "FILE", ms_cli_name, MS_AT(log), 0,
	 "append a JSON object per refresh to FILE, too"},
	{"frames", 'n', "N", ms_cli_count, MS_RANGE(frames, "1", "4294967295"), 10,
	 "exit after N frames"},
	{.help = "Serving"},
	{"listen", 0, "ADDRESS", ms_cli_name, MS_AT(serve.listen), 11,
	 "serve profiles, metrics and the report over HTTP; at PORT of this host, "
	 "ADDRESS:PORT, or unix:PATH"},
	{"listen=remote", 0, NULL, ms_cli_flag, MS_AT(serve.allow_remote), 0,
	 "allow an address that other machines can reach; needs token-file"},
	{"listen=token-file", 0, "FILE", ms_cli_name, MS_AT(serve.token_file), 0,
	 "answer only clients that send the first line of FILE as a token"},
	{.help = "General"},
	{0},
};

static const struct ms_cli_old olds[] = {
	{"json", "batch=json", NULL},
	{"allow-remote", "listen=remote", NULL},
	{"token-file", "listen=token-file", NULL},
	{0},
};

static const struct ms_cli_tool tool = {
	"ms-top",
	"ms-top [options]              all processes\n"
	"       ms-top [options] -p PID       one process\n"
	"       ms-top [options] TRACE        a recording, running or ended\n",
	"Shows the memory of processes as it changes: resident, proportional, private, swapped, "
	"and how it grows; of a trace, which call stacks hold it. ? shows the keys.",
	"  ms-top\n"
	"  ms-top -p $(pgrep -nx app)\n"
	"  ms-top --batch --frames 20 --sort /min\n",
	rows,
	olds,
	.reads = false};

int options_parse(struct options *o, int argc, char **argv, struct ms_err *err)
{
	*o = (struct options){.delay_ns = 1000000000,
			      .root = "/proc",
			      .filter = "",
			      .columns = columns_default,
			      .sort = COLUMN_RSS,
			      .site_sort = SITE_LIVE};
	if (ms_cli_read(&tool, o, &o->cli, argc, argv, err) != 0)
		return -1;
	if (o->cli.asked)
		return 0;
	o->batch |= o->json;
	if (optind < argc)
		o->trace = argv[optind++];
	if (optind < argc)
		return ms_err_set(err, "one argument too many: '%s'", argv[optind]);
	return check(o, err);
}

void options_free(struct options *o)
{
	ms_wrappers_free(&o->wrappers);
}

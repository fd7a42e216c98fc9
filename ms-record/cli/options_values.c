/* SPDX-License-Identifier: MIT
 * What the values of ms-record's options mean, and which go together.
 */
#include "options_values.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/units.h"
#include "ms-record/control/multi_attach.h"

int options_follow(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct options *o = arg->to;
	const char *s = arg->text;
	static const struct {
		const char *name;
		enum follow follow;
	} names[] = {{"all", FOLLOW_ALL},
		     {"none", FOLLOW_NONE},
		     {"fork", FOLLOW_FORK},
		     {"exec", FOLLOW_EXEC}};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(s, names[i].name)) {
			o->follow = names[i].follow;
			return 0;
		}
	/* A word without a sign of a pattern is more likely a slip than a program's name. */
	if (!*s || strchr(s, '/') || strstr(s, ",,") || *s == ',' || s[strlen(s) - 1] == ',' ||
	    !strpbrk(s, "*?[,"))
		return ms_err_set(
			err,
			"bad --follow '%s': all, none, fork, exec, or names of programs as "
			"patterns ('cc1*,ld')",
			s);
	o->follow = FOLLOW_NAMED;
	o->follow_names = s;
	return 0;
}

static bool named(const struct options *o, const char *exe, const char *name)
{
	char pattern[256];
	for (const char *p = o->follow_names; *p; p += strspn(p, ",")) {
		size_t n = strcspn(p, ",");
		snprintf(pattern, sizeof pattern, "%.*s", (int)n, p);
		if (!fnmatch(pattern, basename(exe), 0) || !fnmatch(pattern, name, 0))
			return true;
		p += n;
	}
	return false;
}

bool options_follow_exec(const struct options *o, const char *exe, const char *name)
{
	if (o->follow == FOLLOW_NAMED)
		return named(o, exe, name);
	return o->follow != FOLLOW_NONE && o->follow != FOLLOW_FORK;
}

bool options_follow_fork(const struct options *o, const char *exe, const char *name)
{
	if (o->follow == FOLLOW_NAMED)
		return named(o, exe, name);
	return o->follow != FOLLOW_NONE && o->follow != FOLLOW_EXEC;
}

int options_overflow(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct options *o = arg->to;
	const char *s = arg->text;
	if (!strcmp(s, "drop")) {
		o->wait_ns = 0;
		return 0;
	}
	if (!strcmp(s, "wait"))
		return 0;
	if (strncmp(s, "wait:", 5))
		return ms_err_set(err, "bad --overflow '%s': wait, wait:DUR or drop", s);
	if (ms_parse_duration(s + 5, &o->wait_ns, err))
		return -1;
	return o->wait_ns ? 0 : ms_err_set(err, "bad --overflow '%s': use drop", s);
}

int options_leak_check(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct options *o = arg->to;
	const char *s = arg->text;
	static const struct {
		const char *name;
		enum scan_wish wish;
		uint64_t ns;
	} wishes[] = {{"auto", SCAN_AUTO, SCAN_AUTO_NS},
		      {"yes", SCAN_YES, SCAN_YES_NS},
		      {"no", SCAN_NO, 0}};
	size_t n = strcspn(s, ":");
	for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
		if (strlen(wishes[i].name) != n || strncmp(s, wishes[i].name, n) != 0)
			continue;
		o->leak_check = wishes[i].wish;
		o->leak_ns = wishes[i].ns;
		if (!s[n])
			return 0;
		if (o->leak_check == SCAN_NO || ms_parse_duration(s + n + 1, &o->leak_ns, err))
			break;
		return o->leak_ns >= 10000000 && o->leak_ns <= UINT64_C(3600000000000)
			       ? 0
			       : ms_err_set(err, "bad --leak-check '%s': 10ms to 1h are possible",
					    s);
	}
	return ms_err_set(err, "bad --leak-check '%s': auto, yes or no, or auto:DUR or yes:DUR", s);
}

int options_leak_mark(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct options *o = arg->to;
	const char *s = arg->text;
	o->leak_mark = s;
	if (!strncmp(s, "mark:", 5) && s[5] && strlen(s + 5) <= 255)
		return 0;
	return ms_err_set(
		err, "bad --leak-check-at '%s': mark:NAME, of at most 255 bytes, is needed", s);
}

int options_start(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct options *o = arg->to;
	const char *s = arg->text;
	o->start_after_ns = 0;
	o->start_mark = NULL;
	if (strncmp(s, "mark:", 5)) {
		if (ms_parse_duration(s, &o->start_after_ns, err))
			return -1;
		return o->start_after_ns ? 0
					 : ms_err_set(err, "bad --start-after '%s': too short", s);
	}
	o->start_mark = s + 5;
	if (!s[5] || strlen(s + 5) > 255)
		return ms_err_set(
			err, "bad --start-after '%s': a name of at most 255 bytes is needed", s);
	return 0;
}

int options_env(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct options *o = arg->to;
	const char *s = arg->text;
	const char *eq = strchr(s, '=');
	if (!eq || eq == s)
		return ms_err_set(err, "bad --env '%s': NAME=VALUE is needed", s);
	*MS_PUSH(&o->env) = s;
	return 0;
}

int options_hook(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct options *o = arg->to;
	return hooks_add(&o->hooks, arg->text, err);
}

int options_pid(const struct ms_cli_arg *arg, struct ms_err *err)
{
	return multi_attach_parse(arg->to, arg->text, err);
}

int options_keep(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct options *o = arg->to;
	const char *s = arg->text;
	o->keep_live = true;
	o->keep_last_ns = 0;
	if (!strcmp(s, "live"))
		return 0;
	if (strncmp(s, "last:", 5) != 0)
		return ms_err_set(err, "bad --keep '%s': live, or last:DURATION", s);
	if (ms_parse_duration(s + 5, &o->keep_last_ns, err))
		return -1;
	return o->keep_last_ns ? 0 : ms_err_set(err, "bad --keep '%s': more than 0 is needed", s);
}

int options_check_keep(const struct options *o, struct ms_err *err)
{
	if (o->keep_last_ns && o->max_bytes)
		return ms_err_set(err, "--keep=last does not go together with --max-size");
	if (o->keep_live && !o->keep_last_ns && !o->max_bytes)
		return ms_err_set(err, "--keep=live needs --max-size");
	return 0;
}

/* ---- --poll ---- */

int options_rate(const struct ms_cli_arg *arg, struct ms_err *err)
{
	const char *s = arg->text;
	const char *slash = strchr(s, '/');
	char size[64], time[64];
	uint64_t bytes, ns;
	struct ms_err why = {0};
	if (!slash || (size_t)(slash - s) >= sizeof size || strlen(slash + 1) >= sizeof time - 1)
		return ms_err_set(err, "bad --warn-rate '%s': use 1M/s, 100k/m, 5M/10m", s);
	snprintf(size, sizeof size, "%.*s", (int)(slash - s), s);
	bool bare = slash[1] && !strchr("0123456789.", slash[1]);
	snprintf(time, sizeof time, "%s%s", bare ? "1" : "", slash + 1);
	if (ms_parse_size(size, &bytes, &why) || ms_parse_duration(time, &ns, &why) || !ns)
		return ms_err_set(err, "bad --warn-rate '%s': use 1M/s, 100k/m, 5M/10m", s);
	*(double *)arg->to = (double)bytes / ((double)ns / 1e9);
	return 0;
}

/* Options that say how allocations are recorded have nothing to say here. */
static int check_given(const struct options *o, struct ms_err *err)
{
	const char *name =
		ms_cli_other(&o->cli, "output duration interval pid level quiet verbose env "
				      "no-args poll csv proc-root max-heap warn-rate");
	if (name)
		return ms_err_set(err, "--%s does not go with --poll: it records nothing", name);
	if (ms_cli_given(&o->cli, "level") && !o->output)
		return ms_err_set(err, "--level is for the trace: --poll needs -o FILE then");
	return 0;
}

static int check_output(const struct options *o, struct ms_err *err)
{
	const struct poll_options *p = &o->poll;
	bool csv = p->csv && !strcmp(p->csv, "-"), trace = o->output && !strcmp(o->output, "-");
	if (!p->pid && (csv || trace))
		return ms_err_set(err,
				  "cannot write to '-': standard output is the command's; use "
				  "%s",
				  csv ? "--csv=FILE" : "'fd:N' or a named pipe");
	if (csv && trace)
		return ms_err_set(err, "-o - and --csv cannot both have standard output");
	return 0;
}

int options_check_poll(struct options *o, struct ms_err *err)
{
	struct poll_options *p = &o->poll;
	if (o->pids.n > 1)
		return ms_err_set(err, "--poll takes one process");
	p->pid = o->pids.n ? o->pids.v[0] : 0;
	if (p->pid && o->command[0])
		return ms_err_set(err, "--poll takes -p PID or COMMAND, not both");
	if (!p->pid && !o->command[0])
		return ms_err_set(err, "no process to poll: give COMMAND or -p PID");
	if (!p->pid && p->proc_root)
		return ms_err_set(err, "--proc-root needs -p: a command that is run is in /proc");
	if (!o->interval_asked)
		o->interval_ns = UINT64_C(1000000000);
	return check_given(o, err) || check_output(o, err) ? -1 : 0;
}

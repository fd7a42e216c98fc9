/* SPDX-License-Identifier: MIT
 * Reads the values of ms-record's options and checks their combinations.
 */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/units.h"

#define PIDS_MAX 256u

int options_follow(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct follow *f = arg->to;
	const char *s = arg->text;
	static const char *const names[] = {[FOLLOW_ALL] = "all",
					    [FOLLOW_NONE] = "none",
					    [FOLLOW_FORK] = "fork",
					    [FOLLOW_EXEC] = "exec"};
	for (f->which = FOLLOW_ALL; f->which <= FOLLOW_EXEC; f->which++)
		if (!strcmp(s, names[f->which]))
			return 0;
	/* `s` without pattern characters is more likely a typing error than a program's name. */
	if (!*s || strchr(s, '/') || strstr(s, ",,") || *s == ',' || s[strlen(s) - 1] == ',' ||
	    !strpbrk(s, "*?[,"))
		return ms_err_set(err,
				  "bad --follow '%s': use all, none, fork, exec, or names of "
				  "programs as patterns ('cc1*,ld')",
				  s);
	f->which = FOLLOW_NAMED;
	f->names = s;
	return 0;
}

int options_drop(const struct ms_cli_arg *arg, struct ms_err *err)
{
	(void)err;
	*(uint64_t *)arg->to = 0;
	return 0;
}

int options_wait(const struct ms_cli_arg *arg, struct ms_err *err)
{
	*(bool *)arg->to = true;
	return strcmp(arg->text, "all") == 0 ? 0
					     : ms_err_set(err,
							  "bad --wait '%s': use all; without "
							  "--wait, only COMMAND is waited for",
							  arg->text);
}

int options_leak_check(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct scan_options *o = arg->to;
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
		o->wish = wishes[i].wish;
		o->ns = wishes[i].ns;
		if (!s[n])
			return 0;
		if (o->wish == SCAN_NO || ms_parse_duration(s + n + 1, &o->ns, err))
			break;
		return o->ns >= 10000000 && o->ns <= UINT64_C(3600000000000)
			       ? 0
			       : ms_err_set(err, "bad --leak-check '%s': DUR must be 10ms to 1h",
					    s);
	}
	return ms_err_set(
		err,
		"bad --leak-check '%s': use auto, yes or no, auto:DUR or yes:DUR, or mark:NAME", s);
}

int options_leak_mark(const struct ms_cli_arg *arg, struct ms_err *err)
{
	*(const char **)arg->to = arg->text;
	return arg->text[0] && strlen(arg->text) <= 255
		       ? 0
		       : ms_err_set(err,
				    "bad --leak-check 'mark:%s': a name of at most 255 bytes is "
				    "needed",
				    arg->text);
}

int options_leak_align(const struct ms_cli_arg *arg, struct ms_err *err)
{
	const char *s = arg->text;
	*(unsigned *)arg->to = (unsigned)(*s - '0');
	return *s && !s[1] && strchr("148", *s)
		       ? 0
		       : ms_err_set(err, "bad --leak-check 'align:%s': 1, 4 or 8 is needed", s);
}

int options_leak_mask(const struct ms_cli_arg *arg, struct ms_err *err)
{
	/* Refuses a mask with any of these bits, which differ between addresses: users often pass the
	 * bits to keep instead of those to clear. */
	const uint64_t address = (UINT64_C(1) << 47) - (1 << 16);
	const char *s = arg->text;
	uint64_t *mask = arg->to;
	char *end = NULL;
	errno = 0;
	*mask = isdigit((unsigned char)*s) ? strtoull(s, &end, 0) : 0;
	if (!end || *end || errno)
		return ms_err_set(err,
				  "bad --leak-check 'mask:%s': a number is needed, such as "
				  "0xff00000000000000",
				  s);
	return *mask & address
		       ? ms_err_set(err,
				    "bad --leak-check 'mask:%s': bits 16 to 46 are needed for "
				    "addresses; name the bits of the tag, such as "
				    "0xff00000000000000",
				    s)
		       : 0;
}

int options_start(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct control_options *o = arg->to;
	const char *s = arg->text;
	o->start_after_ns = 0;
	o->session.start_mark = NULL;
	if (strncmp(s, "mark:", 5)) {
		if (ms_parse_duration(s, &o->start_after_ns, err))
			return -1;
		return o->start_after_ns
			       ? 0
			       : ms_err_set(err, "bad --start-after '%s': it must be more than 0",
					    s);
	}
	o->session.start_mark = s + 5;
	if (!s[5] || strlen(s + 5) > 255)
		return ms_err_set(
			err, "bad --start-after '%s': a name of at most 255 bytes is needed", s);
	return 0;
}

int options_env(const struct ms_cli_arg *arg, struct ms_err *err)
{
	const char *s = arg->text;
	const char *eq = strchr(s, '=');
	if (!eq || eq == s)
		return ms_err_set(err, "bad --env '%s': NAME=VALUE is needed", s);
	*MS_PUSH((struct ms_cli_list *)arg->to) = s;
	return 0;
}

int options_hook(const struct ms_cli_arg *arg, struct ms_err *err)
{
	return hooks_add(arg->to, arg->text, err);
}

static int add_pid(struct control_options *o, const char *text, struct ms_err *err)
{
	uint64_t n;
	if (ms_parse_count(text, "--pid", 1, INT32_MAX, &n, err))
		return -1;
	for (size_t i = 0; i < o->pids.n; i++)
		if (o->pids.v[i] == (pid_t)n)
			return ms_err_set(err, "bad --pid '%s': it is given twice", text);
	if (o->pids.n == PIDS_MAX)
		return ms_err_set(err, "bad --pid '%s': at most %u processes at a time", text,
				  PIDS_MAX);
	*MS_PUSH(&o->pids) = (pid_t)n;
	return 0;
}

int options_pid(const struct ms_cli_arg *arg, struct ms_err *err)
{
	for (const char *p = arg->text;; p++) {
		char one[32];
		size_t n = strcspn(p, ",");
		snprintf(one, sizeof one, "%.*s", (int)n, p);
		if (n >= sizeof one || !n)
			return ms_err_set(err, "bad --pid '%s': a number is needed", arg->text);
		if (add_pid(arg->to, one, err))
			return -1;
		p += n;
		if (!*p)
			return 0;
	}
}

int options_keep(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct files_options *o = arg->to;
	const char *s = arg->text;
	o->keep_live = true;
	o->keep_last_ns = 0;
	if (!strcmp(s, "live"))
		return 0;
	if (strncmp(s, "last:", 5) != 0)
		return ms_err_set(err, "bad --keep '%s': use live or last:DURATION", s);
	if (ms_parse_duration(s + 5, &o->keep_last_ns, err))
		return -1;
	return o->keep_last_ns ? 0 : ms_err_set(err, "bad --keep '%s': it must be more than 0", s);
}

int options_check_keep(const struct files_options *o, struct ms_err *err)
{
	if (o->keep_last_ns && o->max_bytes)
		return ms_err_set(err, "--keep=last cannot be combined with --max-size");
	if (o->keep_live && !o->keep_last_ns && !o->max_bytes)
		return ms_err_set(err, "--keep=live needs --max-size");
	return 0;
}

/* ---- --when ---- */

int options_when(const struct ms_cli_arg *arg, struct ms_err *err)
{
	return triggers_add(arg->to, arg->text, err);
}

/* Refuses scans when nothing is scanned while the command runs. */
static int check_scans(const struct control_options *r, struct ms_err *err)
{
	const struct triggers *t = &r->triggers;
	const char *leaks = triggers_action(t, TRIGGER_SCAN, ~0u),
		   *resident = triggers_action(t, TRIGGER_RESIDENT, ~0u),
		   *what = leaks ? leaks : resident;
	bool off = r->scan.wish == SCAN_NO && (leaks || !r->session.resident);
	const char *why = !what                      ? NULL
			  : r->session.sample_bytes  ? "--sample: it needs all blocks"
			  : off                      ? "--leak-check=no: nothing is scanned"
			  : r->scan.wish == SCAN_YES ? "--leak-check=yes: that runs the command "
						       "under ptrace, where it cannot be "
						       "scanned while it runs"
						     : NULL;
	if (!why && r->scan.retention == SCAN_NO) {
		what = triggers_action(t, TRIGGER_RETENTION, ~0u);
		why = what ? "--retention=no" : NULL;
	}
	return why ? ms_err_set(err, "--when: '%s' cannot be combined with %s", what, why) : 0;
}

int options_check_when(const struct control_options *r, struct ms_err *err)
{
	const struct triggers *t = &r->triggers;
	const char *to = r->files.output;
	unsigned merged = 1u << TRIGGER_LIVE | 1u << TRIGGER_FAILED;
	if (triggers_action(t, TRIGGER_START, ~0u) && (r->start_after_ns || r->session.start_mark))
		return ms_err_set(err, "--when: 'start' cannot be combined with --start-after");
	if (triggers_action(t, TRIGGER_START, merged))
		return ms_err_set(err, "--when: 'start' cannot depend on 'live' or 'failed', which "
				       "are not known before recording begins");
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].command && strstr(t->v[i].typed, "{trace}") && to &&
		    (!strncmp(to, "fd:", 3) || !strcmp(to, "-")))
			return ms_err_set(
				err, "--when: {trace} has no value with -o %s, which names no file",
				to);
	return check_scans(r, err);
}

/* ---- --poll ---- */

static int bad_rate(const struct ms_cli_arg *arg, struct ms_err *err)
{
	return ms_err_set(err, "bad --%s '%s': use 1M/s, 100k/m, 5M/10m", arg->row->name,
			  arg->text);
}

int options_rate(const struct ms_cli_arg *arg, struct ms_err *err)
{
	const char *s = arg->text;
	const char *slash = strchr(s, '/');
	char size[64], time[64];
	uint64_t bytes, ns;
	struct ms_err why = {0};
	if (!slash || (size_t)(slash - s) >= sizeof size || strlen(slash + 1) >= sizeof time - 1)
		return bad_rate(arg, err);
	snprintf(size, sizeof size, "%.*s", (int)(slash - s), s);
	bool bare = slash[1] && !strchr("0123456789.", slash[1]);
	snprintf(time, sizeof time, "%s%s", bare ? "1" : "", slash + 1);
	size_t n = strlen(time);
	if (n > 3 && strcmp(time + n - 3, "min") == 0)
		time[n - 2] = '\0';
	if (ms_parse_size(size, &bytes, &why) || ms_parse_duration(time, &ns, &why) || !ns)
		return bad_rate(arg, err);
	*(double *)arg->to = (double)bytes / ((double)ns / 1e9);
	return 0;
}

int options_fail_on(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct poll_options *o = arg->to;
	const char *s = arg->text, *sign = s + strcspn(s, " >");
	bool heap = strncmp(s, "heap", 4) == 0 && sign == s + 4,
	     growth = strncmp(s, "growth", 6) == 0 && sign == s + 6;
	sign += strspn(sign, " ");
	if ((!heap && !growth) || *sign != '>')
		return ms_err_set(
			err, "bad --fail-on '%s': expected 'heap > SIZE' or 'growth > RATE'", s);
	const struct ms_cli_option row = {.name = arg->row->name,
					  .argument = heap ? "SIZE" : "RATE",
					  .size = sizeof o->max_heap,
					  .least = ""};
	struct ms_cli_arg number = {&row, heap ? (void *)&o->max_heap : &o->max_growth,
				    sign + 1 + strspn(sign + 1, " ")};
	return heap ? ms_cli_size(&number, err) : options_rate(&number, err);
}

/* Refuses options on how to record allocations, and other options without effect. */
static int check_given(const struct options *o, struct ms_err *err)
{
	const char *name = ms_cli_other(&o->cli, "output duration interval pid level quiet env "
						 "without=args poll proc-root fail-on");
	if (name)
		return ms_err_set(
			err, "--%s cannot be combined with --poll, which records no allocations",
			name);
	if (ms_cli_given(&o->cli, "level") && !o->record.files.output)
		return ms_err_set(err, "--level is for the trace: --poll needs -o FILE then");
	if (o->poll.pid && o->record.launch.env.n)
		return ms_err_set(
			err, "--env cannot be combined with -p: the process is already running");
	return 0;
}

static int check_output(const struct options *o, struct ms_err *err)
{
	const struct poll_options *p = &o->poll;
	const char *output = o->record.files.output;
	bool csv = p->csv && !strcmp(p->csv, "-"), trace = output && !strcmp(output, "-");
	if (!p->pid && (csv || trace))
		return ms_err_set(err,
				  "cannot write to '-': standard output is the command's; use "
				  "%s",
				  csv ? "--poll=csv:FILE" : "'fd:N' or a named pipe");
	if (p->metrics && !strcmp(p->metrics, "-"))
		return ms_err_set(
			err, "--poll=openmetrics needs a regular file: each sample replaces it");
	if (csv && trace)
		return ms_err_set(err, "-o - and --poll=csv cannot both use standard output");
	return 0;
}

int options_check_poll(struct options *o, struct ms_err *err)
{
	struct poll_options *p = &o->poll;
	struct control_options *r = &o->record;
	if (r->pids.n > 1)
		return ms_err_set(err, "--poll takes one process");
	p->pid = r->pids.n ? r->pids.v[0] : 0;
	if (p->pid && r->launch.command[0])
		return ms_err_set(err, "--poll takes -p PID or COMMAND, not both");
	if (!p->pid && !r->launch.command[0])
		return ms_err_set(err, "no process to poll: give COMMAND or -p PID");
	if (!p->pid && r->proc_root)
		return ms_err_set(err, "--proc-root needs -p: COMMAND is always in /proc");
	if (!r->interval_asked)
		r->interval_ns = UINT64_C(1000000000);
	return check_given(o, err) || check_output(o, err) ? -1 : 0;
}

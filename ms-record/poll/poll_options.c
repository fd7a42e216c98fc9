/* SPDX-License-Identifier: MIT
 * The options of --poll.
 */
#include "ms-record/session/poll_options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "libcommon/base/err.h"
#include "libcommon/base/units.h"
#include "ms-record/session/options.h"

const char poll_options_help[] =
	"\n"
	"Without recording allocations, for any process that /proc shows:\n"
	"      --poll             sample /proc of COMMAND, or of -p PID, and say at the end "
	"whether "
	"its\n"
	"                         heap grows; -i (default 1s), -d, -o and -q as above\n"
	"      --csv[=FILE]       a line for each sample, to standard output or FILE\n"
	"      --max-heap SIZE    end with status 1 as soon as the heap is larger\n"
	"      --warn-rate RATE   warn of growth of at least RATE only, such as 1M/m\n"
	"      --proc-root DIR    read DIR instead of /proc\n";

int poll_rate(const char *s, double *rate, struct ms_err *err)
{
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
	*rate = (double)bytes / ((double)ns / 1e9);
	return 0;
}

int poll_option(struct poll_options *p, int c, const char *arg, struct ms_err *err)
{
	switch (c) {
	case OPT_POLL:
		p->on = true;
		return 0;
	case OPT_POLL_CSV:
		p->csv = arg ? arg : "-";
		return *p->csv ? 0 : ms_err_set(err, "bad --csv '': a name is needed");
	case OPT_POLL_PROC_ROOT:
		p->proc_root = arg;
		return *arg ? 0 : ms_err_set(err, "bad --proc-root '': a folder is needed");
	case OPT_POLL_MAX_HEAP:
		if (ms_parse_size(arg, &p->max_heap, err))
			return -1;
		return p->max_heap ? 0 : ms_err_set(err, "bad --max-heap '%s': too small", arg);
	default:
		return poll_rate(arg, &p->warn_rate, err);
	}
}

static const char *name_of(const struct option *longs, int value)
{
	while (longs->name && longs->val != value)
		longs++;
	return longs->name ? longs->name : "?";
}

/* Options that say how allocations are recorded have nothing to say here. */
static int check_given(const struct options *o, const struct option *longs, const bool *given,
		       struct ms_err *err)
{
	for (int c = 1; c < OPT_POLL; c++)
		if (given[c] && (c >= 256 || !strchr("odipzqv", c)) &&
		    strcmp(name_of(longs, c), "env") && strcmp(name_of(longs, c), "no-args"))
			return ms_err_set(err, "--%s does not go with --poll: it records nothing",
					  name_of(longs, c));
	if (given['z'] && !o->output)
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

int poll_options_check(struct options *o, const struct option *longs, const bool *given,
		       struct ms_err *err)
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
	if (!given['i'])
		o->interval_ns = UINT64_C(1000000000);
	return check_given(o, longs, given, err) || check_output(o, err) ? -1 : 0;
}

/* SPDX-License-Identifier: MIT
 * Reads the command line of ms-record.
 */
#include "options.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "format/trace.h"
#include "libcommon/base/err.h"
#include "libcommon/base/units.h"
#include "ms-record/control/standby.h"
#include "ms-record/control/tell.h"

static const struct ms_cli_option rows[] = {
	{.help = "What is recorded, and when"},
	{"output", 'o', "FILE", ms_cli_name, MS_AT(record.files.output), 1,
	 "trace to write, by default EXE.PID.trace; %p pid, %e executable, %t start time; fd:N an "
	 "open descriptor"},
	{"pid", 'p', "PID[,PID...]", options_pid, MS_AT(record), 2,
	 "attach to these processes; until they end, a signal arrives or -d is over"},
	{"duration", 'd', "DUR", ms_cli_duration, MS_AT(record.duration_ns), 3,
	 "stop recording after DUR; COMMAND continues"},
	{"max-size", 0, "SIZE", ms_cli_size, MS_RANGE(record.files.max_bytes, "1M", NULL), 5,
	 "stop recording when all traces together reach SIZE"},
	{"keep", 0, "live|last:DUR", options_keep, MS_AT(record.files), 6,
	 "keep only part of the recording; live: at --max-size, drop blocks already freed and "
	 "continue; last:DUR: keep "
	 "the events of the last DUR, and what was live before"},
	{"start-after", 0, "DUR|mark:NAME", options_start, MS_AT(record), 0,
	 "start recording after DUR, or at mark NAME"},
	{"sample", 's', "BYTES", ms_cli_size, MS_RANGE(record.session.sample_bytes, NULL, "1T"), 7,
	 "record one sample per BYTES bytes on average; 0 = every allocation (default)"},
	{"sample=seed", 0, "N", ms_cli_count, MS_AT(record.session.sample_seed), 0,
	 "random seed (default 0 = a new one each time)"},
	{"follow", 0, "all|fork|exec|none|NAMES", options_follow, MS_AT(record.follow), 8,
	 "which further processes to record; all: even those with few allocations; fork: children "
	 "that do not exec; exec: programs that are run; none; or names: 'cc1*,ld'"},
	{"wait", 0, "all", options_wait, MS_AT(record.wait_all), 0,
	 "keep recording after COMMAND until every process that it started has ended, as for "
	 "daemons; a signal stops it"},
	{"depth", 0, "N", ms_cli_count, MS_RANGE(record.session.depth, "2", "1000000"), 0,
	 "longest stack kept whole (default 512); deeper ones lose their middle"},
	{"mmap", 0, NULL, ms_cli_flag, MS_AT(record.session.mapped), 0,
	 "also record mmap, munmap, mremap, brk and sbrk, separately from the heap"},
	{"resident", 0, NULL, ms_cli_flag, MS_AT(record.session.resident), 0,
	 "record what uses each resident page, at the end and at each leak scan"},
	{"with", 0, "WHAT", NULL, MS_WHOLE(0), 0, "record more"},
	{"with=usable-size", 0, NULL, ms_cli_flag, MS_AT(record.session.usable_size), 0,
	 "the usable size of each block (malloc_usable_size)"},
	{"with=free-stacks", 0, NULL, ms_cli_flag, MS_AT(record.session.free_stacks), 0,
	 "the call stacks of frees"},
	{"with=label-thread-names", 0, NULL, ms_cli_flag, MS_AT(record.session.label_names), 0,
	 "the name of each thread as a label of what it allocates"},
	{"with=addresses", 0, NULL, ms_cli_flag, MS_AT(record.session.addresses), 0,
	 "the addresses of blocks"},
	{"with=verify", 0, NULL, ms_cli_flag, MS_AT(record.session.verify), 0,
	 "check every call stack with a second unwinder (slow)"},
	{"without", 0, "WHAT", NULL, MS_WHOLE(0), 0, "record less"},
	{"without=symbols", 0, NULL, ms_cli_flag, MS_AT(record.no_symbols), 0,
	 "append no symbols to the trace"},
	{"without=cache", 0, NULL, ms_cli_flag, MS_AT(record.no_cache), 0,
	 "look symbols up again; keep none in ~/.cache/memscope"},
	{"without=args", 0, NULL, ms_cli_flag, MS_AT(record.session.no_args), 0,
	 "leave the command line and environment out of the trace"},
	{"without=interpreter", 0, NULL, ms_cli_flag, MS_AT(record.session.no_interpreter), 0,
	 "leave out the frames of Python functions"},
	{"without=addresses", 0, NULL, ms_cli_flag, MS_AT(no_addresses), 0,
	 "the addresses of blocks (default)"},
	{"hook", 0, "SPEC", options_hook, MS_AT(record.session.hooks), 0,
	 "record a custom allocator's function too: 'f(_, size) -> ptr', 'g(ptr)'"},
	{"leak-check", 0, "auto[:DUR]|yes[:DUR]|no", options_leak_check, MS_AT(record.scan), 9,
	 "find leaks at the end; leaks are live blocks that nothing points to; DUR limits the "
	 "search; auto (default, 2s): if COMMAND exits normally; yes (1m): even if it is killed"},
	{"leak-check=mark", 0, "NAME", options_leak_mark, MS_AT(record.session.leak_mark), 0,
	 "also find leaks at each mark NAME"},
	{"leak-check=align", 0, "1|4|8", options_leak_align, MS_AT(record.scan.align), 0,
	 "look for pointers at multiples of this many bytes (default 8); less for packed structs"},
	{"leak-check=mask", 0, "MASK", options_leak_mask, MS_AT(record.scan.cleared), 0,
	 "clear these bits of a word before it is used as an address; for tagged pointers"},
	{"retention", 0, "[auto|yes|no]yes", ms_cli_choice, MS_AT(record.scan.retention), 0,
	 "in leak scans, also find what keeps blocks reachable: variables, stack frames; auto (as "
	 "without this option): in scans by --tell, at marks and by --retention-at; yes: also at "
	 "the end"},
	{"retention=memory", 0, "SIZE", ms_cli_size,
	 MS_RANGE(record.scan.retention_bytes, "1M", NULL), 0,
	 "memory that the search may use (default: an eighth of what is free)"},
	{"retention-at", 0, "WHAT", NULL, MS_WHOLE(0), 0,
	 "scan for leaks, and for what keeps blocks, while COMMAND runs"},
	{"retention-at=live", 0, "SIZE", ms_cli_size, MS_RANGE(moments.live, "", NULL), 0,
	 "once SIZE is live"},
	{"retention-at=rss", 0, "SIZE", ms_cli_size, MS_RANGE(moments.rss, "", NULL), 0,
	 "once SIZE is resident"},
	{"retention-at=every", 0, "DUR", ms_cli_duration, MS_RANGE(moments.every_ns, "1s", NULL), 0,
	 "every DUR, 1s or more"},
	{"retention-at=exit", 0, NULL, ms_cli_flag, MS_AT(record.session.hooks.exit), 0,
	 "when COMMAND calls exit() or returns from main, before handlers and destructors run"},
	{"when", 0, "'CONDITION: ACTION'", options_when, MS_AT(record.triggers), 0,
	 "do ACTION when CONDITION becomes true, such as 'rss > 2GiB: retention'; CONDITION: rss > "
	 "SIZE, live > SIZE, live grows SIZE in DUR, cgroup > N%, failed, every DUR; ACTION: "
	 "mark:NAME, leak-check, retention, resident, start, stop, checkpoint, exec:COMMAND"},
	{.help = "What is written"},
	{"level", 'z', "N", ms_cli_count, MS_RANGE(record.files.level, "1", "19"), 0,
	 "zstd compression level, 1 to 19 (default 3)"},
	{.help = "How it is recorded"},
	{"env", 0, "NAME=VALUE", options_env, MS_AT(record.launch.env), 0,
	 "set a variable for COMMAND; may be repeated"},
	{"interval", 'i', "DUR", ms_cli_duration, MS_RANGE(record.interval_ns, "1ms", NULL), 0,
	 "time between samples of /proc (default 100ms)"},
	{"buffer", 0, "SIZE", ms_cli_size, MS_RANGE(record.session.buffer_bytes, "1M", NULL), 0,
	 "limit of shared memory for event buffers (default 64M)"},
	{"buffer=wait", 0, "[DUR]2s", ms_cli_duration, MS_RANGE(record.session.wait_ns, "", NULL),
	 0, "a thread whose buffer is full waits up to DUR, then loses events (default wait:2s)"},
	{"buffer=drop", 0, NULL, options_drop, MS_AT(record.session.wait_ns), 0,
	 "a thread whose buffer is full does not wait: it loses events"},
	{.help = "Instead of recording"},
	{"doctor", 0, NULL, ms_cli_flag, MS_AT(doctor), 12,
	 "say what would work here, what would not, and why; for -p PID or COMMAND"},
	{"standby", 0, NULL, ms_cli_flag, MS_AT(standby), 0,
	 "run COMMAND so that ms-record -p can record it later, without ptrace"},
	{"tell", 0, "FILE VERB", ms_cli_name, MS_AT(tell), 11,
	 "send a command to the ms-record that writes FILE; VERB: mark:NAME, flush, leak-check, "
	 "retention, resident[:NAME], pause, resume, stop or status"},
	{.help = "From a core dump, without running anything"},
	{"core", 0, "CORE", ms_cli_name, MS_AT(dump.core), 0,
	 "write the trace of a core dump: blocks of glibc's heap, what leaks, what keeps the "
	 "others; "
	 "EXE behind it: where the program's file is now"},
	{"trace", 0, "FILE", ms_cli_name, MS_AT(dump.trace), 0,
	 "trace of the same run, recorded with --with=addresses: it has the call stacks"},
	{.help = "Sampling /proc only, without recording allocations"},
	{"poll", 0, "[WHAT]", ms_cli_flag, MS_AT(poll.on), 10,
	 "sample /proc of COMMAND, or of -p PID; say at the end whether its heap grows; -i "
	 "(default 1s), -d, -o and -q apply, too"},
	{"poll=csv", 0, "[FILE]-", ms_cli_name, MS_AT(poll.csv), 0,
	 "write one CSV line per sample, to standard output or FILE"},
	{"poll=growth", 0, "RATE", options_rate, MS_AT(poll.warn_rate), 0,
	 "warn only if the heap grows by RATE or more, such as 1M/m"},
	{"poll=openmetrics", 0, "FILE", ms_cli_name, MS_AT(poll.metrics), 0,
	 "keep the latest figures in FILE, for Prometheus"},
	{"proc-root", 0, "FOLDER", ms_cli_name, MS_AT(record.proc_root), 0,
	 "read FOLDER instead of /proc"},
	{.help = "General"},
	{"report", 0, NULL, ms_cli_flag, MS_AT(report), 4,
	 "print the report at the end; ms-report's first screen of the trace, on standard error"},
	{"fail-on", 0, "'FIGURE > N'", options_fail_on, MS_AT(poll), 0,
	 "exit with status 1 if true; 'growth > RATE', such as 1MiB/min: judged at the end, also "
	 "with --poll; 'heap > SIZE': only with --poll, as soon as the heap is larger"},
	{"quiet", 'q', NULL, ms_cli_flag, MS_AT(quiet), 0, "say nothing"},
	{"verbose", 'v', NULL, ms_cli_flag, MS_AT(record.verbose), 0,
	 "print a longer summary at the end"},
	{0},
};

static const struct ms_cli_old olds[] = {
	{"seed", "sample=seed", NULL},
	{"usable-size", "with=usable-size", NULL},
	{"free-stacks", "with=free-stacks", NULL},
	{"addresses", "with=addresses", NULL},
	{"verify", "with=verify", NULL},
	{"no-symbols", "without=symbols", NULL},
	{"no-cache", "without=cache", NULL},
	{"no-args", "without=args", NULL},
	{"no-interpreter", "without=interpreter", NULL},
	{"no-addresses", "without=addresses", NULL},
	{"leak-check-at", "leak-check", ""},
	{"leak-align", "leak-check=align", NULL},
	{"leak-mask", "leak-check=mask", NULL},
	{"overflow", "buffer", ""},
	{"csv", "poll=csv", NULL},
	{"warn-rate", "poll=growth", NULL},
	{"openmetrics", "poll=openmetrics", NULL},
	{"max-heap", "fail-on", "heap > "},
	{"max-growth", "fail-on", "growth > "},
	{0},
};

static const struct ms_cli_tool tool = {
	"ms-record",
	"ms-record [-o FILE] [options] [--] COMMAND [ARG...]\n"
	"       ms-record [-o FILE] [options] -p PID[,PID...]\n",
	"Record every allocation of COMMAND, or of a running process, with its call stack, into a "
	"trace. Sizes take k, M, G; durations ms, s, m, h.",
	"  ms-record -o run.trace ./app\n"
	"  ms-record -d 10s -o live.trace -p $(pgrep -nx app)\n"
	"  ms-record --max-size 20M --keep=live -o days.trace ./app\n",
	rows,
	olds,
	.command = true};

static int read_tell(struct options *o, int n, char **v, struct ms_err *err)
{
	enum tell_verb verb;
	const char *name, *other = ms_cli_other(&o->cli, "tell quiet verbose");
	if (other)
		return ms_err_set(
			err, "--tell sends a request to a recorder, and --%s does nothing for it",
			other);
	if (n < 1)
		return ms_err_set(err, "--tell %s: a verb is needed: " TELL_VERBS, o->tell);
	if (n > 1)
		return ms_err_set(err, "--tell takes one verb, not also '%s'", v[1]);
	o->tell_verb = v[0];
	return tell_parse(v[0], &verb, &name, err);
}

/* Refuses scans at moments when nothing is scanned then. */
static int check_moments(const struct options *o, struct ms_err *err)
{
	const struct control_options *r = &o->record;
	bool at = o->moments.live || o->moments.rss || o->moments.every_ns || r->session.hooks.exit;
	const char *what = r->session.leak_mark ? "leak-check=mark" : "retention-at";
	if (!r->session.leak_mark && !at)
		return 0;
	if (r->scan.wish != SCAN_AUTO)
		return ms_err_set(
			err, "--%s cannot be combined with --leak-check=%s", what,
			r->scan.wish == SCAN_NO ? "no: nothing is scanned"
			: r->session.leak_mark
				? "yes: that runs the command under ptrace, where it cannot be "
				  "scanned at a mark"
				: "yes: that runs the command under ptrace, where it cannot be "
				  "scanned while it runs");
	if (r->session.sample_bytes)
		return ms_err_set(err, "--%s cannot be combined with --sample", what);
	return at && r->scan.retention == SCAN_NO
		       ? ms_err_set(err, "--retention-at cannot be combined with --retention=no")
		       : 0;
}

/* Refuses --leak-check and --retention options that have no effect because there is no scan, or no
 * scan at these moments. */
static int check_leak(const struct options *o, struct ms_err *err)
{
	const struct control_options *r = &o->record;
	static const char *const how[] = {"leak-check=align", "leak-check=mask", "retention"};
	for (size_t i = 0; i < sizeof how / sizeof *how; i++)
		if (!ms_cli_given(&o->cli, how[i]) ||
		    (!strcmp(how[i], "retention") && r->scan.retention == SCAN_NO))
			continue;
		else if (r->scan.wish == SCAN_NO)
			return ms_err_set(
				err, "--%s needs a scan: with --leak-check=no nothing is scanned",
				how[i]);
		else if (r->session.sample_bytes)
			return ms_err_set(err,
					  "--%s cannot be combined with --sample: it needs all "
					  "blocks",
					  how[i]);
	return check_moments(o, err) || options_check_when(r, err) ? -1 : 0;
}

/* Refuses --sample with an option that needs all blocks, and a sampling seed without --sample. */
static int check_sample(const struct options *o, struct ms_err *err)
{
	const struct control_options *r = &o->record;
	const char *whole = r->session.resident        ? "--resident"
			    : r->scan.wish == SCAN_YES ? "--leak-check=yes"
						       : NULL;
	if (!r->session.sample_bytes && ms_cli_given(&o->cli, "sample=seed"))
		return ms_err_set(err, "--sample=seed needs BYTES: --sample=BYTES,seed:N");
	return whole && r->session.sample_bytes
		       ? ms_err_set(err, "%s cannot be combined with --sample: it needs all blocks",
				    whole)
		       : 0;
}

/* Chooses a random seed if none was given; the trace records it. */
static void choose_seed(struct session_options *s)
{
	while (s->sample_bytes && !s->sample_seed)
		if (getrandom(&s->sample_seed, sizeof s->sample_seed, 0) < 0)
			s->sample_seed = (uint64_t)getpid();
}

/* Checks the options for attaching to a running process: refuses options without effect. */
static int read_attached(struct options *o, const char *command, struct ms_err *err)
{
	struct control_options *r = &o->record;
	static const char *const refused[][2] = {
		{"env", "the process is already running"},
		{"buffer=wait", "an attached process never waits"},
		{"buffer=drop", "an attached process never waits"},
		{"mmap", "it needs a library that is preloaded when the program starts"},
		{"with=usable-size",
		 "it needs a library that is preloaded when the program starts"},
		{"wait", "an attached process is always recorded until it ends"}};
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (ms_cli_given(&o->cli, refused[i][0]))
			return ms_err_set(err, "--%s cannot be combined with -p: %s", refused[i][0],
					  refused[i][1]);
	if (ms_cli_given(&o->cli, "leak-check") && r->scan.wish != SCAN_AUTO)
		return ms_err_set(err, "with -p, --leak-check takes auto:DUR or mark:NAME: an "
				       "attached process is not scanned at its end");
	if (r->follow.which == FOLLOW_EXEC)
		return ms_err_set(err, "--follow=exec cannot be combined with -p: programs that an "
				       "attached process runs are not recorded");
	if (r->session.start_mark)
		return ms_err_set(err, "--start-after mark:NAME cannot be combined with -p: use "
				       "--start-after DUR");
	if (command)
		return ms_err_set(err,
				  "-p records a process that is already running; '%s' is not run",
				  command);
	if (options_check_keep(&r->files, err) || check_leak(o, err) || check_sample(o, err))
		return -1;
	if (r->files.output && !strcmp(r->files.output, "-"))
		r->files.output = "fd:1";
	choose_seed(&r->session);
	return 0;
}

static int read_doctor(struct options *o, struct ms_err *err)
{
	const char *name = ms_cli_other(&o->cli, "doctor pid output buffer proc-root");
	if (name)
		return ms_err_set(err, "--doctor does not take --%s", name);
	return o->record.pids.n && o->record.launch.command[0]
		       ? ms_err_set(err, "--doctor takes -p PID or COMMAND, not both")
		       : 0;
}

/* Checks the options of --standby. Nothing is recorded yet, so it refuses options on how to
 * record. */
static int read_standby(const struct options *o, int n, struct ms_err *err)
{
	const char *name = ms_cli_other(&o->cli, "standby env hook quiet");
	bool never = name && (!strcmp(name, "sample") || !strcmp(name, "with=free-stacks") ||
			      !strcmp(name, "with=verify"));
	if (name)
		return ms_err_set(err,
				  never ? "--standby cannot be combined with --%s"
					: "--standby: --%s is for the ms-record -p that records "
					  "the command later",
				  name);
	const struct hooks *hooks = &o->record.session.hooks;
	size_t bytes = 1;
	for (size_t i = 0; i < hooks->n; i++)
		bytes += strlen(hooks->v[i].text) + 1;
	if (bytes > STANDBY_HOOKS_BYTES)
		return ms_err_set(err, "--standby: all --hook together are longer than %u bytes",
				  STANDBY_HOOKS_BYTES);
	return n ? 0 : ms_err_set(err, "no command to run; try 'ms-record -h'");
}

/* Checks the options of --core: only what a scan does is asked for. */
static int read_core(struct options *o, int n, char **v, struct ms_err *err)
{
	const char *other =
		ms_cli_other(&o->cli, "core trace output quiet verbose leak-check=align "
				      "leak-check=mask retention=memory without=args");
	if (other)
		return ms_err_set(err, "--%s cannot be combined with --core: nothing runs", other);
	if (n > 1)
		return ms_err_set(err, "--core takes one program, not also '%s'", v[1]);
	o->dump.exe = n ? v[0] : NULL;
	if (o->record.files.output && !strcmp(o->record.files.output, "-"))
		o->record.files.output = "fd:1";
	return 0;
}

/* Refuses -d 0, except with -p and --retention, which then attach, scan and leave. */
static int check_duration(struct options *o, struct ms_err *err)
{
	struct control_options *r = &o->record;
	if (!ms_cli_given(&o->cli, "duration") || r->duration_ns)
		return 0;
	if (!r->pids.n || o->poll.on || r->scan.retention != SCAN_YES)
		return ms_err_set(err, "bad --duration '0': must be more than 0");
	r->duration_ns = 1;
	return 0;
}

/* Checks the command line, with the command as the user typed it, for each mode of ms-record. */
static int read_rest(struct options *o, int argc, char **argv, struct ms_err *err)
{
	struct control_options *r = &o->record;
	o->poll.on = ms_cli_given(&o->cli, "poll");
	if (check_duration(o, err))
		return -1;
	if (o->poll.on)
		return options_check_poll(o, err);
	if (o->poll.max_heap)
		return ms_err_set(err, "--fail-on 'heap > SIZE' needs --poll");
	if (o->dump.core)
		return read_core(o, argc - optind, argv + optind, err);
	if (o->dump.trace)
		return ms_err_set(err, "--trace needs --core");
	if (o->doctor)
		return read_doctor(o, err);
	if (o->tell)
		return read_tell(o, argc - optind, argv + optind, err);
	if (o->standby)
		return read_standby(o, argc - optind, err);
	if (r->proc_root && !r->pids.n)
		return ms_err_set(err, "--proc-root needs -p");
	if (r->pids.n)
		return read_attached(o, argc > optind ? argv[optind] : NULL, err);
	if (optind >= argc)
		return ms_err_set(err, "no command to run; try 'ms-record -h'");
	if (options_check_keep(&r->files, err) || check_leak(o, err) || check_sample(o, err))
		return -1;
	choose_seed(&r->session);
	if (r->files.output && !strcmp(r->files.output, "-"))
		return ms_err_set(err, "cannot write to '-': standard output is the command's; use "
				       "'fd:N' or a named pipe");
	return 0;
}

/* Makes a trigger of each of --retention-at. */
static void add_moments(struct options *o)
{
	struct triggers *t = &o->record.triggers;
	char size[MS_UNIT_BUF], label[MS_UNIT_BUF + 8];
	if (o->moments.live) {
		snprintf(label, sizeof label, "live:%s", ms_format_size(size, o->moments.live));
		triggers_add_moment(t, TRIGGER_LEVEL, TRIGGER_LIVE, o->moments.live, label);
	}
	if (o->moments.rss) {
		snprintf(label, sizeof label, "rss:%s", ms_format_size(size, o->moments.rss));
		triggers_add_moment(t, TRIGGER_LEVEL, TRIGGER_RSS, o->moments.rss, label);
	}
	if (o->moments.every_ns) {
		snprintf(label, sizeof label, "every:%llus",
			 (unsigned long long)(o->moments.every_ns / 1000000000));
		triggers_add_moment(t, TRIGGER_EVERY, TRIGGER_TIME, o->moments.every_ns, label);
	}
}

/* Derives options that several modules need in different forms. */
static void derive(struct options *o)
{
	struct control_options *r = &o->record;
	struct session_options *s = &r->session;
	o->poll.quiet = o->quiet;
	r->scan.off = (r->scan.wish == SCAN_NO && !s->resident) || s->sample_bytes;
	r->scan.ns = r->scan.ns ? r->scan.ns : SCAN_AUTO_NS;
	r->files.addresses = s->addresses;
	r->files.no_further = r->follow.which == FOLLOW_NONE || o->poll.on;
	r->launch.needs_library = s->mapped        ? "--mmap"
				  : s->usable_size ? "--with=usable-size"
				  : s->leak_mark   ? "--leak-check=mark"
				  : s->start_mark  ? "--start-after mark:NAME"
						   : NULL;
	s->attached = r->pids.n != 0;
	s->sharers = (uint32_t)r->pids.n;
	s->leak_check = r->scan.wish != SCAN_NO;
	add_moments(o);
	s->begins_later = r->start_after_ns || triggers_action(&r->triggers, TRIGGER_START, ~0u);
	s->judged = triggers_need_merge(&r->triggers);
	s->moment_ms = r->scan.off || r->scan.wish != SCAN_AUTO || r->scan.retention == SCAN_NO
			       ? 0
			       : (uint32_t)(r->scan.ns / 1000000);
	s->end_wait_ms = r->scan.off || s->attached ? 0 : (uint32_t)(r->scan.ns / 1000000);
	s->hooks.exit |= o->standby; /* a recorder may ask for it later */
	s->env = r->launch.env;
	s->recorded = (s->mapped ? MS_OPTION_MMAP : 0) | (s->usable_size ? MS_OPTION_USABLE : 0) |
		      (s->free_stacks ? MS_OPTION_FREE_STACKS : 0) |
		      (r->files.keep_last_ns ? MS_OPTION_KEEP_LAST
		       : r->files.keep_live  ? MS_OPTION_KEEP_LIVE
					     : 0) |
		      (o->poll.on ? MS_OPTION_POLL : 0);
}

int options_read(struct options *o, int argc, char **argv, struct ms_err *err)
{
	*o = (struct options){.poll.max_growth = -1,
			      .record = {.interval_ns = 100000000,
					 .files.level = 3,
					 .scan = {.ns = SCAN_AUTO_NS, .align = 8},
					 .session = {.depth = 512,
						     .wait_ns = SESSION_WAIT_NS,
						     .buffer_bytes = 64u << 20}}};
	if (ms_cli_read(&tool, o, &o->cli, argc, argv, err))
		return -1;
	if (o->cli.asked)
		return 0;
	o->record.launch.command = argv + optind;
	o->record.interval_asked = ms_cli_given(&o->cli, "interval");
	if (read_rest(o, argc, argv, err))
		return -1;
	derive(o);
	return 0;
}

/* Tells whether a file name ends in ".trace", a suffix that only MemScope uses. */
static bool is_trace(const char *s)
{
	size_t n = s ? strlen(s) : 0;
	return n > 6 && strcmp(s + n - 6, ".trace") == 0;
}

const char *options_behind(const struct options *o)
{
	char *const *v = o->record.launch.command;
	if (!v || !v[0] || o->tell || o->dump.core || o->record.pids.n ||
	    ms_cli_given(&o->cli, "output") || strcmp(v[-1], "--") == 0)
		return NULL;
	while (*++v) {
		bool with = strncmp(*v, "--output=", 9) == 0 ||
			    (strncmp(*v, "-o", 2) == 0 && (*v)[2]),
		     alone = strcmp(*v, "-o") == 0 || strcmp(*v, "--output") == 0;
		if (is_trace(with ? *v : alone ? v[1] : NULL))
			return *v;
	}
	return NULL;
}

void options_free(struct options *o)
{
	MS_FREE(o->record.launch.env.v, o->record.pids.v);
	hooks_free(&o->record.session.hooks);
	triggers_free(&o->record.triggers);
}

/* SPDX-License-Identifier: MIT
 * ms-record: runs a command and records every allocation, with its call stack, in a trace.
 *
 * The rooms, in the order in which an allocation passes through them. README.md in this folder
 * describes each file; CONTRIBUTING.md lists which room may use which.
 *
 *   cli/      the command line, --doctor, the summary at the end
 *   control/  the control thread: which processes are recorded, when, and in which files
 *   launch/   starts a command; attach/ hooks a running process, by means of ptrace/
 *   guest/    the code inside that process: hooks, stacks, rings
 *   session/  one process image: its shared memory, threads, losses
 *   code/     the code of that image: modules, stacks, interpreters
 *   drain/    the draining thread: reads and checks rings
 *   heap/     merges all rings into one order; the live blocks
 *   scan/     finds live blocks that nothing points to, and what keeps the others, by means of graph/
 *   write/    the writing thread: encodes events in blocks of a trace
 *   dump/     all of --core
 *   poll/     all of --poll
 *   base/     functions that all rooms need
 */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "ms-record/control/control.h"
#include "ms-record/cli/doctor.h"
#include "ms-record/cli/options.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/mapped_file.h"
#include "libcommon/base/progress.h"
#include "ms-record/dump/dump.h"
#include "ms-record/poll/poll.h"
#include "ms-record/control/standby.h"
#include "ms-record/cli/summary.h"

enum { STATUS_INCOMPLETE = 2, STATUS_OWN_FAILURE = 125, LARGE = 1 << 19 };

/* Ends ms-record as the command ended: with its status, or by its signal, without a core file. */
static int end_as(int status)
{
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	struct rlimit none = {0, 0};
	sigset_t set;
	int sig = WTERMSIG(status);
	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	fflush(NULL);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return 128 + sig;
}

static int record(const struct options *o)
{
	struct control c;
	struct ms_err err = {0};
	ms_progress_start_below(!o->quiet);
	int failed = control_start(&c, &o->record, &err);
	bool some = c.multi_attach.refused.n != 0; /* some processes could not be attached to */
	for (size_t i = 0; i < c.multi_attach.refused.n; i++)
		fprintf(stderr, "ms-record: %s\n", c.multi_attach.refused.v[i].why);
	if (failed) {
		fprintf(stderr, "ms-record: %s\n", err.text);
		int own = c.launch.status;
		control_free(&c);
		return own;
	}
	for (size_t i = 0; i < o->record.session.hooks.n && c.attached && !o->quiet; i++)
		if (!c.hooks.placed[i])
			fprintf(stderr,
				"ms-record: no module has '%s' yet: it will be hooked when a "
				"module that has it is loaded\n",
				o->record.session.hooks.v[i].name);
	control_run(&c);
	if (c.not_run) {
		fprintf(stderr, "ms-record: %s\n",
			c.hooks.refused.text[0] ? c.hooks.refused.text : c.refused.text);
		files_discard(&c.files);
		control_free(&c);
		return STATUS_OWN_FAILURE;
	}
	control_symbols(&c);
	triggers_end(&c);
	tell_over(&c);
	if (o->quiet)
		summary_failures(&c);
	else
		summary_print(&c);
	if (o->report)
		summary_report(&c);
	/* the status of an attached process is not passed on */
	int status = c.attached ? 0 : c.status;
	if (o->poll.max_growth >= 0 && summary_grows(&c, o->poll.max_growth, o->quiet) && !status)
		status = 1 << 8;
	for (size_t i = 0; i < c.images.n && c.attached; i++)
		/* the trace is incomplete */
		some |= c.images.v[i].error || images_lost(&c.images.v[i]);
	if (some)
		status = STATUS_OWN_FAILURE << 8;
	if (!c.abandoned)
		control_free(&c);
	return end_as(status);
}

static int dump(const struct options *o)
{
	struct ms_err err = {0};
	struct dump_options d = o->dump;
	d.quiet = o->quiet;
	int rc = dump_record(&d, &o->record.session, &o->record.scan, &o->record.files, &err);
	if (rc < 0)
		fprintf(stderr, "ms-record: %s\n", err.text);
	return rc < 0 ? STATUS_OWN_FAILURE : rc ? STATUS_INCOMPLETE : 0;
}

static int poll_only(const struct options *o)
{
	struct ms_err err = {0};
	int own = STATUS_OWN_FAILURE, status = poll_run(&o->poll, &o->record, &own, &err);
	if (status >= 0)
		return end_as(status);
	fprintf(stderr, "ms-record: %s\n", err.text);
	return own;
}

static int standby(const struct options *o)
{
	struct ms_err err = {0};
	int own = STATUS_OWN_FAILURE, status = standby_run(&o->record, &own, &err);
	if (status < 0 || (err.text[0] && !o->quiet))
		fprintf(stderr, "ms-record: %s\n", err.text);
	return status >= 0 ? end_as(status) : own;
}

static int tell(const struct options *o)
{
	struct ms_err err = {0};
	int rc = tell_ask(o->tell, o->tell_verb, &err);
	if (rc >= 0)
		return rc;
	fprintf(stderr, "ms-record: %s\n", err.text);
	return STATUS_OWN_FAILURE;
}

static int doctor(const struct options *o)
{
	int status = doctor_run(&o->record, stdout);
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	perror("ms-record: cannot write to standard output");
	return STATUS_OWN_FAILURE;
}

int main(int argc, char **argv)
{
	struct options o;
	struct ms_err err = {0};
	ms_out_of_memory_status = STATUS_OWN_FAILURE;
	/* Large memory that is needed for a moment only, such as a checkpoint's, is returned to
	 * the kernel each time; without a fixed threshold, malloc would keep it from the second
	 * time on. */
	mallopt(M_MMAP_THRESHOLD, LARGE);
	mallopt(M_TRIM_THRESHOLD, 2 * LARGE); /* processes that follow each other use it again */
	ms_mapped_files_survive();
	/* While SIGCHLD is ignored, the exit status of a child cannot be read. */
	bool ignored = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
	if (options_read(&o, argc, argv, &err) || (o.cli.asked && ms_cli_answer(&o.cli, &err))) {
		fprintf(stderr, "ms-record: %s\n", err.text);
		options_free(&o);
		return STATUS_OWN_FAILURE;
	}
	if (o.cli.asked)
		return 0;
	o.record.launch.children_ignored = ignored;
	const char *behind = o.quiet ? NULL : options_behind(&o);
	if (behind)
		fprintf(stderr,
			"ms-record: '%s' after the command is passed to '%s': options of ms-record "
			"go before the command\n",
			behind, o.record.launch.command[0]);
	int status = o.doctor      ? doctor(&o)
		     : o.tell      ? tell(&o)
		     : o.dump.core ? dump(&o)
		     : o.poll.on   ? poll_only(&o)
		     : o.standby   ? standby(&o)
				   : record(&o);
	options_free(&o);
	return status;
}

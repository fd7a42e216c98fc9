/* SPDX-License-Identifier: MIT
 * ms-record: run a command and record every allocation, with its call stack, into a trace.
 *
 * The files, in the order in which data passes through them:
 *   options.c         the command line; options_values.c: what its values mean
 *   poll.c            --poll, all of it: poll_options.c, poll_series.c the samples, poll_say.c
 *                     table and diagnosis, poll_trace.c -o
 *   launch.c          the command found, checked (elffile.c) and started with the guest preloaded
 *   multi_attach.c    -p: each of its processes
 *   attach.c          one of them: attach_plan.c finds what is to be hooked (attach_elf.c,
 *                     attach_maps.c, attach_names.c; patch.c: the jumps in prologues),
 *                     attach_mapping.c maps it, attach_remote.c and attach_rewrite.c replace
 *                     entries, unless another one has its memory, too (attach_sharers.c),
 *                     attach_image.c is what is mapped there, attach_modules.c keeps its modules
 *   hook_spec.c       --hook: what a function does; hook_find.c finds it in a process,
 *                     hook_families.c knows allocators by name; hook_operators.c C++'s operators of
 *                     the program's own; hook_launch.c places hooks in a command before it runs,
 *                     attach_hooks.c with -p, hook_late.c in modules that are opened later
 *                     (hook_write.c)
 *   preexisting.c     the blocks that such a process had already: heapwalk.c walks glibc's heap
 *                     (heapwalk_find.c, heapwalk_cache.c, heapwalk_mapped.c)
 *   inject.c          the same for a command that nothing can be preloaded into, before it runs,
 *                     and for what it becomes and starts; exec_env.c: environments of those that
 *                     can be preloaded
 *   standby.c         --standby: what runs unrecorded until -p wakes it (standby_attach.c)
 *   doctor.c          --doctor: doctor_machine.c what the machine, doctor_target.c what a process
 *                     or command has against it
 *   files.c           names of traces, FILE~, FILE.d/; images.c: those over; index.c: FILE.d/index
 *   control.c         the control thread: signals, ends, timers; handshake.c: a guest asks for its
 *                     session; fork_children.c: a child forked; pass_file.c: sends an open file
 *   tell.c            --tell, the client; tell_server.c: the recorder's side; drain_requests.c:
 *                     what the draining thread does of it
 *   pause.c           recording that waits for its start or is paused
 *   session.c         one process image; pool.c: its shared memory, and its forked children's;
 *                     info.c: what it is
 *   frames.c          modules without .eh_frame_hdr: the table that it would be; frames_list.c: for
 *                     the guest
 *   samples.c         /proc figures of it
 *   drain.c           the draining thread: rounds over all sessions
 *   ring.c            rings: made ready, read, taken back; parse.c: their records, checked;
 *                     parse_stack.c: the call stacks of these
 *   ranges.c          mappings for the guest: where stacks end
 *   stacks.c          call stacks interned; modules.c, threads.c: what they and events refer to;
 *                     module_file.c: which file a module is of, and whether it was there before
 *   remote.c          stacks that only libunwind can walk
 *   clock.c           stamps to time
 *   scanner.c         which live blocks nothing points to: the threads that find out; scan_watch.c:
 *                     who is about to end
 *   scan.c            one scan: scan_frozen.c makes a copy of the process that does not run,
 *                     scan_regs.c keeps registers, scan_memory.c reads, scan_roots.c knows where
 *                     pointers can be, scan_graph.c follows them; scan_records.c: as records;
 *                     scan_trace.c: the end of a command that is traced
 *   hijack.c          another process: may we? hijack_stop.c: its threads stopped, hijack_sleep.c
 *                     but for those that wait; hijack_call.c: one does system calls for us, with a
 *                     net below (hijack_net.c); hijack_wait.c; hijack_helper.c
 *   merge.c           all rings in one order, to events; live.c: the blocks that are live;
 *                     mapped.c: address space; sampled.c: estimates; heaps.c: pools and heaps of
 *                     the program's own; forks.c: those that a child inherits
 *   batch.c           a span of a trace on its way to
 *   writer.c          the writing thread; encode.c: batches to blocks; checkpoint.c: what is live;
 *                     limit.c, rewrite.c: --max-size and --keep
 *   finish.c          the end block; symbols.c: symbols appended by ms-snap
 *   summary.c         what is printed at the end
 */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ms-record/control/control.h"
#include "ms-record/cli/doctor.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "ms-record/session/options.h"
#include "ms-record/poll/poll.h"
#include "ms-record/control/standby.h"
#include "ms-record/cli/summary.h"

enum { STATUS_OWN_FAILURE = 125, LARGE = 1 << 19 };

/* Ends as the command did: with its status, or by its signal (without a core file of our own). */
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
	int failed = control_start(&c, o, &err);
	bool some = c.multi_attach.refused.n != 0; /* of several processes were not to be had */
	for (size_t i = 0; i < c.multi_attach.refused.n; i++)
		fprintf(stderr, "ms-record: %s\n", c.multi_attach.refused.v[i].why);
	if (failed) {
		fprintf(stderr, "ms-record: %s\n", err.text);
		int own = c.launch.status;
		control_free(&c);
		return own;
	}
	for (size_t i = 0; i < o->hooks.n && c.attached && !o->quiet; i++)
		if (!c.hooks_placed[i])
			fprintf(stderr,
				"ms-record: no module has '%s' yet: it is hooked when one is "
				"loaded\n",
				o->hooks.v[i].name);
	control_run(&c);
	if (c.not_run) {
		fprintf(stderr, "ms-record: %s\n",
			c.hooks_refused.text[0] ? c.hooks_refused.text : c.refused.text);
		control_discard(&c);
		control_free(&c);
		return STATUS_OWN_FAILURE;
	}
	control_symbols(&c);
	tell_over(&c);
	if (!o->quiet)
		summary_print(&c);
	int status = c.attached ? 0 : c.status; /* an attached process's is not ours */
	for (size_t i = 0; i < c.images.n && c.attached; i++)
		some |= c.images.v[i].error || images_lost(&c.images.v[i]); /* no trace of it */
	if (some)
		status = STATUS_OWN_FAILURE << 8;
	if (!c.abandoned)
		control_free(&c);
	return end_as(status);
}

static int poll_only(const struct options *o)
{
	struct ms_err err = {0};
	int own = STATUS_OWN_FAILURE, status = poll_run(o, &own, &err);
	if (status >= 0)
		return end_as(status);
	fprintf(stderr, "ms-record: %s\n", err.text);
	return own;
}

static int standby(const struct options *o)
{
	struct ms_err err = {0};
	int own = STATUS_OWN_FAILURE, status = standby_run(o, &own, &err);
	if (status >= 0)
		return end_as(status);
	fprintf(stderr, "ms-record: %s\n", err.text);
	return own;
}

static int tell(const struct options *o)
{
	struct ms_err err = {0};
	if (!tell_ask(o, &err))
		return 0;
	fprintf(stderr, "ms-record: %s\n", err.text);
	return STATUS_OWN_FAILURE;
}

int main(int argc, char **argv)
{
	struct options o;
	struct ms_err err = {0};
	ms_out_of_memory_status = STATUS_OWN_FAILURE;
	/* What is large and needed for a moment only, a checkpoint's memory for one, goes back to
	 * the kernel each time; else the first such free would have malloc keep the others. */
	mallopt(M_MMAP_THRESHOLD, LARGE);
	/* While it is ignored nobody is told how a child has ended. */
	bool ignored = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
	if (options_read(&o, argc, argv, &err)) {
		fprintf(stderr, "ms-record: %s\n", err.text);
		options_free(&o);
		return STATUS_OWN_FAILURE;
	}
	if (o.help)
		printf("%s%s", options_help, poll_options_help);
	if (o.version)
		puts("ms-record " MS_VERSION);
	if (o.help || o.version)
		return fflush(stdout) ? STATUS_OWN_FAILURE : 0;
	o.children_ignored = ignored;
	int status = o.doctor    ? doctor_run(&o, stdout)
		     : o.tell    ? tell(&o)
		     : o.poll.on ? poll_only(&o)
		     : o.standby ? standby(&o)
				 : record(&o);
	options_free(&o);
	return status;
}

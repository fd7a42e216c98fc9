/* SPDX-License-Identifier: MIT
 * Runs --poll: finds or starts the process, samples it at the interval and waits for its end.
 */
#include "poll.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ms-record/base/clock.h"
#include "ms-record/base/descriptor.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "ms-record/control/control_options.h"

/* A second signal within this time ends the polling of a command, which keeps running. */
#define AGAIN_NS UINT64_C(2000000000)
#define OFTEN_NS UINT64_C(100000000)

/* ---- the command ---- */

static _Noreturn void be_command(const struct poll *p, int result)
{
	const struct launch_options *o = &p->rec->launch;
	for (size_t i = 0; i < o->env.n; i++)
		putenv(ms_xstrdup(o->env.v[i]));
	if (o->children_ignored)
		signal(SIGCHLD, SIG_IGN);
	sigprocmask(SIG_SETMASK, &p->mask, NULL);
	execvp(o->command[0], o->command);
	int e = errno;
	_exit(write(result, &e, sizeof e) == sizeof e ? 127 : 126);
}

/* Starts the command and returns its pid once it runs. Returns -1 with `err` and *own set on
 * failure. */
static pid_t run_command(const struct poll *p, int *own, struct ms_err *err)
{
	int result[2], e = 0;
	*own = 125;
	if (pipe2(result, O_CLOEXEC))
		return ms_err_sys(err, "cannot create a pipe");
	pid_t pid = fork();
	if (pid == 0)
		be_command(p, result[1]);
	close(result[1]);
	ssize_t n = -1;
	while (pid > 0 && (n = read(result[0], &e, sizeof e)) < 0 && errno == EINTR)
		continue;
	close(result[0]);
	if (pid < 0)
		return ms_err_sys(err, "cannot fork");
	if (n != sizeof e)
		return pid;
	waitpid(pid, NULL, 0);
	*own = e == ENOENT ? 127 : 126;
	errno = e;
	return ms_err_sys(err, "cannot run '%s'", p->rec->launch.command[0]);
}

/* ---- watching ---- */

static void stop(struct poll *p, enum poll_end how)
{
	if (!p->over)
		p->end = how;
	p->over = true;
}

/* Detects the end of the polled process: a command by waitpid, another process by its pidfd or
 * its /proc folder. */
static void look_for_end(struct poll *p)
{
	struct pollfd gone = {.fd = p->taker.proc.pidfd, .events = POLLIN};
	if (!p->opt->pid) {
		if (waitpid(p->pid_out, &p->status, WNOHANG) == p->pid_out)
			stop(p, POLL_ENDED);
		return;
	}
	if (gone.fd >= 0 ? poll(&gone, 1, 0) > 0 : !ms_proc_alive(&p->taker.proc))
		stop(p, POLL_ENDED);
}

/* Handles a signal. Ends the polling of an attached process. A command receives the signals of
 * terminal keys itself; others are forwarded to it. */
static void take_signal(struct poll *p, int sig)
{
	if (sig == SIGCHLD || (!p->opt->pid && (sig == SIGINT || sig == SIGQUIT)))
		return;
	uint64_t now = clock_mono();
	if (p->opt->pid || (p->forwarded_ns && now - p->forwarded_ns < AGAIN_NS)) {
		stop(p, POLL_STOPPED);
		return;
	}
	p->forwarded_ns = now;
	kill(p->pid_out, sig);
}

static void take_sample(struct poll *p, bool detail)
{
	struct ms_proc_sample s;
	uint64_t now = clock_mono() - p->start_mono;
	if (!ms_proc_sample_take(&p->taker, now, detail, &s)) {
		look_for_end(p);
		return;
	}
	poll_keep(&p->series, &s);
	ms_proc_peak_note(&p->peak_rss, &s, p->opt->pid != 0);
	if (p->peak_rss.known)
		p->series.peak.figure[POLL_RSS] = p->peak_rss.bytes;
	poll_say_sample(p, &s);
	poll_trace_sample(p, &s);
	poll_metrics_sample(p, &s);
	if (p->unread)
		stop(p, POLL_STOPPED);
	if (p->opt->max_heap && s.heap > p->opt->max_heap)
		stop(p, POLL_MAX_HEAP);
}

/* Sleeps until `at`, in ns since the start, or until a signal or the end of the process. */
static void wait_until(struct poll *p, uint64_t at)
{
	/* With short intervals, the next sample detects the end of the process soon enough, at less
	 * cost than a poll of its pidfd. */
	bool often = p->rec->interval_ns < OFTEN_NS;
	struct pollfd fds[] = {{.fd = p->signals, .events = POLLIN},
			       {.fd = often ? -1 : p->taker.proc.pidfd, .events = POLLIN}};
	struct signalfd_siginfo info;
	uint64_t now = clock_mono() - p->start_mono;
	struct timespec left = ms_timespec(at > now ? at - now : 0);
	if (ppoll(fds, 2, &left, NULL) <= 0)
		return;
	while (fds[0].revents && read(p->signals, &info, sizeof info) == sizeof info)
		take_signal(p, (int)info.ssi_signo);
	look_for_end(p);
}

/* Takes a sample at each multiple of the interval; missed ones are skipped. */
static void watch_run(struct poll *p)
{
	uint64_t interval = p->rec->interval_ns, next = interval, now;
	uint64_t end = p->rec->duration_ns ? p->rec->duration_ns : UINT64_MAX;
	take_sample(p, true);
	while (!p->over) {
		wait_until(p, next < end ? next : end);
		now = clock_mono() - p->start_mono;
		if (p->over || now < (next < end ? next : end))
			continue;
		take_sample(p, now >= end);
		next = now - now % interval + interval;
		if (now >= end)
			stop(p, POLL_STOPPED);
	}
	p->duration_ns = clock_mono() - p->start_mono;
}

/* ---- */

/* Waits until the command ends, if polling ended earlier, so that ms-record ends with the
 * command. */
static void await_command(struct poll *p)
{
	struct signalfd_siginfo info;
	if (p->opt->pid || p->end != POLL_STOPPED)
		return;
	while (waitpid(p->pid_out, &p->status, WNOHANG) == 0) {
		struct pollfd fd = {.fd = p->signals, .events = POLLIN};
		poll(&fd, 1, -1);
		while (read(p->signals, &info, sizeof info) == sizeof info)
			if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP)
				kill(p->pid_out, (int)info.ssi_signo);
	}
}

static int start(struct poll *p, int *own, struct ms_err *err)
{
	const struct poll_options *o = p->opt;
	*own = 125;
	p->signals = descriptor_signals(SIGCHLD, &p->mask);
	if (p->signals < 0)
		return ms_err_sys(err, "cannot wait for signals");
	if (poll_say_start(p, err) || poll_metrics_start(p, err))
		return -1;
	p->pid_out = o->pid;
	if (!o->pid && (p->pid_out = run_command(p, own, err)) < 0)
		return -1;
	*own = 125;
	p->start_mono = clock_mono();
	p->start_wall = ms_clock_ns(CLOCK_REALTIME);
	if (ms_proc_open(&p->taker.proc, p->rec->proc_root, p->pid_out, err))
		return -1;
	if (o->pid && !ms_proc_alive(&p->taker.proc))
		return ms_err_set(
			err,
			"process %d has ended and is a zombie: its parent has not waited for it",
			p->pid_out);
	struct ms_proc_statm m;
	if (o->pid && !ms_proc_read_statm(&p->taker.proc, &m))
		return ms_err_set(
			err, "process %d ('%s') has no memory of its own: it is a kernel thread",
			p->pid_out, p->taker.proc.name);
	return poll_trace_open(p, err);
}

/* Kills a command whose polling could not begin. */
static void give_up(struct poll *p)
{
	if (p->opt->pid || p->pid_out <= 0)
		return;
	/* a command that ignores other signals would keep ms-record waiting */
	kill(p->pid_out, SIGKILL);
	waitpid(p->pid_out, NULL, 0);
}

int poll_run(const struct poll_options *o, const struct control_options *rec, int *own,
	     struct ms_err *err)
{
	struct poll p = {.opt = o, .rec = rec, .status = -1, .signals = -1};
	p.taker.proc =
		(struct ms_proc){.folder = -1, .pidfd = -1, .statm = -1, .stat = -1, .rollup = -1};
	int rc = start(&p, own, err);
	bool begun = !rc;
	if (begun)
		watch_run(&p);
	else
		give_up(&p);
	if (p.series.n)
		p.heap = poll_trend(&p, POLL_HEAP);
	rc |= poll_trace_close(&p, err) | poll_say_close(&p, err) | poll_metrics_close(&p, err);
	if (begun && (!o->quiet || p.end == POLL_MAX_HEAP))
		poll_say_end(&p, stderr);
	bool too_fast = begun && poll_say_too_fast(&p, stderr);
	if (begun)
		await_command(&p);
	ms_proc_close(&p.taker.proc);
	ms_regions_free(&p.taker.regions);
	free(p.series.v);
	descriptor_close(p.signals);
	bool command = p.status >= 0 && !o->pid;
	if (rc && err->pipe) /* the reader closed the pipe: no error */
		return command ? p.status : SIGPIPE;
	if (rc)
		return -1;
	if (p.end == POLL_MAX_HEAP)
		return 1 << 8;
	return command && (p.status || !too_fast) ? p.status : too_fast << 8;
}

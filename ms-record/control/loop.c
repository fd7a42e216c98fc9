/* SPDX-License-Identifier: MIT
 * The control thread: who ended, which signals came, when to sample.
 */
#include "control.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handshake.h"
#include "ms-record/session/info.h"
#include "ms-record/drain/recording.h"
#include "inject.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/progress.h"
#include "libcommon/proc/proc.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/base/program.h"
#include "ms-record/heap/heap.h"
#include "ms-record/heap/preexisting.h"
#include "ms-record/scan/scan.h"
#include "ms-record/session/samples.h"

#define GRACE_NS UINT64_C(200000000)
#define HANDSHAKE_NS UINT64_C(1000000000)
#define AGAIN_NS UINT64_C(2000000000)
#define STUCK_NS UINT64_C(5000000000) /* a write that takes longer is considered stuck */
#define SHARE_MOST_NS UINT64_C(1000000000)
#define STILL_AFTER 3u              /* samples without a change after which sampling slows down */
#define WAIT_NS UINT64_C(50000000)  /* interval of checks for remaining processes */
#define SHOW_NS UINT64_C(200000000) /* interval of progress reports at the end */

/* ---- signals ---- */

static void on_signal(struct control *c, int sig, bool may_stop)
{
	uint64_t now = clock_mono();
	if (c->over) {
		c->skip_symbols = true;
		return;
	}
	if (c->attached || (sig != SIGINT && sig != SIGQUIT))
		scanner_hurry(c->scanner);
	if (c->attached || c->ended) {
		c->skip_symbols = c->stopped;
		control_stop(c, "a signal");
		return;
	}
	if (sig == SIGINT || sig == SIGQUIT)
		return; /* not forwarded: the terminal sent the signal to the command too */
	if (may_stop && c->forwarded_ns && now - c->forwarded_ns < AGAIN_NS) {
		c->skip_symbols = c->stopped;
		control_stop(c, "a second signal");
		return;
	}
	c->forwarded_ns = now;
	kill(c->launch.pid, sig);
}

static void read_signals(struct control *c, bool may_stop)
{
	struct signalfd_siginfo info;
	while (read(c->signals, &info, sizeof info) == sizeof info)
		on_signal(c, (int)info.ssi_signo, may_stop);
}

void control_read_signals(struct control *c)
{
	read_signals(c, true);
}

void control_hand_on_signals(struct control *c)
{
	read_signals(c, false);
}

/* ---- time ---- */

/* Records the program that the process has executed, while /proc still shows it. */
static void note_exec(struct session *s)
{
	char exe[32], path[PROCESS_EXE];
	snprintf(exe, sizeof exe, "/proc/%d/exe", (int)s->process.pid);
	process_exe(s->process.folder, path);
	s->exec.ns = clock_mono();
	s->exec.program = ms_xstrdup(path);
	s->exec.why = launch_why(exe);
}

/* Rechecks a process that seems to have called exec. If its guest still writes events after all
 * earlier events must have been read, it has not. */
static void watch_taken(struct session *s)
{
	uint64_t events = scan_events(s->scan);
	if (clock_mono() - s->exec.ns < HANDSHAKE_NS)
		return;
	if (!s->exec.events)
		s->exec.events = events + 1;
	s->exec.hides = events + 1 > s->exec.events;
	if (!s->exec.hides)
		return;
	s->exec.ns = 0;
	MS_FREE(s->exec.program, s->exec.why);
	s->exec.program = s->exec.why = NULL;
}

/* Detects the exec of a privileged program, whose /proc files cannot be read, by the changed
 * process name. A process that only made its own /proc files unreadable, like ssh-agent, keeps its
 * name or still writes events. */
static void watch_hidden(struct session *s)
{
	if (s->exec.ns && !s->exec.hides)
		watch_taken(s);
	char *name = info_name(s->process.folder, s->process.exe);
	if (!s->exec.ns && !s->exec.hides && process_hidden(s->process.folder) &&
	    strcmp(name, s->name) != 0) {
		s->exec.ns = clock_mono();
		s->exec.program = ms_xstrdup(name);
		s->exec.why = ms_xstrdup("it is setuid, setgid or has capabilities");
	}
	free(name);
}

/* Ends the session of a process that called exec, as its last /proc sample shows, if the new
 * program makes no handshake in time: the program cannot be recorded, or is excluded. */
static void watch_exec(struct control *c, struct session *s)
{
	uint64_t now = s->process.signature_seen;
	if (!now && s->process.signature)
		watch_hidden(s);
	if (!now || !s->process.signature || now == s->process.signature)
		return;
	if (!s->exec.ns && fork_children_keeps(s)) /* no exec: the process moved its arguments
						      (PR_SET_MM) */
		s->process.signature = now;
	else if (!s->exec.ns)
		note_exec(s);
	else if (clock_mono() - s->exec.ns > HANDSHAKE_NS)
		control_end(c, s, SESSION_EXECED, -1);
}

/* Tells whether waitid reported the end of a process. It also reports stops, such as those made by
 * the leak scan. */
static bool is_end(const siginfo_t *i)
{
	return i->si_pid &&
	       (i->si_code == CLD_EXITED || i->si_code == CLD_KILLED || i->si_code == CLD_DUMPED);
}

/* Tells whether the process has ended. Called in every turn of the loop, because opening a pidfd to
 * poll may have failed. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = {0};
	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && is_end(&info);
}

/* Reaps orphans if we are the first process of a container, which inherits them; not the command,
 * nor recorded processes whose end was not seen yet. */
static void reap_orphans(struct control *c)
{
	size_t n = 0;
	pid_t *all = getpid() == 1 ? ms_proc_list(NULL, &n, NULL) : NULL;
	for (size_t i = 0; i < n; i++)
		if (all[i] != c->launch.pid && !handshake_running_session(c, all[i]) &&
		    has_ended(all[i]))
			waitpid(all[i], NULL, 0);
	free(all);
}

/* Begins recording when the time of --start-after has passed. */
static void begin_recording(struct control *c, uint64_t now)
{
	uint64_t never = 0;
	if (__atomic_compare_exchange_n(&c->run.started_ns, &never, now, false, __ATOMIC_SEQ_CST,
					__ATOMIC_RELAXED))
		wake_up(&c->drain.wake);
}

void control_resume(struct control *c)
{
	begin_recording(c, clock_mono());
	__atomic_store_n(&c->run.paused, 0, __ATOMIC_RELEASE);
}

/* Returns the time when -d stops the recording. */
static uint64_t stop_time(const struct control *c)
{
	uint64_t start = __atomic_load_n(&c->run.started_ns, __ATOMIC_ACQUIRE);
	return start && c->opt->duration_ns ? start + c->opt->duration_ns : UINT64_MAX;
}

/* Stops recording attached processes when no trace can be written any longer. A command continues,
 * unrecorded. */
static void watch_outputs(struct control *c)
{
	for (const struct session *s = c->sessions; s; s = s->next)
		if (!__atomic_load_n(&s->out->failed, __ATOMIC_ACQUIRE))
			return;
	if (c->attached && c->sessions)
		control_stop(c, "a failed write");
}

static void watch_time(struct control *c)
{
	uint64_t now = clock_mono();
	if (c->opt->start_after_ns && now - c->start_ns >= c->opt->start_after_ns)
		begin_recording(c, now);
	if (now >= stop_time(c))
		control_stop(c, "-d");
}

/* Stops at --max-size, and listens for --tell on the new file if a trace was rewritten. */
static void watch_limit(struct control *c)
{
	const struct limit *l = &c->writer.limit;
	if (__atomic_load_n(&l->reached, __ATOMIC_ACQUIRE))
		control_stop(c, c->opt->files.keep_last_ns ? "--keep=last" : "--max-size");
	uint64_t rewritten = __atomic_load_n(&l->rewritten, __ATOMIC_ACQUIRE);
	if (rewritten != c->rewritten)
		tell_listen(&c->tell, -1, c->files.path, c->run_id);
	c->rewritten = rewritten;
}

/* Returns the time in ns until the next sample of /proc: the interval of -i if given. By default,
 * the interval is longer while no process is active, and in long runs with allocation sampling. */
static uint64_t sample_step(struct control *c, uint64_t age, bool moved)
{
	uint64_t step = c->opt->interval_ns, share = age / 20;
	if (c->opt->session.sample_bytes && !c->opt->interval_asked && share > step)
		step = share < SHARE_MOST_NS ? share : SHARE_MOST_NS;
	c->still = moved || c->opt->interval_asked ? 0 : c->still + 1;
	if (c->still > STILL_AFTER)
		step = step * 10;
	/* Short runs get samples too: the interval never exceeds the run's age. */
	step = age < step ? age : step;
	return step < 2000000 ? 2000000 : step;
}

static void tick(struct control *c)
{
	bool moved = false;
	reap_orphans(c);
	for (struct session *s = c->sessions; s; s = s->next) {
		if (s->ending == SESSION_RUNS && s->process.pid != c->launch.pid &&
		    control_is_gone(s))
			control_end(c, s, SESSION_EXITED, process_exit_status(s->process.folder));
		if (s->ending != SESSION_RUNS)
			continue;
		moved |= samples_take(s, false);
		watch_exec(c, s);
	}
	uint64_t now = clock_mono();
	c->sample_ns = now + sample_step(c, now - c->start_ns, moved);
}

/* Resumes frequent samples when a process is active again. */
static void look_again(struct control *c)
{
	uint64_t now = clock_mono();
	if (!__atomic_exchange_n(&c->drain.active, 0, __ATOMIC_ACQUIRE) || !c->still)
		return;
	c->still = 0;
	if (c->sample_ns > now + c->opt->interval_ns)
		c->sample_ns = now;
}

/* Tells whether there are sessions of processes other than the command; with `run`, counts only
 * those whose process still runs. */
static bool others_left(const struct control *c, bool run)
{
	for (const struct session *s = c->sessions; s; s = s->next)
		if (s->process.pid != c->launch.pid && (!run || s->ending == SESSION_RUNS))
			return true;
	return false;
}

static int timeout_ms(const struct control *c)
{
	uint64_t now = clock_mono(), next = c->sample_ns;
	uint64_t start = c->start_ns + c->opt->start_after_ns;
	if (triggers_next(c) < next)
		next = triggers_next(c);
	if (!c->stopped && stop_time(c) < next)
		next = stop_time(c);
	if (c->ended && !others_left(c, true) && now + WAIT_NS < next)
		next = now + WAIT_NS;
	if (c->showing && now + SHOW_NS < next)
		next = now + SHOW_NS;
	if (!__atomic_load_n(&c->run.started_ns, __ATOMIC_ACQUIRE) && c->opt->start_after_ns &&
	    start < next)
		next = start;
	return next <= now ? 0 : (int)((next - now) / 1000000 + 1);
}

/* ---- the loop ---- */

#define POLL_FIXED 6u

static size_t fill(const struct control *c, struct pollfd *p, struct session **whose, size_t max)
{
	p[0] = (struct pollfd){c->signals, POLLIN, 0};
	p[1] = (struct pollfd){c->listener, POLLIN, 0};
	/* If several processes are attached, each is polled through its session. */
	bool several = c->multi_attach.all.n > 1;
	p[2] = (struct pollfd){c->over || c->ended || several ? -1 : c->child, POLLIN, 0};
	p[3] = (struct pollfd){c->tell.epoll, POLLIN, 0};
	p[4] = (struct pollfd){c->drain.child_event, POLLIN, 0};
	p[5] = (struct pollfd){inject_event(c), POLLIN, 0};
	size_t n = POLL_FIXED;
	for (struct session *s = c->sessions; s && n < max; s = s->next) {
		if (s->ending != SESSION_RUNS || (s->process.pid == c->launch.pid && !several))
			continue;
		whose[n] = s;
		p[n++] = (struct pollfd){s->process.pidfd, POLLIN, 0};
	}
	return n;
}

/* Tells whether the recording of attached processes is over: no session runs, or all processes have
 * ended. */
static bool attached_over(const struct control *c)
{
	for (const struct session *s = c->sessions; s; s = s->next)
		if (s->ending == SESSION_RUNS)
			return multi_attach_ended(c);
	return true;
}

static int status_of(const siginfo_t *i)
{
	return i->si_code == CLD_EXITED ? (i->si_status & 0xff) << 8
					: i->si_status | (i->si_code == CLD_DUMPED ? 0x80 : 0);
}

/* Records the end of the command. It is not reaped yet, so that its /proc files can still be
 * read. */
static void note_end(struct control *c)
{
	siginfo_t info = {0};
	waitid(P_PID, (id_t)c->launch.pid, &info, WEXITED | WNOWAIT);
	c->status = status_of(&info);
	c->ended = true;
	c->end_ns = c->alive_ns = clock_mono();
	if (!c->opt->wait_all)
		return;
	fork_children_settle(c);
	for (struct session *s = c->sessions; s; s = s->next)
		if (s->process.pid == c->launch.pid)
			control_end(c, s, SESSION_EXITED, c->status);
}

/* Tells whether the recording of a command (with --wait=all, of its children too) has ended. With
 * --wait=all, a process that maps our shared memory counts as running even if it has recorded
 * nothing yet. GRACE_NS allows for processes that are just being started. */
static bool command_over(struct control *c)
{
	if (!c->ended && !has_ended(c->launch.pid))
		return false;
	if (!c->ended)
		note_end(c);
	if (!c->opt->wait_all || c->stopped)
		return true;
	if (others_left(c, true) || inject_pending(c) || drain_has_pool(&c->drain, 0))
		c->alive_ns = clock_mono();
	if (!c->sessions)
		wake_up(&c->drain.wake); /* makes the draining thread check whether any process
					    still maps our memory */
	return clock_mono() > c->alive_ns + GRACE_NS;
}

/* Shows progress on a terminal while only the final scans and writing remain. */
static void show_end(struct control *c)
{
	uint64_t read = 0, due = 0;
	bool held = false, runs = !c->sessions;
	for (const struct session *s = c->sessions; s && ms_progress_on(); s = s->next) {
		bool holds = s->ending == SESSION_RUNS && scan_holds(s->scan, &read, &due);
		held |= holds;
		runs |= s->ending == SESSION_RUNS && !holds;
	}
	c->showing = held && !runs;
	if (c->showing)
		ms_progress("looking for leaks", NULL, read, due, NULL);
	else if (!runs)
		ms_progress("writing the end", NULL, 0, 0, NULL);
	else
		ms_progress_hide();
}

static void turn(struct control *c, int timeout)
{
	size_t count = POLL_FIXED;
	for (struct session *s = c->sessions; s; s = s->next)
		count++;
	struct pollfd *p = ms_xrealloc(NULL, count, sizeof *p);
	struct session **whose = ms_xrealloc(NULL, count, sizeof(struct session *));
	size_t n = fill(c, p, whose, count);
	if (poll(p, n, timeout) > 0) {
		if (p[0].revents)
			control_read_signals(c);
		if (p[1].revents)
			handshake_accept(c);
		if (p[4].revents)
			fork_children_accept(c);
		if (p[5].revents)
			inject_serve(c);
		for (struct session *s = c->sessions; s; s = s->next)
			hook_late_look(s, &c->hooks);
		for (size_t i = POLL_FIXED; i < n; i++)
			if (p[i].revents)
				control_end(c, whose[i], SESSION_EXITED,
					    process_exit_status(whose[i]->process.folder));
	}
	MS_FREE(p, (void *)whose);
	if (!c->over)
		c->over = c->attached ? attached_over(c) : command_over(c);
	watch_time(c);
	watch_limit(c);
	watch_outputs(c);
	look_again(c);
	if (clock_mono() >= c->sample_ns)
		tick(c);
	triggers_turn(c);
	show_end(c);
	control_reap(c);
	if (c->stopped && !c->sessions && !c->over)
		control_symbols(c);
	tell_turn(c);
}

/* Tells whether to abandon the output: true only if a further signal came, and the writing thread
 * has made no progress for STUCK_NS. All other waits have limits of their own. */
static bool give_up(void *arg)
{
	struct control *c = arg;
	bool waits;
	control_read_signals(c);
	uint64_t done = writer_progress(&c->writer, &waits), now = clock_mono();
	if (!c->skip_symbols || done != c->progress || !waits) {
		c->progress = done;
		c->progress_ns = now;
	}
	return now - c->progress_ns > STUCK_NS;
}

/* Tells whether any process that has recorded nothing yet is still running. */
static bool idle_left(struct control *c)
{
	fork_children_left(c);
	bool some = c->left.n != 0;
	c->left.n = 0;
	return some;
}

/* Ends the remaining sessions of a recording that is over. */
static void conclude(struct control *c)
{
	if (c->attached) {
		struct session *s = handshake_running_session(c, c->launch.pid);
		c->status = s ? process_exit_status(s->process.folder) : -1;
		c->end_ns = clock_mono();
	}
	fork_children_settle(c);
	/* Children of the command may be ending, too, so they get GRACE_NS before their recording
	 * is stopped. */
	bool idle = !c->opt->wait_all && !others_left(c, true) && idle_left(c);
	while ((idle || others_left(c, true)) && clock_mono() < c->end_ns + GRACE_NS &&
	       !c->skip_symbols)
		turn(c, 5);
	c->closing = true;
	for (struct session *s = c->sessions; s; s = s->next)
		control_leave(c, s);
	fork_children_left(c);
	while (others_left(c, false) && !give_up(c))
		turn(c, 1);
	for (struct session *s = c->sessions; s; s = s->next)
		control_end(c, s, SESSION_EXITED, c->status);
	while (c->sessions && !give_up(c)) {
		if (control_reap(c))
			turn(c, clock_mono() < c->end_ns + GRACE_NS * 5 ? 1 : 20);
	}
}

void control_run(struct control *c)
{
	c->sample_ns = clock_mono();
	while (!c->over)
		turn(c, timeout_ms(c));
	conclude(c);
	if (c->sessions) {
		/* A signal came while the output was stuck, so the output is abandoned. */
		c->abandoned = true;
		waitpid(c->launch.pid, NULL, 0);
		return;
	}
	inject_over(c);
	scanner_stop(c->scanner);
	drain_stop(&c->drain);
	writer_stop(&c->writer, give_up, c);
	tell_turn(c); /* answers --tell requests that came last and are complete by now */
	waitpid(c->launch.pid, NULL, 0);
	if (c->first)
		files_discard(&c->files); /* `first` is still set if the command made no
					     handshake */
}

void control_free(struct control *c)
{
	inject_over(c);
	scanner_stop(c->scanner);
	drain_stop(&c->drain);
	writer_stop(&c->writer, give_up, c);
	images_free(c);
	tell_free(&c->tell);
	requests_free(&c->requests);
	output_free(c->first);
	files_done(&c->files);
	descriptor_close(c->listener);
	descriptor_close(c->signals);
	descriptor_close(c->child);
	multi_attach_free(c);
	inject_free(c);
	triggers_done(c);
	scanner_free(c->scanner);
	MS_FREE(c->launch.program, c->launch.guest, c->left.v);
}

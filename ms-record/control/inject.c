/* SPDX-License-Identifier: MIT
 * Starting a command that nothing can be preloaded into, and following what it becomes.
 *
 *   seized     before it execs, by a thread of ours, which is its parent's: that is permitted where
 *              tracing others is not
 *   exec       it goes on until it can be worked at (launch/beginning.c)
 *   attached   as -p does it (attach.h), but all while it is stopped here
 *
 * The thread goes on tracing it and all that it starts (scan_trace.c). At every further exec the
 * same is done again; or, where a library can be preloaded, that is put into its environment
 * (exec_env.h), and makes its handshake. Sessions are the control thread's: it gives way for the
 * time.
 *
 *   tracing thread            control thread
 *   exec: ASKED  -----------> inject_serve: GRANTED, waits
 *   ... sessions are its own
 *   DONE  ------------------> goes on
 *
 * If we are killed meanwhile it goes on, unrecorded, as a traced process does.
 */
#include "inject.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "control.h"
#include "handshake.h"
#include "ms-record/attach/attach.h"
#include "ms-record/launch/beginning.h"
#include "ms-record/launch/exec_env.h"
#include "ms-record/drain/recording.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "ms-record/base/clock.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/session/session.h"

#define SIGNALS_NS UINT64_C(50000000) /* how often they are looked for */

struct inject {
	struct scan_tree tree; /* the first */
	struct control *c;
	pthread_mutex_t lock;
	pthread_cond_t change;
	enum { FREE, ASKED, GRANTED } baton; /* under lock */
	bool over;                           /* under lock: nothing is traced any more */
	bool begun;                          /* the command has been looked at */
	bool quit;                           /* under lock: nobody will grant anything */
	int event;                           /* for the control thread, which is to grant */
	MS_ARRAY(struct attach *) all;       /* further processes, the control thread's */
};

/* Closes what the old image of `pid`, and those of processes that are gone, had open. */
static void sweep(struct inject *j, pid_t pid)
{
	struct control *c = j->c;
	if (c->attach && attach_pid(c->attach) == pid)
		attach_forget(c->attach);
	for (size_t i = 0; i < j->all.n; i++) {
		struct attach *a = j->all.v[i];
		if (attach_pid(a) != pid && !attach_ended(a))
			continue;
		attach_free(a);
		j->all.v[i--] = j->all.v[--j->all.n];
	}
}

/* The session that was begun last is taken back; its output is the caller's again. */
static void forget_session(struct control *c)
{
	struct session *s = c->sessions;
	c->sessions = s->next;
	s->out = NULL;
	recording_free(s);
}

/* The session of process `pid`, whose attachment is *a then, with `out`; or NULL with `err` set.
 * `further`: it is not the command, or not any more. */
static struct session *put_guest(struct control *c, struct attach **a, pid_t pid,
				 struct output *out, struct beginning *b, bool further,
				 uint32_t parent, struct ms_err *err)
{
	struct session *now = NULL;
	if (!attach_look(a, pid, true, &c->opt->session.hooks, c->opt->proc_root, err)) {
		attach_hold(*a, &b->stop, b->sp);
		now = begin_attached(c, *a, out, parent, err);
	}
	if (now) {
		now->launched = !further;
		now->may_drop = further && c->opt->follow.which != FOLLOW_ALL;
	}
	if (now && attach_go(*a, now, err)) {
		forget_session(c);
		now = NULL;
	}
	if (now) {
		files_begin(&c->files);
		begin_draining(c, now);
	}
	attach_hold(*a, NULL, 0);
	return now;
}

static bool put_further(struct control *c, const struct arrival *who, struct beginning *b,
			struct ms_err *err)
{
	struct attach *a = NULL;
	struct output *out = handshake_trace(c, who, err);
	if (!out)
		return false;
	if (out == c->first)
		c->first = NULL;
	struct session *now = put_guest(c, &a, who->pid, out, b, true, who->parent, err);
	if (!now) {
		attach_free(a);
		files_remove(out);
		output_free(out);
		return false;
	}
	*MS_PUSH(&c->inject->all) = a;
	if (who->pid == c->launch.pid)
		now->may_drop = false;
	if (who->old)
		handshake_replace(c, who->old, now);
	return true;
}

static bool put_first(struct control *c, struct beginning *b, struct ms_err *err)
{
	struct output *out = c->first;
	if (put_guest(c, &c->attach, c->launch.pid, out, b, false, 0, err))
		return true;
	c->first = out;
	attach_free(c->attach);
	c->attach = NULL;
	/* It has done nothing yet. */
	const char *why = strstr(err->text, ": ");
	ms_err_set(&c->refused, "cannot record '%s': %s; --poll works", c->launch.program,
		   why ? why + 2 : err->text);
	c->not_run = true;
	kill(c->launch.pid, SIGKILL);
	return false;
}

/* Left at some stop. `who`: NULL = it is the command, at its first exec. */
static bool inject(struct control *c, pid_t pid, const struct arrival *who, struct ms_err *err)
{
	struct beginning b = {0};
	bool good = !beginning_reach(&b, pid, err) &&
		    (who ? put_further(c, who, &b, err) : put_first(c, &b, err));
	beginning_free(&b);
	return good;
}

/* ---- what it becomes ------------------------------------------------------------------------- */

static void refuse(struct control *c, const struct ms_err *why)
{
	if (!c->refused.text[0])
		ms_err_set(&c->refused, "%s", why->text);
}

/* Without what it is about. */
static const char *reason(const struct ms_err *why)
{
	const char *at = strstr(why->text, "': ");
	return at ? at + 3 : why->text;
}

/* Puts the library into its environment, or the guest into it. */
static int prepare(struct control *c, const struct arrival *a, enum launch_way way,
		   struct ms_err *err)
{
	pid_t pid = a->pid;
	char path[4200];
	snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, c->launch.guest);
	if (way == LAUNCH_PRELOAD && access(path, R_OK))
		return ms_err_set(err,
				  "the recorder's library is not visible in its mount namespace");
	if (way == LAUNCH_PRELOAD) /* its handshake tells it whether it is wanted */
		return exec_env_change(pid, c->launch.guest, c->socket_name, err);
	exec_env_change(pid, c->launch.guest, NULL, NULL); /* taken out, if it is there */
	if (way == LAUNCH_NOT || !a->recordable)
		return way == LAUNCH_NOT ? -1 : 0;
	return inject(c, pid, a, err) ? 0 : -1;
}

static void become(struct control *c, pid_t pid)
{
	struct ms_err why = {0};
	struct arrival a;
	char exe[32];
	snprintf(exe, sizeof exe, "/proc/%d/exe", (int)pid);
	enum launch_way way = launch_way(exe, &why);
	fork_children_accept(c);
	if (!handshake_running_session(c, pid)) /* it may be a forked child that is recorded */
		wake_settle(&c->drain.wake);
	handshake_look(c, pid, &a);
	sweep(c->inject, pid);
	if (prepare(c, &a, way, &why) && a.recordable) {
		refuse(c, &why);
		handshake_missed(c, &a, reason(&why));
		if (a.old)
			handshake_replace(c, a.old, NULL);
	}
	free(a.name);
}

/* Waits until the control thread gives way. */
static bool ask(struct inject *j)
{
	pthread_mutex_lock(&j->lock);
	j->baton = ASKED;
	wake_event(j->event);
	pthread_cond_broadcast(&j->change);
	while (j->baton == ASKED && !j->quit)
		pthread_cond_wait(&j->change, &j->lock);
	bool granted = j->baton == GRANTED;
	j->baton = granted ? GRANTED : FREE;
	pthread_mutex_unlock(&j->lock);
	return granted;
}

static void give_back(struct inject *j)
{
	pthread_mutex_lock(&j->lock);
	j->baton = FREE;
	pthread_cond_broadcast(&j->change);
	pthread_mutex_unlock(&j->lock);
}

/* The command, at its first exec: nothing of it has run. */
static int begin_command(struct control *c, pid_t pid, struct ms_err *err)
{
	if (c->launch.own_malloc)
		return exec_env_change(pid, c->launch.guest, c->socket_name, err);
	return inject(c, pid, NULL, err) ? 0 : -1;
}

static void execed(struct scan_tree *tree, pid_t pid)
{
	struct inject *j = (struct inject *)tree;
	struct control *c = j->c;
	struct ms_err why = {0};
	if (!ask(j))
		return;
	if (j->begun)
		become(c, pid);
	else if (begin_command(c, pid, &why))
		refuse(c, &why);
	j->begun = true;
	give_back(j);
}

static void over(struct scan_tree *tree)
{
	struct inject *j = (struct inject *)tree;
	pthread_mutex_lock(&j->lock);
	j->over = true;
	pthread_cond_broadcast(&j->change);
	pthread_mutex_unlock(&j->lock);
}

/* ---- the control thread ---------------------------------------------------------------------- */

int inject_event(const struct control *c)
{
	return c->inject ? c->inject->event : -1;
}

/* Waits until the tracing thread has told something. It may take as long as the program runs, if
 * that is of a C library that is not known: signals are handed on meanwhile. Under the lock. */
static void await_change(struct inject *j)
{
	struct timespec until = ms_timespec(clock_mono() + SIGNALS_NS);
	pthread_cond_clockwait(&j->change, &j->lock, CLOCK_MONOTONIC, &until);
	pthread_mutex_unlock(&j->lock);
	control_hand_on_signals(j->c);
	pthread_mutex_lock(&j->lock);
}

/* Gives way, if somebody asks. With `wait` somebody does, or will not any more. */
static void serve(struct inject *j, bool wait)
{
	uint64_t n;
	if (read(j->event, &n, sizeof n) < 0)
		errno = 0;
	pthread_mutex_lock(&j->lock);
	while (wait && j->baton == FREE && !j->over)
		await_change(j);
	if (j->baton == ASKED) {
		j->baton = GRANTED;
		pthread_cond_broadcast(&j->change);
	}
	while (j->baton == GRANTED)
		await_change(j);
	pthread_mutex_unlock(&j->lock);
}

void inject_serve(struct control *c)
{
	serve(c->inject, false);
}

/* Is it to be traced on, when it has the guest? */
static bool is_followed(const struct control *c)
{
	const struct control_options *o = c->opt;
	bool follows =
		c->files.folder && o->follow.which != FOLLOW_NONE && o->follow.which != FOLLOW_FORK;
	return (c->attach && !o->scan.off) || ((c->attach || c->launch.own_malloc) && follows);
}

void inject_over(struct control *c)
{
	struct inject *j = c->inject;
	if (!j)
		return;
	pthread_mutex_lock(&j->lock);
	j->quit = true;
	pthread_cond_broadcast(&j->change);
	pthread_mutex_unlock(&j->lock);
	scanner_untrace(c->scanner);
}

void inject_detach(struct control *c)
{
	struct inject *j = c->inject;
	if (!j)
		return;
	inject_over(c);
	if (c->attach)
		attach_detach(c->attach);
	for (size_t i = 0; i < j->all.n; i++)
		attach_detach(j->all.v[i]);
}

void inject_free(struct control *c)
{
	struct inject *j = c->inject;
	if (!j)
		return;
	inject_over(c);
	for (size_t i = 0; i < j->all.n; i++)
		attach_free(j->all.v[i]);
	free(j->all.v);
	descriptor_close(j->event);
	free(j);
	c->inject = NULL;
}

static struct inject *make(struct control *c)
{
	struct inject *j = ms_xcalloc(1, sizeof *j);
	j->tree = (struct scan_tree){execed, over};
	j->c = c;
	j->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->change, NULL);
	return c->inject = j;
}

int inject_go(struct control *c, struct ms_err *err)
{
	struct inject *j = make(c);
	if (!scanner_trace_tree(c->scanner, c->launch.pid, &j->tree)) {
		ms_err_sys(err,
			   "cannot record '%s': nothing can be preloaded into it, and it cannot "
			   "be traced (in a container, add the capability SYS_PTRACE)",
			   c->launch.program);
		launch_cancel(&c->launch);
		return -1;
	}
	bool let = launch_release(&c->launch);
	serve(j, true);
	if (launch_answer(&c->launch, let, err))
		return -1;
	if (!is_followed(c))
		inject_over(c);
	return 0;
}

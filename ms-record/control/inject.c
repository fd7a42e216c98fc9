/* SPDX-License-Identifier: MIT
 * Starting a command that nothing can be preloaded into, and following its execs.
 *
 *   seized     before its exec, by a thread of ours. The thread counts as the parent, which may
 *              trace its children even if tracing other processes is forbidden
 *   exec       it runs until the guest can be injected (launch/beginning.c)
 *   attached   like a process of -p (attach.h), but it is stopped here the whole time
 *
 * The thread keeps tracing the command and all its children (scan_trace.c). At every further exec
 * it injects the guest again; or, if a library can be preloaded, adds the library to the program's
 * environment (exec_env.h), and the guest makes its handshake. Sessions belong to the control
 * thread, which lends them to the tracing thread for that time.
 *
 * Such a program may also be executed by another one. The guest there announces the exec, and the
 * program is seized by a thread of its own, which stops tracing programs that allow preloading. The
 * start of a program may take as long as its whole run; only that thread waits for it.
 *
 *   tracing thread            control thread
 *   exec: ASKED  -----------> inject_serve: GRANTED, waits
 *   ... owns the sessions
 *   DONE  ------------------> continues
 *
 * If the recorder is killed meanwhile, the program continues unrecorded, like any traced process.
 */
#include "inject.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "control.h"
#include "handshake.h"
#include "ms-record/attach/attach.h"
#include "ms-record/attach/hook_symbols.h"
#include "ms-record/launch/beginning.h"
#include "ms-record/launch/exec_env.h"
#include "ms-record/drain/recording.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "ms-record/base/clock.h"
#include "ms-record/base/cpu.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/session/session.h"

#define SIGNALS_NS UINT64_C(50000000) /* interval of checks for signals */
/* Limits the number of programs traced for injection at once: each needs a thread and a guard
 * process. */
#define BELOW_MOST 64u

/* Describes a program that a recorded process is about to exec. From the exec on, a separate thread
 * traces it and its children, as it traces the command if the guest is injected into it. */
struct below {
	struct scan_tree tree; /* must be the first member */
	struct control *c;
	struct scan_trace *trace;
	uint32_t parent; /* number of the parent program image + 1, as in struct session */
	pid_t pid;       /* process id; 0 = not known yet */
	char *exe;
	bool begun; /* the program's exec was seen; accessed only while holding the baton */
};

struct inject {
	struct scan_tree tree; /* must be the first member */
	struct control *c;
	pthread_mutex_t lock;
	pthread_cond_t change;
	enum { FREE, ASKED, GRANTED } baton; /* right to use `c`; protected by `lock` */
	bool over;                           /* protected by `lock`: tracing has ended */
	bool begun;                          /* the command's first exec was handled */
	bool quit;                           /* protected by `lock`: no more requests are granted */
	int event;                           /* wakes the control thread, which grants the baton */
	MS_ARRAY(struct attach *) all;       /* control thread's list of attachments */
	pthread_mutex_t asking;              /* held by the thread that asks for the baton or holds
						it */
	/* control thread's list of programs that recorded processes execute */
	MS_ARRAY(struct below *) below;
	struct below watched; /* the command, if traced although a library is preloaded
				 (--leak-check=yes) */
};

/* Closes the attachment that process `pid` had before its exec, and attachments to ended
 * processes. */
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

/* Removes the session that was begun last, and returns ownership of its output to the caller. */
static void forget_session(struct control *c)
{
	struct session *s = c->sessions;
	c->sessions = s->next;
	s->out = NULL;
	recording_free(s);
}

/* Attaches the guest to a process, sets *a to the attachment, and begins the session, which writes
 * to `out`. Returns NULL with `err` set on failure. `who`: NULL = the command. */
static struct session *put_guest(struct control *c, struct attach **a, const struct arrival *who,
				 struct output *out, struct beginning *b, struct ms_err *err)
{
	struct session *now = NULL;
	pid_t pid = who ? who->pid : c->launch.pid;
	if (!attach_look(a, pid, true, &c->opt->session.hooks, c->opt->proc_root, err)) {
		attach_hold(*a, &b->stop, b->sp);
		attach_tells(*a, who && who->let_go ? c->socket_name : NULL);
		now = begin_attached(c, *a, out, who ? who->parent : 0, err);
	}
	if (now) {
		now->launched = !who;
		now->may_drop = who && c->opt->follow.which != FOLLOW_ALL;
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
	struct session *now = put_guest(c, &a, who, out, b, err);
	if (!now) {
		attach_free(a);
		files_remove(out);
		output_free(out);
		return false;
	}
	now->unwatched = who->let_go;
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
	if (put_guest(c, &c->attach, NULL, out, b, err))
		return true;
	c->first = out;
	attach_free(c->attach);
	c->attach = NULL;
	/* The command is killed: it has not run any of its own code yet. */
	ms_err_set(&c->refused, "cannot record '%s': %s; --poll works", c->launch.program,
		   attach_reason(err->text));
	c->not_run = true;
	kill(c->launch.pid, SIGKILL);
	return false;
}

/* Injects the guest into a process, and leaves the process in a ptrace stop. `who`: NULL = the
 * command, at its first exec. */
static bool inject(struct control *c, pid_t pid, const struct arrival *who, struct ms_err *err)
{
	struct beginning b = {0};
	bool good = !beginning_reach(&b, pid, err) &&
		    (who ? put_further(c, who, &b, err) : put_first(c, &b, err));
	beginning_free(&b);
	return good;
}

/* ---- what it becomes ------------------------------------------------------------------------- */

/* Records why the program `name` is not recorded. */
static void refuse(struct control *c, const char *name, const struct ms_err *why)
{
	const char *reason = attach_reason(why->text);
	if (strncmp(reason, "cannot ", 7) != 0)
		ms_err_set(&c->refused, "cannot record '%s': %s", name, reason);
	else
		ms_err_set(&c->refused, "%s", why->text);
}

/* Tells whether the process's dynamic linker can find the library: not in another root. */
static bool library_visible(const struct control *c, pid_t pid)
{
	char path[4200];
	snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, c->launch.guest);
	return !access(path, R_OK);
}

enum launch_way inject_way(const struct control *c, pid_t pid, const char *exe, struct ms_err *err)
{
	enum launch_way way = launch_way(exe, err);
	return way == LAUNCH_PRELOAD && !library_visible(c, pid) ? LAUNCH_INJECT : way;
}

/* Makes the process load the preloaded library, or injects the guest, depending on `way`. */
static int prepare(struct control *c, const struct arrival *a, enum launch_way way,
		   struct ms_err *err)
{
	pid_t pid = a->pid;
	if (way == LAUNCH_PRELOAD) /* the library's handshake decides whether the process is
				      recorded */
		return exec_env_change(pid, c->launch.guest, c->socket_name, err);
	exec_env_change(pid, c->launch.guest, NULL, NULL); /* removes the library, if present */
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
	enum launch_way way = inject_way(c, pid, exe, &why);
	fork_children_accept(c);
	if (!handshake_running_session(c, pid)) /* waits for a forked child to be found: the process
						   may be one */
		wake_settle(&c->drain.wake);
	handshake_look(c, pid, &a);
	sweep(c->inject, pid);
	if (prepare(c, &a, way, &why) && a.recordable) {
		refuse(c, a.name, &why);
		handshake_missed(c, &a, attach_reason(why.text));
		if (a.old)
			handshake_replace(c, a.old, NULL);
	}
	free(a.name);
}

/* Waits until the control thread grants the baton, the right to act in its place. Returns false if
 * no requests are granted any longer. */
static bool ask(struct inject *j)
{
	pthread_mutex_lock(&j->asking);
	pthread_mutex_lock(&j->lock);
	j->baton = ASKED;
	wake_event(j->event);
	pthread_cond_broadcast(&j->change);
	while (j->baton == ASKED && !j->quit)
		pthread_cond_wait(&j->change, &j->lock);
	bool granted = j->baton == GRANTED;
	j->baton = granted ? GRANTED : FREE;
	pthread_mutex_unlock(&j->lock);
	if (!granted)
		pthread_mutex_unlock(&j->asking);
	return granted;
}

static void give_back(struct inject *j)
{
	pthread_mutex_lock(&j->lock);
	j->baton = FREE;
	pthread_cond_broadcast(&j->change);
	pthread_mutex_unlock(&j->lock);
	pthread_mutex_unlock(&j->asking);
}

/* Prepares the command at its first exec: it has not run any of its own code yet. */
static int begin_command(struct control *c, pid_t pid, struct ms_err *err)
{
	if (c->launch.own_malloc)
		return exec_env_change(pid, c->launch.guest, c->socket_name, err);
	return inject(c, pid, NULL, err) ? 0 : -1;
}

static bool execed(struct scan_tree *tree, pid_t pid, const int *quit)
{
	struct inject *j = (struct inject *)tree;
	struct control *c = j->c;
	struct ms_err why = {0};
	(void)quit;
	if (!ask(j))
		return true;
	if (j->begun)
		become(c, pid);
	else if (begin_command(c, pid, &why))
		refuse(c, c->launch.program, &why);
	j->begun = true;
	give_back(j);
	return true;
}

static void over(struct scan_tree *tree)
{
	struct inject *j = (struct inject *)tree;
	pthread_mutex_lock(&j->lock);
	j->over = true;
	pthread_cond_broadcast(&j->change);
	pthread_mutex_unlock(&j->lock);
}

static struct inject *make(struct control *c)
{
	struct inject *j = ms_xcalloc(1, sizeof *j);
	j->tree = (struct scan_tree){.execed = execed, .over = over};
	j->c = c;
	j->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&j->lock, NULL);
	pthread_mutex_init(&j->asking, NULL);
	pthread_cond_init(&j->change, NULL);
	return c->inject = j;
}

/* ---- programs that others run ---------------------------------------------------------------- */

/* Tells whether the program may stay traced while it is recorded. Returns true only if our process
 * is privileged (otherwise a traced setuid program would not get its privileges) and the program
 * does not call ptrace (a traced program could not trace its own children). */
static bool may_stay(const char *exe)
{
	struct hook_symbols y;
	int fd = open(exe, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool may = hijack_capable() && hook_symbols_open_file(&y, fd);
	if (may) {
		may = !hook_symbols_mention(&y, "ptrace");
		hook_symbols_close(&y);
	}
	descriptor_close(fd);
	return may;
}

/* Takes the baton and looks up what is known of the process. False: recording has ended, and the
 * baton is not taken. */
static bool arrive(struct below *b, pid_t pid, struct arrival *a)
{
	struct control *c = b->c;
	if (!ask(c->inject))
		return false;
	handshake_look(c, pid, a);
	if (a->old)
		a->old->exec.announced = true; /* the caller lists the program that replaces
						  a->old */
	b->begun = true;
	return true;
}

static void leave(struct below *b, struct arrival *a)
{
	free(a->name);
	give_back(b->c->inject);
}

/* Injects the guest into a program that is stopped at its beginning, and records the program. If
 * `why` is set, the program could not be stopped at its beginning, and is listed as not
 * recorded. */
static void put_below(struct below *b, pid_t pid, bool stays, struct beginning *at,
		      struct ms_err *why)
{
	struct arrival a;
	struct control *c = b->c;
	if (!arrive(b, pid, &a))
		return;
	sweep(c->inject, pid);
	a.let_go = !stays;
	if (a.wanted && (!a.recordable || why->text[0] || !put_further(c, &a, at, why))) {
		int proc = process_folder(pid);
		if (hijack_over(proc)) /* if the process has ended, this explains any other error */
			snprintf(why->text, sizeof why->text, "it ended while it was starting");
		descriptor_close(proc);
		handshake_missed(c, &a, attach_reason(why->text));
		if (a.old)
			handshake_replace(c, a.old, NULL);
	}
	leave(b, &a);
}

/* Tells whether the program that process `pid` has just executed is to be recorded. True for the
 * first one: it is traced for that purpose. */
static bool is_wanted(struct below *b, pid_t pid)
{
	struct arrival a;
	if (!b->begun)
		return true;
	if (!arrive(b, pid, &a))
		return false;
	bool wanted = a.recordable;
	leave(b, &a);
	return wanted;
}

static bool execed_below(struct scan_tree *tree, pid_t pid, const int *quit)
{
	struct below *b = (struct below *)tree;
	struct control *c = b->c;
	struct ms_err why = {0}, ignored = {0};
	char exe[32];
	snprintf(exe, sizeof exe, "/proc/%d/exe", (int)pid);
	enum launch_way way = inject_way(c, pid, exe, &why);
	bool preload = way == LAUNCH_PRELOAD;
	bool stays = !preload && may_stay(exe);
	bool itself = !stays && library_visible(c, pid);
	exec_env_change(pid, c->launch.guest, itself ? c->socket_name : NULL, &ignored);
	struct beginning at = {.quit = quit};
	if (!preload && is_wanted(b, pid)) { /* a program with the preloaded library makes a
						handshake instead */
		if (way == LAUNCH_INJECT)
			beginning_reach(&at, pid, &why);
		put_below(b, pid, stays, &at, &why);
	}
	beginning_free(&at);
	return stays;
}

/* Records the program that the command has just executed, if the guest must be injected into it;
 * tracing continues. */
static bool execed_watched(struct scan_tree *tree, pid_t pid, const int *quit)
{
	struct below *b = (struct below *)tree;
	struct ms_err why = {0};
	struct beginning at = {.quit = quit};
	char exe[32];
	snprintf(exe, sizeof exe, "/proc/%d/exe", (int)pid);
	if (inject_way(b->c, pid, exe, &why) == LAUNCH_INJECT && !b->c->opt->launch.needs_library &&
	    is_wanted(b, pid)) {
		if (!library_visible(b->c, pid)) /* a message of its dynamic linker */
			exec_env_change(pid, b->c->launch.guest, NULL, &why);
		beginning_reach(&at, pid, &why);
		put_below(b, pid, true, &at, &why);
	}
	beginning_free(&at);
	return true;
}

void inject_watch(struct control *c)
{
	if (c->opt->scan.wish != SCAN_YES)
		return;
	struct below *b = &make(c)->watched;
	*b = (struct below){
		.tree = {.execed = execed_watched, .alone = true}, .c = c, .begun = true};
	scanner_trace(c->scanner, c->launch.pid, &b->tree);
}

/* Frees the entries of `below` whose processes are no longer traced, or all entries. */
static void drop_below(struct inject *j, bool all)
{
	for (size_t i = 0; i < j->below.n; i++) {
		struct below *b = j->below.v[i];
		if (!all && !scan_trace_ended(b->trace))
			continue;
		bool met = scan_trace_ended(b->trace);
		scan_trace_free(b->trace);
		if (!met && !b->begun)
			images_missed(j->c, b->pid, b->parent, clock_mono(), b->exe,
				      "recording had stopped");
		MS_FREE(b->exe, b);
		j->below.v[i--] = j->below.v[--j->below.n];
	}
}

bool inject_below(struct control *c, const struct arrival *a, pid_t tid, bool starts)
{
	struct inject *j = c->inject ? c->inject : make(c);
	drop_below(j, false);
	if (c->opt->launch.needs_library || j->below.n >= BELOW_MOST)
		return false;
	if (!starts && scanner_traces(c->scanner, a->pid))
		return true;
	struct below *b = ms_xcalloc(1, sizeof *b);
	b->tree = (struct scan_tree){.execed = execed_below, .child = c->launch.pid};
	b->c = c;
	b->parent = a->parent;
	b->pid = starts ? 0 : a->pid;
	b->exe = ms_xstrdup(a->exe);
	b->trace = scan_trace_exec(c->scanner, tid, starts, &b->tree);
	if (!b->trace) {
		MS_FREE(b->exe, b);
		return false;
	}
	*MS_PUSH(&j->below) = b;
	return true;
}

bool inject_pending(const struct control *c)
{
	for (size_t i = 0; c->inject && i < c->inject->below.n; i++) {
		const struct below *b = c->inject->below.v[i];
		if (!b->begun && !scan_trace_ended(b->trace))
			return true;
	}
	return false;
}

/* ---- the control thread ---------------------------------------------------------------------- */

int inject_event(const struct control *c)
{
	return c->inject ? c->inject->event : -1;
}

/* Waits up to SIGNALS_NS for the tracing thread, then forwards pending signals. Preparing a program
 * whose C library is unknown may take until the program ends. Called with the lock held. */
static void await_change(struct inject *j)
{
	struct timespec until = ms_timespec(clock_mono() + SIGNALS_NS);
	pthread_cond_clockwait(&j->change, &j->lock, CLOCK_MONOTONIC, &until);
	pthread_mutex_unlock(&j->lock);
	control_hand_on_signals(j->c);
	pthread_mutex_lock(&j->lock);
}

/* Grants the baton if a thread asks for it, and waits until it is returned. With `wait`, first
 * waits for a request or the end of tracing. */
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

/* Tells whether the command stays traced after the guest was injected. */
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
	drop_below(j, true);
}

void inject_detach(struct control *c)
{
	struct inject *j = c->inject;
	if (!j)
		return;
	inject_over(c);
	if (c->attach)
		attach_detach(c->attach);
	for (size_t i = 0; i < j->all.n; i++) {
		if (scanner_traces(c->scanner, attach_pid(j->all.v[i])))
			scanner_let_go(c->scanner);
		attach_detach(j->all.v[i]);
	}
}

void inject_free(struct control *c)
{
	struct inject *j = c->inject;
	if (!j)
		return;
	inject_over(c);
	for (size_t i = 0; i < j->all.n; i++)
		attach_free(j->all.v[i]);
	MS_FREE(j->all.v, j->below.v);
	descriptor_close(j->event);
	free(j);
	c->inject = NULL;
}

int inject_go(struct control *c, struct ms_err *err)
{
	struct inject *j = make(c);
	if (!scanner_trace_tree(c->scanner, c->launch.pid, &j->tree)) {
		ms_err_sys(
			err,
			"cannot record '%s': no library can be preloaded into it, and ptrace is "
			"not permitted (a container has to be started with --cap-add SYS_PTRACE)",
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

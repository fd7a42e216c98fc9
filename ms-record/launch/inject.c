/* SPDX-License-Identifier: MIT
 * Starting a command that nothing can be preloaded into, and following what it becomes.
 *
 *   seized     before it execs, by a thread of ours, which is its parent's: that is permitted where
 *              tracing others is not
 *   exec       it stops: nothing of the new program has run
 *   its tid    it goes on from one system call to the next, until its C library has told the kernel
 *              where its number stands (set_tid_address). By then it has a thread pointer, by which
 *              the guest knows threads, and glibc's linker has mapped the libraries; nothing has
 *              called malloc yet
 *   stopped    where signals are taken, so that a thread can be borrowed (hijack.h)
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
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ms-record/attach/attach_private.h"
#include "ms-record/base/clock.h"
#include "ms-record/control/control.h"
#include "exec_env.h"
#include "ms-record/control/fork_children.h"
#include "ms-record/control/handshake.h"
#include "libcommon/base/arena.h"
#include "ms-record/session/options.h"
#include "ms-record/session/session.h"

#define AT_CALL (SIGTRAP | 0x80)
#define CALLS_MOST 100000u /* of a program that has no thread's number */
#define STEPS_MOST 400u

static long trace(int what, pid_t pid, uint64_t data)
{
	return ptrace(what, pid, NULL, (void *)(uintptr_t)data);
}

/* The next stop; *why: signal | event << 8. False: it is gone, and its status is left for whoever
 * waits for its end. */
static bool await(pid_t pid, int *why)
{
	siginfo_t i;
	for (;;) {
		memset(&i, 0, sizeof i);
		if (waitid(P_PID, (id_t)pid, &i, WEXITED | WSTOPPED | WNOWAIT | __WALL)) {
			if (errno == EINTR)
				continue;
			return false;
		}
		if (i.si_code == CLD_EXITED || i.si_code == CLD_KILLED || i.si_code == CLD_DUMPED)
			return false;
		memset(&i, 0, sizeof i);
		if (!waitid(P_PID, (id_t)pid, &i, WSTOPPED | WNOHANG | __WALL) && i.si_pid == pid) {
			*why = i.si_status;
			return true;
		}
	}
}

/* Lets it go on from a stop that is none of those that we wait for. */
static void pass(pid_t pid, int how, int why)
{
	int event = why >> 8, sig = why & 0xff;
	if (event == PTRACE_EVENT_STOP && sig != SIGTRAP)
		trace(PTRACE_LISTEN, pid, 0); /* it was stopped by a signal, and stays so */
	else
		trace(how, pid, event || sig == AT_CALL ? 0 : (uint64_t)sig);
}

/* ---- its number ------------------------------------------------------------------------------ */

/* Has it just told where its number stands? */
static bool told(pid_t pid, uint32_t *tid, uint64_t *tp)
{
	struct user_regs_struct r;
	if (trace(PTRACE_GETREGS, pid, (uintptr_t)&r) || r.orig_rax != SYS_set_tid_address ||
	    (int64_t)r.rax <= 0)
		return false;
	*tid = (uint32_t)r.rax;
	*tp = r.fs_base;
	return true;
}

static bool stands(pid_t pid, uint64_t at, uint32_t tid)
{
	errno = 0;
	long word = ptrace(PTRACE_PEEKDATA, pid, (void *)(uintptr_t)at, NULL);
	return !errno && (uint32_t)word == tid;
}

/* Some instructions later its C library has put the number where it keeps it. */
static bool await_number(pid_t pid, uint32_t tid, uint64_t tp)
{
	int why = SIGTRAP;
	for (unsigned i = 0; i < STEPS_MOST; i++) {
		if (stands(pid, tp + ATTACH_TID_GLIBC, tid) ||
		    stands(pid, tp + ATTACH_TID_MUSL, tid))
			return true;
		trace(PTRACE_SINGLESTEP, pid, why >> 8 || why == SIGTRAP ? 0 : (uint64_t)why);
		if (!await(pid, &why))
			return false;
	}
	return false;
}

static int reach_number(pid_t pid, struct ms_err *err)
{
	uint32_t tid = 0;
	uint64_t tp = 0;
	int why = 0;
	trace(PTRACE_SYSCALL, pid, 0);
	for (unsigned i = 0; i < CALLS_MOST; i++) {
		if (!await(pid, &why))
			return ms_err_set(err, "it ended while it was starting");
		if (why == AT_CALL && told(pid, &tid, &tp))
			break;
		pass(pid, PTRACE_SYSCALL, why);
	}
	if (why != AT_CALL || !tp || !await_number(pid, tid, tp))
		return ms_err_set(err,
				  "its C library is not known: its threads cannot be told apart");
	return 0;
}

/* ---- stopped --------------------------------------------------------------------------------- */

static int stop_there(pid_t pid, struct hijack_stop *s, struct ms_err *err)
{
	int why = 0;
	*s = (struct hijack_stop){.begin_ns = clock_mono()};
	struct hijack_thread *t = MS_PUSH(&s->threads);
	*t = (struct hijack_thread){.tid = pid, .stop_ns = s->begin_ns};
	trace(PTRACE_INTERRUPT, pid, 0);
	trace(PTRACE_CONT, pid, 0);
	while (await(pid, &why) && why >> 8 != PTRACE_EVENT_STOP)
		trace(PTRACE_CONT, pid, why >> 8 ? 0 : (uint64_t)why);
	t->gone = why >> 8 != PTRACE_EVENT_STOP || trace(PTRACE_GETREGS, pid, (uintptr_t)&t->regs);
	s->stopped_ns = clock_mono();
	return t->gone ? ms_err_set(err, "it ended while it was starting") : 0;
}

/* The session that was begun for it is taken back. */
static void forget_session(struct control *c)
{
	struct session *s = c->sessions;
	if (!s)
		return;
	c->sessions = s->next;
	c->first = s->out;
	s->out = NULL;
	session_free(s);
}

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
	struct {
		struct attach **v;
		size_t n, cap;
	} all; /* further processes, the control thread's */
};

/* Its old image, and those of processes that are gone, need nothing open any more. */
static void sweep(struct inject *j, pid_t pid)
{
	struct control *c = j->c;
	if (c->attach && c->attach->pid == pid)
		attach_forget(c->attach);
	for (size_t i = 0; i < j->all.n; i++) {
		struct attach *a = j->all.v[i];
		if (a->pid != pid && !attach_ended(a))
			continue;
		attach_free(a);
		j->all.v[i--] = j->all.v[--j->all.n];
	}
}

/* A process at the beginning of a program. */
struct beginning {
	struct hijack_stop stop;
	uint64_t sp;     /* before anything of it had run */
	uint32_t parent; /* image + 1 */
	bool further;    /* it is not the command */
};

/* With c->attach and c->first of this process: its session, or NULL with `err` set. */
static struct session *put_guest(struct control *c, struct beginning *b, struct ms_err *err)
{
	struct session *before = c->sessions;
	if (attach_look(c, err))
		return NULL;
	attach_hold(c->attach, &b->stop);
	c->attach->further = b->further;
	c->attach->parent = b->parent;
	c->attach->entry_sp = b->sp;
	c->attach->may_drop = b->further && c->opt->follow != FOLLOW_ALL;
	if (attach_prepare(c, err))
		return NULL;
	struct session *now = c->sessions;
	if (!attach_go(c, now, err)) {
		scanner_add(&c->scanner, now);
		return now;
	}
	if (now != before)
		forget_session(c);
	return NULL;
}

/* Work at another process than the command: what is c's of it is put aside. */
struct aside {
	struct attach *attach;
	struct output *first;
	pid_t pid;
};

static void put_aside(struct control *c, struct aside *a, pid_t pid, struct output *out)
{
	*a = (struct aside){c->attach, c->first, c->launch.pid};
	c->attach = NULL;
	c->first = out;
	c->launch.pid = pid;
}

/* The attachment of a further process is kept, and the command's is there again. */
static void put_back(struct control *c, const struct aside *a, bool good)
{
	if (c->attach)
		attach_hold(c->attach, NULL);
	if (good)
		*MS_PUSH(&c->inject->all) = c->attach;
	else
		attach_free(c->attach);
	if (c->first) { /* nothing came of it */
		files_remove(c->first);
		output_free(c->first);
	}
	c->attach = a->attach;
	c->first = a->first;
	c->launch.pid = a->pid;
}

static bool put_further(struct control *c, pid_t pid, struct beginning *b, struct ms_err *err)
{
	struct session *old, *now;
	struct aside aside;
	struct output *out = handshake_trace_for(c, pid, &old, &b->parent, err);
	if (!out)
		return false;
	bool command = pid == c->launch.pid;
	put_aside(c, &aside, pid, out);
	now = put_guest(c, b, err);
	if (now && command)
		now->may_drop = false;
	put_back(c, &aside, now != NULL);
	if (now && old)
		handshake_replace(c, old, now);
	return now != NULL;
}

static bool put_first(struct control *c, struct beginning *b, struct ms_err *err)
{
	bool good = put_guest(c, b, err) != NULL;
	if (c->attach)
		attach_hold(c->attach, NULL);
	if (good)
		return true;
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

/* Left at some stop. */
static bool inject(struct control *c, pid_t pid, bool first, struct ms_err *err)
{
	struct beginning b = {.further = !first};
	struct user_regs_struct regs;
	b.sp = trace(PTRACE_GETREGS, pid, (uintptr_t)&regs) ? 0 : regs.rsp;
	bool good = !reach_number(pid, err) && !stop_there(pid, &b.stop, err) &&
		    (first ? put_first(c, &b, err) : put_further(c, pid, &b, err));
	free(b.stop.threads.v);
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
static int prepare(struct control *c, pid_t pid, enum launch_way way, bool wanted,
		   struct ms_err *err)
{
	struct ms_err ignored = {0};
	char path[4200];
	snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, c->launch.guest);
	if (way == LAUNCH_PRELOAD && access(path, R_OK))
		return ms_err_set(err,
				  "the recorder's library is not visible in its mount namespace");
	if (way == LAUNCH_PRELOAD) /* its handshake tells it whether it is wanted */
		return exec_env_preload(pid, c->launch.guest, c->socket_name, err);
	exec_env_remove(pid, c->launch.guest, &ignored);
	if (way == LAUNCH_NOT || !wanted)
		return way == LAUNCH_NOT ? -1 : 0;
	return inject(c, pid, false, err) ? 0 : -1;
}

static void become(struct control *c, pid_t pid)
{
	struct ms_err why = {0};
	char exe[32];
	snprintf(exe, sizeof exe, "/proc/%d/exe", (int)pid);
	enum launch_way way = launch_way(exe, &why);
	bool wanted = handshake_wanted(c, pid);
	if (!handshake_running_session(c, pid)) { /* it may be a forked child that is recorded */
		drain_settle(&c->drain);
		fork_children_accept(c);
	}
	sweep(c->inject, pid);
	if (!prepare(c, pid, way, wanted, &why) || !wanted)
		return;
	refuse(c, &why);
	handshake_missed(c, pid, reason(&why));
}

/* Waits until the control thread gives way. */
static bool ask(struct inject *j)
{
	uint64_t one = 1;
	pthread_mutex_lock(&j->lock);
	j->baton = ASKED;
	if (write(j->event, &one, sizeof one) < 0)
		errno = 0; /* it is set already */
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

static void execed(struct scan_tree *tree, pid_t pid)
{
	struct inject *j = (struct inject *)tree;
	struct control *c = j->c;
	struct ms_err why = {0};
	if (!ask(j))
		return;
	if (j->begun)
		become(c, pid);
	else if (!inject(c, pid, true, &why))
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

/* Gives way, if somebody asks. With `wait` somebody does, or will not any more. */
static void serve(struct inject *j, bool wait)
{
	uint64_t n;
	if (read(j->event, &n, sizeof n) < 0)
		errno = 0;
	pthread_mutex_lock(&j->lock);
	while (wait && j->baton == FREE && !j->over)
		pthread_cond_wait(&j->change, &j->lock);
	if (j->baton == ASKED) {
		j->baton = GRANTED;
		pthread_cond_broadcast(&j->change);
	}
	while (j->baton == GRANTED)
		pthread_cond_wait(&j->change, &j->lock);
	pthread_mutex_unlock(&j->lock);
}

void inject_serve(struct control *c)
{
	serve(c->inject, false);
}

/* Is it to be traced on, when it has the guest? */
static bool is_followed(const struct control *c)
{
	const struct options *o = c->opt;
	bool follows = c->files.folder && o->follow != FOLLOW_NONE && o->follow != FOLLOW_FORK;
	return c->attach && (follows || (o->leak_check != SCAN_NO && !o->sample_bytes));
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
	scanner_untrace(&c->scanner);
}

void inject_detach(struct control *c)
{
	struct inject *j = c->inject;
	if (!j)
		return;
	inject_over(c);
	if (c->attach)
		attach_detach(c);
	struct attach *first = c->attach;
	for (size_t i = 0; i < j->all.n; i++) {
		c->attach = j->all.v[i];
		attach_detach(c);
	}
	c->attach = first;
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
	if (j->event >= 0)
		close(j->event);
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
	if (!scanner_trace_tree(&c->scanner, c->launch.pid, &j->tree)) {
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

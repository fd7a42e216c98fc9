/* SPDX-License-Identifier: MIT
 * Notices the end of a process that nothing inside the process can hold: by abort, a fatal signal,
 * or a system call of its own.
 *
 * A thread of ms-record traces the command from its start with --leak-check=yes, and also a command
 * that nothing can be preloaded into (inject.h), then with all its descendants. If another program
 * execs such a program, a separate thread traces that from the exec on. The kernel stops every
 * thread of a process once more when the process ends (PTRACE_EVENT_EXIT), while its memory still
 * exists. Each thread leaves its registers there and continues, except the last one, which waits
 * during the scan. So ms-record never waits for a thread that waits for it, whether the kernel
 * writes a core file before or after.
 *
 * Meanwhile every signal stops the traced thread before it is delivered. An ignored signal does not
 * interrupt a waiting system call without tracing; with tracing it interrupts some calls, which are
 * restarted. The exit status is not touched: the tracing thread waits for stops only, and a traced
 * thread is detached for good before it ends. When the tracing thread ends, the kernel releases all
 * threads that are still traced.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ms-record/base/clock.h"
#include "ms-record/ptrace/hijack_private.h"
#include "libcommon/base/arena.h"
#include "libcommon/proc/proc.h"
#include "scan_work.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/session/session.h"

#define OPTIONS                                                                                    \
	(PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)
#define TREE (OPTIONS | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK)
/* Lists the ptrace options used until the exec, after which the process is traced like any
 * other. A process that the thread starts by vfork inherits these options. */
#define BEFORE_EXEC (PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)

struct tids {
	pid_t *v;
	size_t n, cap;
};

/* Describes one traced process. */
struct traced {
	struct traced *next;
	pid_t pid;
	struct tids tids;                  /* live threads */
	struct tids early;                 /* threads seen before their creator reported them */
	MS_ARRAY(struct scan_thread) regs; /* registers of threads that ended with the process */
	unsigned missed;                   /* number of threads that left no registers */
};

struct scan_trace {
	struct scanner *scanner;
	struct scan_tree *tree; /* NULL = one process only, also after an exec */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	pid_t tid; /* thread to seize */
	pid_t pid; /* child of ms-record, which is traced until its end; 0 = the process is traced
		      from an exec on */
	/* thread seized only for the process that it starts; 0 = none, or released */
	pid_t starter;
	int seized;         /* under lock: 0 = not known yet, 1 = the thread is seized, -1 = it
			       cannot be seized */
	bool over;          /* under lock: the scan at the end has read the memory */
	int quit;           /* atomic: detach all processes now */
	int done;           /* atomic: the thread is about to end */
	struct traced *all; /* used only by the tracing thread */
};

/* ---- traced threads ---- */

static bool has(const struct tids *l, pid_t tid)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i] == tid)
			return true;
	return false;
}

static void drop(struct tids *l, pid_t tid)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i] == tid)
			l->v[i--] = l->v[--l->n];
}

static struct traced *process(const struct scan_trace *t, pid_t pid)
{
	struct traced *p = t->all;
	while (p && p->pid != pid)
		p = p->next;
	return p;
}

static struct traced *whose(const struct scan_trace *t, pid_t tid)
{
	struct traced *p = t->all;
	while (p && !has(&p->tids, tid))
		p = p->next;
	return p;
}

static struct traced *add(struct scan_trace *t, pid_t pid)
{
	struct traced *p = ms_xcalloc(1, sizeof *p);
	p->pid = pid;
	p->next = t->all;
	return t->all = p;
}

static void forget(struct scan_trace *t, struct traced *p)
{
	struct traced **at = &t->all;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	MS_FREE(p->tids.v, p->early.v, p->regs.v, p);
}

/* Tells whether only one process is traced. */
static bool is_alone(const struct scan_trace *t)
{
	return !t->tree || t->tree->alone;
}

/* Returns the process of a stopped thread; NULL = not a traced process. */
static struct traced *process_of(struct scan_trace *t, pid_t tid)
{
	char name[32], text[4096];
	snprintf(name, sizeof name, "/proc/%d/status", (int)tid);
	ms_proc_text_at(AT_FDCWD, name, text, sizeof text);
	pid_t pid = (pid_t)ms_proc_status_number(text, "\nTgid:", 0);
	struct traced *p = pid ? process(t, pid) : NULL;
	return p || !pid || is_alone(t) ? p : add(t, pid);
}

/* Adds a thread at its first stop, perhaps before its creator reported it. Returns false if its
 * process is not traced. */
static bool on_new_thread(struct scan_trace *t, pid_t tid)
{
	struct traced *p = whose(t, tid);
	if (p)
		return true;
	p = process_of(t, tid);
	if (!p)
		return false;
	*MS_PUSH(&p->tids) = tid;
	*MS_PUSH(&p->early) = tid;
	return true;
}

static void add_created(struct scan_trace *t, pid_t created)
{
	for (struct traced *p = t->all; p; p = p->next)
		if (has(&p->early, created)) {
			drop(&p->early, created);
			return;
		}
	struct traced *p = process_of(t, created);
	if (p && !has(&p->tids, created))
		*MS_PUSH(&p->tids) = created;
}

/* Adds the thread whose creation `maker` reports; that thread may have ended since. Returns
 * false if `maker` was seized only for that report, and has been released. */
static bool on_clone(struct scan_trace *t, pid_t maker)
{
	unsigned long created;
	if (!ptrace(PTRACE_GETEVENTMSG, maker, NULL, &created))
		add_created(t, (pid_t)created);
	if (maker != t->starter)
		return true;
	struct traced *p = whose(t, maker);
	t->starter = 0;
	if (p)
		forget(t, p);
	ptrace(PTRACE_DETACH, maker, NULL, NULL);
	return false;
}

/* ---- the end ---- */

static bool own_exit(struct traced *p, pid_t tid, struct hijack_thread *h)
{
	*h = (struct hijack_thread){.tid = tid};
	if (!cpu_regs_get(tid, &h->regs))
		return h->regs.call == SYS_exit;
	p->missed++;
	h->gone = true;
	return true;
}

static void keep_registers(struct traced *p, const struct hijack_thread *h)
{
	struct hijack_stop one = {.threads = {(struct hijack_thread *)h, 1, 1}};
	size_t n;
	struct scan_thread *r = scan_registers(&one, &n);
	*MS_PUSH(&p->regs) = *r;
	free(r);
}

/* Lets another thread scan the process, and holds its last thread, `tid`, meanwhile. */
static void scan_now(struct scan_trace *t, const struct traced *p, pid_t tid)
{
	struct scanner *sc = t->scanner;
	if (!is_alone(t) && scanner_is_undecided(sc, p->pid))
		wake_settle(sc->drain);
	hijack_holds(true, UINT64_MAX);
	pthread_mutex_lock(&t->lock);
	t->over = !scanner_hold(sc, t, p->pid, tid, p->regs.v, p->missed ? 0 : p->regs.n);
	while (!t->over)
		pthread_cond_wait(&t->change, &t->lock);
	pthread_mutex_unlock(&t->lock);
	hijack_holds(false, UINT64_MAX);
}

void scan_trace_over(struct scan_trace *t)
{
	pthread_mutex_lock(&t->lock);
	t->over = true;
	pthread_cond_signal(&t->change);
	pthread_mutex_unlock(&t->lock);
}

/* Takes the registers of a thread that is about to end, and detaches it. */
static void on_exit_stop(struct scan_trace *t, pid_t tid)
{
	struct hijack_thread h;
	struct traced *p = whose(t, tid);
	if (p) {
		bool alone = own_exit(p, tid, &h);
		drop(&p->tids, tid);
		if (!h.gone && (!alone || !p->tids.n))
			keep_registers(p, &h);
		if (!p->tids.n) {
			scan_now(t, p, tid);
			forget(t, p);
		}
	}
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

/* Notes the death of a thread that was killed without an exit stop. */
static void on_death(struct scan_trace *t, pid_t tid)
{
	struct traced *p = whose(t, tid);
	if (tid == t->starter)
		t->starter = 0;
	if (!p)
		return;
	p->missed++;
	drop(&p->tids, tid);
	if (!p->tids.n)
		forget(t, p);
}

/* ---- other stops ---- */

/* Resumes a thread, unless it was killed meanwhile and is already in its exit stop. */
static void go_on(struct scan_trace *t, int how, pid_t tid, int sig)
{
	siginfo_t i;
	if (!ptrace(PTRACE_GETSIGINFO, tid, NULL, &i) && i.si_code >> 8 == PTRACE_EVENT_EXIT)
		on_exit_stop(t, tid);
	else
		ptrace(how, tid, NULL, (void *)(intptr_t)sig);
}

/* Removes the old id of a thread that called exec: its id is now that of the process. */
static void forget_maker(struct scan_trace *t, pid_t tid)
{
	unsigned long before;
	if (ptrace(PTRACE_GETEVENTMSG, tid, NULL, &before) || (pid_t)before == tid)
		return;
	on_death(t, (pid_t)before);
}

/* Forgets the other threads of a process that called exec: only the caller is left, with the
 * process's id. Returns false if the process is no longer traced. */
static bool on_exec(struct scan_trace *t, pid_t tid)
{
	forget_maker(t, tid);
	struct traced *p = process(t, tid);
	if (!p)
		p = add(t, tid);
	p->tids.n = p->early.n = p->regs.n = p->missed = 0;
	*MS_PUSH(&p->tids) = tid;
	if (tid == t->starter)
		t->starter = 0;
	if (!t->tree)
		return true;
	hijack_holds(true, UINT64_MAX);
	bool stays = t->tree->execed(t->tree, tid, &t->quit);
	hijack_holds(false, UINT64_MAX);
	if (stays) {
		uintptr_t options = is_alone(t) ? OPTIONS : TREE;
		ptrace(PTRACE_SETOPTIONS, tid, NULL, (void *)options);
		return true;
	}
	forget(t, p);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	return false;
}

/* Tells whether a system call was interrupted, as far as registers show. */
static bool broken_off(const struct cpu_regs *r)
{
	return r->call >= 0 && (r->result == -EINTR || r->result == -HIJACK_RESTART_BLOCK);
}

/* Restarts a system call that this signal would not have interrupted without tracing. */
static void repair(pid_t tid, int sig)
{
	struct cpu_regs r;
	if (cpu_regs_get(tid, &r) || !broken_off(&r))
		return;
	int proc = process_folder(tid);
	if (proc < 0)
		return;
	uint64_t bit = UINT64_C(1) << (sig - 1);
	bool ignored = hijack_status(proc, tid, "\nSigIgn:\t", 16) & bit;
	bool caught = hijack_status(proc, tid, "\nSigCgt:\t", 16) & bit;
	bool silent = sig == SIGCHLD || sig == SIGURG || sig == SIGWINCH || sig == SIGCONT;
	if ((ignored || (silent && !caught)) && hijack_repair(&r, proc, tid))
		cpu_regs_set(tid, &r);
	close(proc);
}

static void on_signal(struct scan_trace *t, pid_t tid, int sig)
{
	repair(tid, sig);
	go_on(t, PTRACE_CONT, tid, sig);
}

static bool stops(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

static void on_stop(struct scan_trace *t, pid_t tid, int status)
{
	int event = status >> 16, sig = WSTOPSIG(status);
	if (event == PTRACE_EVENT_EXIT) {
		on_exit_stop(t, tid);
	} else if (event == PTRACE_EVENT_STOP && !on_new_thread(t, tid)) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
	} else if (event == PTRACE_EVENT_STOP && stops(sig)) {
		go_on(t, PTRACE_LISTEN, tid, 0);
	} else if (!event) {
		on_signal(t, tid, sig);
	} else {
		bool stays = event != PTRACE_EVENT_EXEC || on_exec(t, tid);
		if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
		    event == PTRACE_EVENT_VFORK)
			stays = on_clone(t, tid);
		if (stays)
			go_on(t, PTRACE_CONT, tid, 0);
	}
}

/* ---- the thread ---- */

/* Tells whether another thread waits for the exit status of that process. */
static bool is_awaited(const struct scan_trace *t, pid_t pid)
{
	return pid == t->pid || (t->tree && pid == t->tree->child);
}

/* Waits for the next stop or end of any traced thread and handles it. Returns false if no thread
 * is left, or if the single process has ended; its status is left to the thread that waits for
 * it. */
static bool turn(struct scan_trace *t)
{
	siginfo_t i = {0};
	int status;
	if (waitid(P_ALL, 0, &i, WSTOPPED | WEXITED | WNOWAIT | __WALL | __WNOTHREAD))
		return errno == EINTR;
	bool ended = i.si_code == CLD_EXITED || i.si_code == CLD_KILLED || i.si_code == CLD_DUMPED;
	if (ended && is_awaited(t, i.si_pid))
		return false;
	if (waitpid(i.si_pid, &status, __WALL | __WNOTHREAD | WNOHANG) != i.si_pid)
		return true;
	if (WIFSTOPPED(status))
		on_stop(t, i.si_pid, status);
	else
		on_death(t, i.si_pid);
	return true;
}

static void nothing(int sig)
{
	(void)sig;
}

static int quit_signal(void)
{
	return SIGRTMAX - 2;
}

/* Makes a signal interrupt a wait, in this thread alone. */
static void take_quit(void)
{
	struct sigaction a = {.sa_handler = nothing};
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, quit_signal());
	sigaction(quit_signal(), &a, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static bool seize_first(struct scan_trace *t)
{
	unsigned options = is_alone(t) ? OPTIONS : TREE;
	if (!t->pid)
		options = BEFORE_EXEC | (t->starter ? PTRACE_O_TRACEVFORK : 0);
	if (ptrace(PTRACE_SEIZE, t->tid, NULL, (void *)(uintptr_t)options))
		return false;
	struct traced *p = add(t, t->tid);
	*MS_PUSH(&p->tids) = t->tid;
	return true;
}

static void *run(void *arg)
{
	struct scan_trace *t = arg;
	take_quit();
	bool good = seize_first(t);
	pthread_mutex_lock(&t->lock);
	t->seized = good ? 1 : -1;
	pthread_cond_signal(&t->change);
	pthread_mutex_unlock(&t->lock);
	if (good && !t->pid) /* tracing from an exec on: the thread may hold stopped threads at any
				time */
		guard_stay();
	while (good && (t->pid || t->all) && !__atomic_load_n(&t->quit, __ATOMIC_ACQUIRE))
		good = turn(t);
	if (t->tree && t->tree->over)
		t->tree->over(t->tree);
	guard_dismiss();
	__atomic_store_n(&t->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

bool scan_trace_is_tree(const struct scan_trace *t)
{
	return !is_alone(t);
}

bool scan_trace_ended(const struct scan_trace *t)
{
	return __atomic_load_n(&t->done, __ATOMIC_ACQUIRE);
}

static struct scan_trace *start_thread(struct scan_trace *t)
{
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->change, NULL);
	if (pthread_create(&t->thread, NULL, run, t)) {
		free(t);
		return NULL;
	}
	pthread_mutex_lock(&t->lock);
	while (!t->seized)
		pthread_cond_wait(&t->change, &t->lock);
	int seized = t->seized;
	pthread_mutex_unlock(&t->lock);
	if (seized > 0)
		return t;
	scan_trace_free(t);
	return NULL;
}

struct scan_trace *scan_trace_start(struct scanner *sc, pid_t pid, struct scan_tree *tree)
{
	struct scan_trace *t = ms_xcalloc(1, sizeof *t);
	*t = (struct scan_trace){.scanner = sc, .tree = tree, .tid = pid, .pid = pid};
	return start_thread(t);
}

struct scan_trace *scan_trace_exec(struct scanner *sc, pid_t tid, bool starts,
				   struct scan_tree *tree)
{
	struct scan_trace *t = ms_xcalloc(1, sizeof *t);
	*t = (struct scan_trace){
		.scanner = sc, .tree = tree, .tid = tid, .starter = starts ? tid : 0};
	return start_thread(t);
}

/* Repeats the signal until the tracing thread has seen it, because that thread may just be about
 * to wait. */
void scan_trace_quit(struct scan_trace *t)
{
	__atomic_store_n(&t->quit, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&t->done, __ATOMIC_ACQUIRE)) {
		pthread_kill(t->thread, quit_signal());
		usleep(1000);
	}
}

void scan_trace_free(struct scan_trace *t)
{
	if (!t)
		return;
	if (!is_alone(t))
		scan_trace_quit(t);
	pthread_join(t->thread, NULL);
	while (t->all)
		forget(t, t->all);
	free(t);
}

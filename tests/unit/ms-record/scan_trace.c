/* SPDX-License-Identifier: MIT
 * Processes that are traced to their end: which threads are known of whom after each kind of stop,
 * what the kernel is asked for then, and which registers are left when the last one waits. The
 * kernel is made up here, and so is the scan.
 */
#include "ms-record/scan/scan_trace.c" /* it belongs to a tool, of which there is no library */

#include <string.h>

#include "tests/unit/held.h"
#include "noted.h"
#include "condition.h"

#define STOPPED(event, sig) ((event) << 16 | (sig) << 8 | 0x7f)

static struct wake drain;
static struct scanner scanner = {.drain = &drain};
static struct scan_trace *t;
static pid_t group[100]; /* of threads; 0 = gone */

/* Says what the kernel's calls do. */
static struct {
	bool blocked, refused, no_message, exits, undecided, held, no_regs, no_folder, mends,
		lets_go;
	unsigned long created;
	struct cpu_regs regs;
	uint64_t ignored, caught;
	int error; /* of waitid; 0 = there are events: */
	struct {
		pid_t pid;
		int code, status;
		bool taken; /* by somebody else meanwhile */
	} events[8];
	size_t next, count;
} will;
static pthread_t over_thread;
static bool over_started;

/* ---- the kernel ---- */

/* When whoever started it waits for that. */
static long seize(pid_t pid, uintptr_t options)
{
	note("seize %d %s", pid,
	     options == OPTIONS                               ? "alone"
	     : options == TREE                                ? "with all"
	     : options == BEFORE_EXEC                         ? "before its exec"
	     : options == (BEFORE_EXEC | PTRACE_O_TRACEVFORK) ? "before it starts one"
							      : "?");
	await_waiter();
	return will.refused ? -1 : 0;
}

static long tell(enum __ptrace_request what, siginfo_t *i, unsigned long *created)
{
	if (what == PTRACE_GETSIGINFO)
		*i = (siginfo_t){.si_code =
					 will.exits ? PTRACE_EVENT_EXIT << 8 | SIGTRAP : SIGTRAP};
	else if (will.no_message)
		return -1;
	else
		*created = will.created;
	return 0;
}

long ptrace(enum __ptrace_request what, ...)
{
	va_list ap;
	va_start(ap, what);
	pid_t tid = va_arg(ap, pid_t);
	(void)va_arg(ap, void *);
	void *data = va_arg(ap, void *);
	va_end(ap);
	if (what == PTRACE_SEIZE)
		return seize(tid, (uintptr_t)data);
	if (what == PTRACE_GETSIGINFO || what == PTRACE_GETEVENTMSG)
		return tell(what, data, data);
	if (what == PTRACE_SETOPTIONS)
		note("options %d%s", tid, (uintptr_t)data == TREE ? "" : "?");
	else
		note("%s %d %d",
		     what == PTRACE_CONT     ? "cont"
		     : what == PTRACE_LISTEN ? "listen"
		     : what == PTRACE_DETACH ? "detach"
					     : "?",
		     tid, (int)(intptr_t)data);
	return 0;
}

int waitid(idtype_t type, id_t id, siginfo_t *i, int options)
{
	bool good = type == P_ALL && !id &&
		    options == (WSTOPPED | WEXITED | WNOWAIT | __WALL | __WNOTHREAD);
	sigset_t blocked;
	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	if (!good || sigismember(&blocked, SIGUSR1) != will.blocked)
		note("waitid?");
	if (!will.error && will.next == will.count)
		pause(); /* until it is to quit */
	errno = will.error ? will.error : EINTR;
	if (will.error || will.next == will.count)
		return -1;
	i->si_pid = will.events[will.next].pid;
	i->si_code = will.events[will.next].code;
	return 0;
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	*status = will.events[will.next].status;
	if (pid != will.events[will.next].pid || options != (__WALL | __WNOTHREAD | WNOHANG))
		note("waitpid?");
	return will.events[will.next++].taken ? 0 : pid;
}

bool ms_proc_text_at(int folder, const char *name, char *text, size_t room)
{
	int tid = 0, n = 0;
	bool good = folder == AT_FDCWD && sscanf(name, "/proc/%d/status%n", &tid, &n) == 1 && n;
	text[0] = '\0';
	if (good && group[tid])
		snprintf(text, room, "Name:\tx\nTgid:\t%d\nPid:\t%d\n", group[tid], tid);
	return good && group[tid];
}

/* ---- the rest of the recorder ---- */

int cpu_regs_get(pid_t tid, struct cpu_regs *r)
{
	*r = will.regs;
	return will.no_regs || tid < 1 ? -1 : 0;
}

int cpu_regs_set(pid_t tid, const struct cpu_regs *r)
{
	note("repaired %d%s", tid, r->ip == 99 ? "" : "?");
	return 0;
}

static bool guarded;

void hijack_holds(bool on, uint64_t until_ns)
{
	if (guarded == on || until_ns != UINT64_MAX)
		note("holds?");
	guarded = on;
}

void guard_stay(void)
{
	note("guarded");
}

/* Not noted: it does nothing where there is none. */
void guard_dismiss(void)
{
}

uint64_t hijack_status(int proc, pid_t tid, const char *label, int base)
{
	bool good = proc >= 0 && tid == 5 && base == 16;
	return !good                           ? 0
	       : !strcmp(label, "\nSigIgn:\t") ? will.ignored
	       : !strcmp(label, "\nSigCgt:\t") ? will.caught
					       : 0;
}

bool hijack_repair(struct cpu_regs *r, int proc, pid_t tid)
{
	r->ip = proc >= 0 && tid == 5 ? 99 : 0;
	return will.mends;
}

int process_folder(pid_t pid)
{
	return will.no_folder || pid != 5 ? -1 : dup(STDOUT_FILENO);
}

struct scan_thread *scan_registers(const struct hijack_stop *s, size_t *count)
{
	struct scan_thread *v = ms_xcalloc(s->threads.n, sizeof *v);
	CHECK(!will.no_regs, "registers of %d", s->threads.v[0].tid);
	*count = s->threads.n;
	v->sp = (uint64_t)s->threads.v[0].tid;
	return v;
}

bool scanner_is_undecided(struct scanner *sc, pid_t pid)
{
	return sc == &scanner && pid == 5 && will.undecided;
}

void wake_settle(struct wake *k)
{
	note(k == &drain ? "settle" : "settle?");
}

static void *end_scan(void *arg)
{
	scan_trace_over(arg);
	return NULL;
}

/* The scan is over as soon as that thread of the process waits. */
bool scanner_hold(struct scanner *sc, struct scan_trace *by, pid_t pid, pid_t tid,
		  const struct scan_thread *regs, size_t count)
{
	note("%s %d of %d:", sc == &scanner && by->scanner == sc && guarded ? "hold" : "?", tid,
	     pid);
	for (size_t i = 0; i < count; i++)
		sprintf(done + strlen(done), " %d", (int)regs[i].sp);
	if (will.held) {
		over_started = !pthread_create(&over_thread, NULL, end_scan, t);
		usleep(1000); /* it would be too early */
	}
	return will.held;
}

static bool execed(struct scan_tree *tree, pid_t pid, const int *quit)
{
	(void)tree;
	note("execed %d%s", pid, quit && !*quit ? "" : "?");
	return !will.lets_go;
}

static void over(struct scan_tree *tree)
{
	(void)tree;
	note("over");
}
static struct scan_tree tree = {.execed = execed, .over = over};

/* ---- the state of things ---- */

/* The processes: threads, those of which nobody told, whose registers are there, how many left
 * none. */
static void are(const char *what, const char *want)
{
	char got[400] = "";
	for (const struct traced *p = t->all; p; p = p->next) {
		sprintf(got + strlen(got), "%s%d:", p == t->all ? "" : "; ", p->pid);
		for (size_t i = 0; i < p->tids.n; i++)
			sprintf(got + strlen(got), " %d", p->tids.v[i]);
		for (size_t i = 0; i < p->early.n; i++)
			sprintf(got + strlen(got), " early %d", p->early.v[i]);
		for (size_t i = 0; i < p->regs.n; i++)
			sprintf(got + strlen(got), " regs %d", (int)p->regs.v[i].sp);
		if (p->missed)
			sprintf(got + strlen(got), " missed %u", p->missed);
	}
	CHECK(!strcmp(got, want), "%s: '%s', not '%s'", what, got, want);
}

static void end(void)
{
	while (t && t->all)
		forget(t, t->all);
	free(t);
	t = NULL;
}

/* The process 5 has threads 5 and 7; with `all`, there is 6 too. */
static void begin(bool all)
{
	end();
	memset(&will, 0, sizeof will);
	memset(group, 0, sizeof group);
	group[5] = group[7] = group[8] = 5;
	group[6] = group[9] = 6;
	t = ms_xcalloc(1, sizeof *t);
	t->scanner = &scanner;
	t->pid = 5;
	t->tree = all ? &tree : NULL;
	pthread_mutex_init(&t->lock, NULL);
	struct traced *p = add(t, 5);
	*MS_PUSH(&p->tids) = 5;
	*MS_PUSH(&p->tids) = 7;
	if (all) {
		p = add(t, 6);
		*MS_PUSH(&p->tids) = 6;
	}
	done[0] = '\0';
	begin_waiting();
}

static void exit_of(pid_t tid, int64_t call)
{
	will.regs.call = call;
	on_stop(t, tid, STOPPED(PTRACE_EVENT_EXIT, SIGTRAP));
	if (over_started)
		pthread_join(over_thread, NULL);
	over_started = false;
}

/* ---- threads come ---- */

static void check_new_threads(void)
{
	begin(false);
	on_stop(t, 8, STOPPED(PTRACE_EVENT_STOP, SIGTRAP));
	are("a new one, of which nobody told", "5: 5 7 8 early 8");
	will.created = 8;
	on_stop(t, 5, STOPPED(PTRACE_EVENT_CLONE, SIGTRAP));
	are("now it was told of", "5: 5 7 8");
	on_stop(t, 5, STOPPED(PTRACE_EVENT_CLONE, SIGTRAP));
	are("told of again", "5: 5 7 8");
	did("all go on", "cont 8 0, cont 5 0, cont 5 0");
	on_stop(t, 8, STOPPED(PTRACE_EVENT_STOP, SIGTRAP));
	are("it is known", "5: 5 7 8");
	did("it goes on", "cont 8 0");
	group[10] = 5;
	will.created = 10;
	on_stop(t, 5, STOPPED(PTRACE_EVENT_CLONE, SIGTRAP));
	are("told of before it was seen", "5: 5 7 8 10");
	will.created = 11;
	on_stop(t, 5, STOPPED(PTRACE_EVENT_CLONE, SIGTRAP));
	are("it has ended since", "5: 5 7 8 10");
	will.created = 9;
	on_stop(t, 5, STOPPED(PTRACE_EVENT_CLONE, SIGTRAP));
	are("another process's", "5: 5 7 8 10");
	group[12] = 5;
	will.created = 12;
	will.no_message = true;
	on_stop(t, 5, STOPPED(PTRACE_EVENT_CLONE, SIGTRAP));
	are("nobody knows whose", "5: 5 7 8 10");
	did("all go on", "cont 5 0, cont 5 0, cont 5 0, cont 5 0");
	on_stop(t, 9, STOPPED(PTRACE_EVENT_STOP, SIGTRAP));
	on_stop(t, 11, STOPPED(PTRACE_EVENT_STOP, SIGSTOP));
	are("none of ours", "5: 5 7 8 10");
	did("let go", "detach 9 0, detach 11 0");
}

static void check_tree(void)
{
	begin(true);
	on_stop(t, 9, STOPPED(PTRACE_EVENT_STOP, SIGTRAP));
	are("of the other one", "6: 6 9 early 9; 5: 5 7");
	group[20] = 20;
	will.created = 20;
	on_stop(t, 7, STOPPED(PTRACE_EVENT_FORK, SIGTRAP));
	are("a child", "20: 20; 6: 6 9 early 9; 5: 5 7");
	group[21] = 21;
	will.created = 21;
	on_stop(t, 7, STOPPED(PTRACE_EVENT_VFORK, SIGTRAP));
	are("another", "21: 21; 20: 20; 6: 6 9 early 9; 5: 5 7");
	will.created = 9;
	on_stop(t, 6, STOPPED(PTRACE_EVENT_CLONE, SIGTRAP));
	are("told of, further back", "21: 21; 20: 20; 6: 6 9; 5: 5 7");
	group[22] = 22;
	will.created = 22;
	on_stop(t, 22, STOPPED(PTRACE_EVENT_STOP, SIGTRAP));
	are("a child before its parent told", "22: 22 early 22; 21: 21; 20: 20; 6: 6 9; 5: 5 7");
	did("all go on", "cont 9 0, cont 7 0, cont 7 0, cont 6 0, cont 22 0");
	on_stop(t, 23, STOPPED(PTRACE_EVENT_STOP, SIGTRAP));
	did("gone already", "detach 23 0");
	forget(t, t->all->next);
	are("one of them forgotten", "22: 22 early 22; 20: 20; 6: 6 9; 5: 5 7");
}

static void check_exec(void)
{
	begin(false);
	t->all->missed = 2;
	*MS_PUSH(&t->all->early) = 7;
	(*MS_PUSH(&t->all->regs)).sp = 3;
	on_stop(t, 5, STOPPED(PTRACE_EVENT_EXEC, SIGTRAP));
	are("it alone is left", "5: 5");
	did("it goes on", "cont 5 0");
	begin(true);
	on_stop(t, 5, STOPPED(PTRACE_EVENT_EXEC, SIGTRAP));
	are("of a tree", "6: 6; 5: 5");
	did("it is told", "execed 5, options 5, cont 5 0");
	on_stop(t, 20, STOPPED(PTRACE_EVENT_EXEC, SIGTRAP));
	are("one that was not known", "20: 20; 6: 6; 5: 5");
	did("it is told", "execed 20, options 20, cont 20 0");
}

/* A thread is seized on its way to an exec, or to start a process that execs. */
static void check_before_exec(void)
{
	begin(true);
	will.lets_go = true;
	on_stop(t, 5, STOPPED(PTRACE_EVENT_EXEC, SIGTRAP));
	are("let go", "6: 6");
	did("for good", "execed 5, detach 5 0");
	begin(true);
	will.created = 7; /* by this number the kernel knew it */
	on_stop(t, 7, STOPPED(PTRACE_EVENT_EXEC, SIGTRAP));
	are("its number stays", "7: 7; 6: 6; 5: 5 7");
	begin(true);
	t->starter = 6;
	will.created = 6;
	on_stop(t, 20, STOPPED(PTRACE_EVENT_EXEC, SIGTRAP));
	are("the thread has its process's number", "20: 20; 5: 5 7");
	is("it starts nobody any more", (uint64_t)t->starter, 0);
	begin(true);
	t->starter = 6;
	group[20] = 20;
	will.created = 20;
	on_stop(t, 6, STOPPED(0, SIGUSR1));
	on_stop(t, 6, STOPPED(PTRACE_EVENT_VFORK, SIGTRAP));
	are("the child is there instead", "20: 20; 5: 5 7");
	did("its starter is let go", "cont 6 10, detach 6 0");
	is("once", (uint64_t)t->starter, 0);
	begin(true);
	t->starter = 6;
	on_death(t, 6);
	are("the starter dies", "5: 5 7");
	is("it starts nobody", (uint64_t)t->starter, 0);
}

/* ---- threads go ---- */

static void check_exits(void)
{
	begin(false);
	exit_of(7, SYS_exit);
	are("by itself", "5: 5");
	did("nothing is kept", "detach 7 0");
	exit_of(5, SYS_exit);
	are("the last one", "");
	did("it is held", "hold 5 of 5: 5, detach 5 0");
	begin(false);
	exit_of(5, SYS_exit_group);
	are("with its process", "5: 7 regs 5");
	exit_of(7, -1);
	are("the last one", "");
	did("registers of both", "detach 5 0, hold 7 of 5: 5 7, detach 7 0");
	begin(false);
	will.no_regs = true;
	exit_of(7, 0);
	are("it left none", "5: 5 missed 1");
	will.no_regs = false;
	exit_of(5, -1);
	did("so there are none", "detach 7 0, hold 5 of 5:, detach 5 0");
	begin(false);
	exit_of(7, -1);
	will.no_regs = true;
	exit_of(5, -1);
	did("the last one left none", "detach 7 0, hold 5 of 5:, detach 5 0");
	begin(false);
	exit_of(8, -1);
	are("none of ours", "5: 5 7");
	did("it goes", "detach 8 0");
}

static void check_held(void)
{
	for (int i = 0; i < 8; i++) {
		begin(i & 1);
		will.undecided = i & 2;
		will.held = i & 4;
		exit_of(7, SYS_exit);
		exit_of(5, -1);
		did("the last one", (i & 3) == 3 ? "detach 7 0, settle, hold 5 of 5: 5, detach 5 0"
						 : "detach 7 0, hold 5 of 5: 5, detach 5 0");
		are("then", i & 1 ? "6: 6" : "");
		is("waited", (uint64_t)waiting, will.held);
		is("over", t->over, true);
		is("unlocked", (uint64_t)pthread_mutex_trylock(&t->lock), 0);
	}
}

static void check_deaths(void)
{
	begin(false);
	on_death(t, 9);
	are("nobody", "5: 5 7");
	on_death(t, 7);
	are("one of two", "5: 5 missed 1");
	on_death(t, 5);
	are("the last one", "");
	did("nothing is asked for", "");
}

/* ---- other stops ---- */

static void check_stops(void)
{
	begin(false);
	for (int sig = 1; sig < 32; sig++) {
		char want[40];
		bool lies = sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
		on_stop(t, 7, STOPPED(PTRACE_EVENT_STOP, sig));
		did("it stops with its process", lies ? "listen 7 0" : "cont 7 0");
		sprintf(want, "cont 7 %d", sig);
		on_stop(t, 7, STOPPED(0, sig));
		did("a signal", want);
	}
	will.exits = true;
	will.regs.call = -1;
	on_stop(t, 7, STOPPED(0, SIGTERM));
	are("it is at its end already", "5: 5 regs 7");
	did("for good", "detach 7 0");
	will.created = 8;
	on_stop(t, 5, STOPPED(PTRACE_EVENT_CLONE, SIGTRAP));
	are("it told of it still", "5: 8 regs 7 regs 5");
	did("for good", "detach 5 0");
}

static void repair_case(int sig, unsigned how, int64_t call, int64_t result)
{
	bool silent = sig == SIGCHLD || sig == SIGURG || sig == SIGWINCH || sig == SIGCONT;
	bool ignored = how & 1, caught = how & 2, lost = how & (4 | 8);
	bool cut = call >= 0 && (result == -EINTR || result == -516);
	uint64_t bit = UINT64_C(1) << (sig - 1);
	char want[60];
	will.ignored = ignored ? bit : ~bit;
	will.caught = caught ? bit : ~bit;
	will.no_regs = how & 4;
	will.no_folder = how & 8;
	will.mends = how & 16;
	will.regs = (struct cpu_regs){.call = call, .result = result};
	on_stop(t, 5, STOPPED(0, sig));
	bool again = cut && !lost && will.mends && (ignored || (silent && !caught));
	sprintf(want, "%scont 5 %d", again ? "repaired 5, " : "", sig);
	did("a signal", want);
}

static void check_repairs(void)
{
	static const int64_t calls[] = {-1, 0, 7}, results[] = {-EINTR, -516, 0, -EAGAIN, EINTR};
	begin(false);
	unsigned files = held_files();
	for (int sig = 1; sig <= 64; sig++)
		for (unsigned how = 0; how < 32; how++)
			for (size_t i = 0; i < 15; i++)
				repair_case(sig, how, calls[i % 3], results[i / 3]);
	is("files", held_files(), files);
}

/* ---- the thread ---- */

static void happens(pid_t pid, int code, int status)
{
	will.events[will.count].pid = pid;
	will.events[will.count].code = code;
	will.events[will.count++].status = status;
}

static void check_turns(void)
{
	static const int ends[] = {CLD_EXITED, CLD_KILLED, CLD_DUMPED};
	begin(false);
	will.error = EINTR;
	is("broken off", turn(t), true);
	will.error = ECHILD;
	is("nobody is left", turn(t), false);
	will.error = 0;
	for (size_t i = 0; i < 3; i++) {
		begin(false);
		happens(5, ends[i], 0);
		is("its end", turn(t), false);
		is("is not ours to see", will.next, 0);
		begin(false);
		happens(7, ends[i], SIGKILL);
		is("another one's", turn(t), true);
		are("without a stop", "5: 5 missed 1");
	}
	begin(true);
	tree.child = 7;
	happens(7, CLD_KILLED, SIGKILL);
	is("that of our child", turn(t), false);
	is("is not ours to see", will.next, 0);
	tree.child = 0;
	begin(false);
	happens(5, CLD_TRAPPED, STOPPED(0, SIGUSR1));
	happens(7, CLD_TRAPPED, STOPPED(0, SIGUSR2));
	happens(7, CLD_TRAPPED, STOPPED(0, SIGHUP));
	will.events[1].taken = true;
	is("a stop", turn(t), true);
	is("not any more", turn(t), true);
	is("a stop", turn(t), true);
	did("they go on", "cont 5 10, cont 7 1");
	are("all are there", "5: 5 7");
}

static void check_run(void)
{
	begin(false);
	end();
	memset(&will, 0, sizeof will);
	happens(8, CLD_TRAPPED, STOPPED(PTRACE_EVENT_STOP, SIGTRAP));
	happens(8, CLD_KILLED, SIGKILL);
	happens(5, CLD_TRAPPED, STOPPED(PTRACE_EVENT_EXIT, SIGTRAP));
	happens(5, CLD_EXITED, 0);
	group[8] = 5;
	t = scan_trace_start(&scanner, 5, NULL);
	is("traced", t != NULL, true);
	is("unlocked", (uint64_t)pthread_mutex_trylock(&t->lock), 0);
	pthread_mutex_unlock(&t->lock);
	scan_trace_free(t);
	did("to its end", "seize 5 alone, cont 8 0, hold 5 of 5:, detach 5 0");
	is("all that came", will.next, 3);
	begin_waiting();
	will.refused = true;
	t = scan_trace_start(&scanner, 5, NULL);
	is("refused", t == NULL, true);
	did("once", "seize 5 alone");
	scan_trace_free(NULL);
	begin_waiting();
	memset(&will, 0, sizeof will);
	will.lets_go = true;
	happens(5, CLD_TRAPPED, STOPPED(PTRACE_EVENT_EXEC, SIGTRAP));
	t = scan_trace_exec(&scanner, 5, false, &tree);
	while (!scan_trace_ended(t))
		usleep(1000);
	scan_trace_free(t);
	did("until it is let go", "seize 5 before its exec, guarded, execed 5, detach 5 0, over");
	begin_waiting();
	memset(&will, 0, sizeof will);
	happens(7, CLD_KILLED, SIGKILL);
	t = scan_trace_exec(&scanner, 7, true, &tree);
	while (!scan_trace_ended(t))
		usleep(1000);
	scan_trace_free(t);
	did("until it has died", "seize 7 before it starts one, guarded, over");
	begin_waiting();
	will.refused = true;
	is("refused", scan_trace_exec(&scanner, 5, false, &tree) == NULL, true);
	did("it is not guarded", "seize 5 before its exec, over");
}

/* The stack of the next thread is not empty. */
static void *fill_stack(void *arg)
{
	char all[16384];
	memset(all, 0xff, sizeof all);
	__asm__ volatile("" : : "r"(all) : "memory");
	return arg;
}

/* Checks that the thread goes on until it is told to quit, with all signals blocked before. */
static void check_quit(void)
{
	struct sigaction watch;
	sigset_t set;
	pthread_t other;
	is("a thread", (uint64_t)pthread_create(&other, NULL, fill_stack, NULL), 0);
	pthread_join(other, NULL);
	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	begin_waiting();
	memset(&will, 0, sizeof will);
	happens(5, CLD_TRAPPED, STOPPED(0, SIGHUP));
	will.blocked = true;
	t = scan_trace_start(&scanner, 5, &tree);
	is("traced", t != NULL, true);
	scan_trace_free(t);
	sigaction(SIGRTMAX - 1, NULL, &watch);
	is("the watch's signal is not taken", watch.sa_handler == SIG_DFL, true);
	bool came = strstr(done, "cont 5 1") != NULL;
	did("let go", came ? "seize 5 with all, cont 5 1, over" : "seize 5 with all, over");
	begin_waiting();
	will.refused = true;
	t = scan_trace_start(&scanner, 5, &tree);
	is("refused", t == NULL, true);
	did("over at once", "seize 5 with all, over");
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int main(void)
{
	close(STDIN_FILENO); /* 0 is a descriptor like any other */
	check_run();
	long threads = held_blocks; /* the C library keeps what it had for them */
	check_quit();
	check_new_threads();
	check_tree();
	check_exec();
	check_before_exec();
	check_exits();
	check_held();
	check_deaths();
	check_stops();
	check_repairs();
	check_turns();
	end();
	is("all is given back", (uint64_t)held_blocks, (uint64_t)threads);
	return failures != 0;
}

/* SPDX-License-Identifier: MIT
 * Who is scanned, when, and what a process that is held at its end is told: every state that it can
 * be in, and the threads of the scanner one round at a time.
 */
#include "ms-record/scan/scanner.c" /* it belongs to a tool, of which there is no library */

#include <fcntl.h>
#include <sys/stat.h>

#include "tests/unit/held.h"
#include "tests/unit/is.h"
#include "condition.h"

#define TID 7 /* of the thread that is held */

static struct session session, other;
static struct scan scan, other_scan;
static struct mg_session mem, other_mem;
static struct scan_options opt = {.wish = SCAN_YES};
static struct scanner *sc, *tracer; /* who traces */
static struct wake drain;
/* Holds the answers of the rest of the recorder, and what it was asked. */
static bool vforked, traceable;
static uint64_t signature;
static unsigned told, told_of, woken, watched, unwatched, events, rounds, naps, traces;
static uint64_t waited, now_stamp;
static bool blocked, unwatched_locked;
static pid_t asked_tid, watcher;
static char work[80];

/* ---- the rest of the recorder ---- */

char hijack_state(int proc, pid_t tid)
{
	(void)proc;
	asked_tid = tid;
	return vforked ? 'D' : 'R';
}

uint64_t process_signature(int proc)
{
	(void)proc;
	return signature;
}

void scan_tell_guest(struct session *s, enum mg_end_state state)
{
	s->mem->end_state = state;
	told_of++;
	told = state;
}

uint64_t live_stamp(const struct session *s)
{
	(void)s;
	return now_stamp;
}

const char *scan_state_words(uint64_t state)
{
	return state == MS_SCAN_ENDED ? "the program ended before it could be scanned" : "?";
}

void wake_event(int event)
{
	events += event == 3;
}

void wake_up(struct wake *w)
{
	woken += w == &drain;
}

void scan_keep_look(struct session *s)
{
	(void)s;
}

static char none[300];
void scan_put_none(struct session *s, const char *label, uint64_t why)
{
	snprintf(none, sizeof none, "%c %s %u", s == &session ? 's' : 'o', label, (unsigned)why);
}

void scan_work_on(struct scanner *by, struct session *s, enum scan_asker asker)
{
	sprintf(work + strlen(work), "%c%u%s ", s == &session ? 's' : 'o', asker,
		s->scan->busy ? "" : "?");
	by->stop = true;
	if (asker == SCAN_BY_TELL)
		other_scan.due = scan.due = true;
}

void watch_block(sigset_t *before)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, before);
}

/* Is its signal blocked in this thread? */
static bool is_blocked(void)
{
	sigset_t now;
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	return sigismember(&now, SIGUSR2);
}

void watch_begin(struct scan *q, const struct session *s, pid_t tid)
{
	watched += q == s->scan && tid == sc->tid && tid > 0;
}

void watch_end(struct scan *q)
{
	unwatched += q == &scan || q == &other_scan;
	unwatched_locked = pthread_mutex_trylock(&sc->lock) != 0;
	if (!unwatched_locked)
		pthread_mutex_unlock(&sc->lock);
}

uint64_t watch_patience(const struct session *s)
{
	return s == &session ? 30 : 20;
}

void watch_wait(uint64_t ns)
{
	waited = ns;
	blocked = is_blocked();
	watcher = sc->tid;
	sc->stop |= __atomic_add_fetch(&rounds, 1, __ATOMIC_SEQ_CST) == 2;
}

void watch_wake(pid_t tid)
{
	woken += tid == 99 ? 100 : 10000;
}

struct scan_trace *scan_trace_start(struct scanner *by, pid_t pid, struct scan_tree *tree)
{
	traces += by == tracer && pid == 5 ? tree ? 100 : 1 : 10000;
	return traceable ? (struct scan_trace *)&traces : NULL;
}

void scan_trace_quit(struct scan_trace *t)
{
	traces += t ? 10000000 : 0;
}

static bool is_tree;
bool scan_trace_is_tree(const struct scan_trace *t)
{
	return t && is_tree;
}

void scan_trace_free(struct scan_trace *t)
{
	traces += t ? 1000000 : 0;
}

/* A scan is over when it is waited for a second time. */
int usleep(useconds_t us)
{
	if (us == 1000 && ++naps == 2)
		scan.busy = 0;
	return 0;
}

/* ---- the state of things ---- */

static void begin(void)
{
	static struct scanner one;
	static const struct session_options session_opt = {.leak_mark = "here"};
	MS_FREE(one.sessions.v, one.queue.v);
	one = (struct scanner){.opt = &opt, .started = true, .drain = &drain, .event = 3};
	pthread_mutex_init(&one.lock, NULL);
	pthread_cond_init(&one.work, NULL);
	begin_waiting();
	tracer = sc = &one;
	int proc = session.process.folder;
	mem = other_mem = (struct mg_session){.end_tid = TID};
	scan = other_scan = (struct scan){.busy = 0};
	session = (struct session){.scan = &scan,
				   .mem = &mem,
				   .opt = &session_opt,
				   .process.folder = proc,
				   .process.pid = 5,
				   .name = "prog",
				   .same_pidns = true};
	other = session;
	other.scan = &other_scan;
	other.mem = &other_mem;
	other.process.pid = 6;
	*MS_PUSH(&sc->sessions) = &session;
	*MS_PUSH(&sc->sessions) = &other;
	vforked = false;
	traceable = true;
	signature = 0;
	told_of = woken = watched = unwatched = events = rounds = naps = traces = 0;
	unwatched_locked = false;
	work[0] = '\0';
}

/* The queue, a letter for the session and who asked. */
static void queued(const char *what, const char *want)
{
	char got[80] = "";
	for (size_t i = 0; i < sc->queue.n; i++)
		sprintf(got + strlen(got), "%c%u ", sc->queue.v[i].session == &session ? 's' : 'o',
			sc->queue.v[i].asker);
	CHECK(!strcmp(got, want), "%s: '%s', not '%s'", what, got, want);
}

static void write_status(const char *name, unsigned mode)
{
	FILE *f = fopen(name, "w");
	fprintf(f, "Name:\tprog\nSeccomp:\t%u\n", mode);
	fclose(f);
}

/* ---- a process that is held ---- */

enum {
	BUSY = 1,
	LAST = 2,
	ENDING = 4,
	VFORKED = 8,
	DROPS = 16,
	KEPT = 32,
	GROWN = 64,
	KNOWN = 128, /* all that it did before is merged */
	CASES = 256
};

static void notice_case(uint32_t state, unsigned how)
{
	begin();
	mem.end_state = state;
	scan.busy = how & BUSY;
	scan.last_tid = how & LAST ? TID : 0;
	session.ending = how & ENDING ? SESSION_EXITED : SESSION_RUNS;
	vforked = how & VFORKED;
	session.may_drop = how & DROPS;
	session.kept_for_sure = how & KEPT ? 1 : 0;
	session.grown = how & GROWN ? 1 : 0;
	bool waits = state >= MG_END_HELD && state <= MG_END_NAP && !(how & LAST);
	bool acts = waits && (how & BUSY || !(how & ENDING));
	scan.end_known = how & KNOWN ? 1 : 0;
	bool dropped = (how & (DROPS | KEPT | GROWN)) == DROPS, new = state == MG_END_HELD &&acts;
	bool decides = acts && !(how & BUSY) && !(new &&vforked);
	bool over = decides && dropped && how & KNOWN, queues = decides && !dropped;
	notice_one(sc, &session);
	is("state", mem.end_state,
	   over            ? MG_END_OVER
	   : new &&vforked ? MG_END_NONE
	   : new           ? MG_END_NAP
			   : state);
	is("told", told_of, (new &&vforked) || over);
	is("the draining thread", woken, decides && dropped && !over);
	is("busy", (uint64_t)scan.busy, how & BUSY || queues);
	queued("notice", queues ? "s0 " : "");
}

static void check_notice(void)
{
	for (uint32_t state = MG_END_NONE; state <= MG_END_LATE; state++)
		for (unsigned how = 0; how < CASES; how++)
			notice_case(state, how);
}

/* Whether it is worth a trace is known when all is merged that came before it was held. */
static void check_end_known(void)
{
	begin();
	now_stamp = 8;
	session.merged_to = 9;
	scan_look(&session);
	is("it is not held", (uint64_t)scan.end_known, 0);
	mem.end_state = MG_END_HELD;
	session.merged_to = 7;
	scan_look(&session);
	is("not merged", (uint64_t)scan.end_known, 0);
	now_stamp = 9;
	session.merged_to = 8;
	scan_look(&session);
	is("merged as far as it was then", (uint64_t)scan.end_known, 1);
	mem.end_state = MG_END_NONE;
	scan_look(&session);
	is("it goes on", (uint64_t)scan.end_known, 0);
	mem.end_state = MG_END_NAP;
	scan_look(&session);
	is("not again", (uint64_t)scan.end_known, 0);
	session.damaged = true;
	scan_look(&session);
	is("nothing will be", (uint64_t)scan.end_known, 1);
}

/* Whose number is looked at, and whether it may sleep. */
static void check_filters(void)
{
	static const struct {
		unsigned process, thread; /* their filters; 9 = that cannot be read */
		bool seccomp, elsewhere, seen;
	} cases[] = {{0, 0, false, false, false}, {0, 0, true, false, true},
		     {2, 0, false, false, true},  {0, 1, false, false, true},
		     {0, 1, false, true, false},  {0, 9, false, false, true},
		     {9, 0, false, false, true},  {0, 9, false, true, false}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin();
		write_status("status", cases[i].process);
		write_status("task/7/status", cases[i].thread);
		if (cases[i].process == 9)
			unlink("status");
		if (cases[i].thread == 9)
			unlink("task/7/status");
		mem.seccomp_seen = cases[i].seccomp;
		session.same_pidns = !cases[i].elsewhere;
		mem.end_state = MG_END_HELD;
		notice_one(sc, &session);
		is("seen", mem.end_state, cases[i].seen ? MG_END_SEEN : MG_END_NAP);
		is("whose state", (uint64_t)asked_tid, cases[i].elsewhere ? 5 : TID);
	}
	write_status("status", 0);
	write_status("task/7/status", 0);
}

/* ---- who is scanned next ---- */

static void check_queue(void)
{
	begin();
	queue(sc, &session, SCAN_BY_TELL);
	queue(sc, &session, SCAN_BY_MARK);
	queue(sc, &session, SCAN_BY_END);
	queue(sc, &other, SCAN_BY_END);
	queue(sc, &session, SCAN_BY_TELL_RESIDENT);
	queued("ends first", "s0 o0 s1 s2 s3 ");
	for (int i = 0; i < 8; i++) {
		begin();
		scan.due = i & 1;
		scan.busy = i >> 1 & 1;
		session.ending = i & 4 ? SESSION_EXITED : SESSION_RUNS;
		queue_due(sc, &session);
		queued("a mark", i == 1 ? "s2 " : "");
		is("due", scan.due, i == 3 || i == 7);
		is("busy", (uint64_t)scan.busy, i == 1 || i & 2);
	}
}

static void drop(bool drops, bool first)
{
	(first ? &session : &other)->may_drop = drops;
}

static void check_undecided(void)
{
	begin();
	is("both are kept", scanner_is_undecided(sc, 5) || scanner_is_undecided(sc, 6), false);
	drop(true, true);
	is("the first one", scanner_is_undecided(sc, 5), true);
	is("not the other", scanner_is_undecided(sc, 6), false);
	drop(true, false);
	drop(false, true);
	is("the other", scanner_is_undecided(sc, 6), true);
	is("nobody", scanner_is_undecided(sc, 7), false);
}

/* The last thread of a traced process. */
static void check_hold(void)
{
	static const struct {
		const char *what;
		pid_t pid;
		bool ending, tree, drops, stop, held;
		uint64_t was, now;
	} cases[] = {{"as it is", 5, false, false, false, false, true, 0, 0},
		     {"another process", 7, false, false, false, false, false, 0, 0},
		     {"it is over", 5, true, false, false, false, false, 0, 0},
		     {"nobody wants it", 5, false, true, true, false, false, 0, 0},
		     {"of a tree", 5, false, true, false, false, true, 0, 0},
		     {"the command itself", 5, false, false, true, false, true, 0, 0},
		     {"all is over", 5, false, false, false, true, false, 0, 0},
		     {"another program", 5, false, false, false, false, false, 8, 9},
		     {"the same program", 5, false, false, false, false, true, 8, 8},
		     {"it is not known", 5, false, false, false, false, true, 8, 0},
		     {"it was not known", 5, false, false, false, false, true, 0, 9}};
	static const struct scan_thread regs[2];
	struct scan_trace *holder = (struct scan_trace *)&traces;
	for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
		size_t c = i / 2;
		begin();
		session.ending = cases[c].ending ? SESSION_EXITED : SESSION_RUNS;
		session.may_drop = cases[c].drops;
		session.process.signature = cases[c].was;
		signature = cases[c].now;
		is_tree = cases[c].tree;
		sc->stop = cases[c].stop;
		scan.busy = i % 2;
		bool held = cases[c].held;
		is(cases[c].what, scanner_hold(sc, holder, cases[c].pid, TID, regs, 2), held);
		is("unlocked", (uint64_t)pthread_mutex_trylock(&sc->lock), 0);
		queued(cases[c].what, held ? "s0 " : "");
		is(cases[c].what, mem.end_state, held ? MG_END_HELD : MG_END_NONE);
		is(cases[c].what, naps, held && i % 2 ? 2 : 0);
		is(cases[c].what, (uint64_t)scan.busy, held || i % 2);
		is(cases[c].what, (uint64_t)scan.last_tid, held ? TID : 0);
		is(cases[c].what, scan.last_count, held ? 2 : 0);
		is(cases[c].what, scan.last_regs == regs, held);
		is(cases[c].what, scan.last_trace == holder, held);
	}
}

/* ---- the draining thread looks ---- */

static void look_case(uint32_t state, unsigned how)
{
	begin();
	bool by = how & 1, busy = how & 2, mark = how & 4, ending = how & 8;
	mem.end_state = state;
	scan.scanner = by ? sc : NULL;
	scan.busy = busy;
	session.leak_mark_due = mark;
	session.ending = ending ? SESSION_EXITED : SESSION_RUNS;
	vforked = how & 16;
	session.stats = (struct stats){.live_bytes = 11, .live_blocks = 12, .events = 13};
	sc->tid = 99;
	scan_look(&session);
	is("bytes", scan.live_bytes, 11);
	is("blocks", scan.live_blocks, 12);
	is("events", scan.events, 13);
	bool held = state >= MG_END_HELD && state <= MG_END_NAP && !busy;
	bool noticed = by && held && !vforked && !ending, marked = mark && !busy && !ending;
	is("a child of vfork is left to the other thread", woken, by && held && vforked ? 100 : 0);
	is("state", mem.end_state, noticed && state == MG_END_HELD ? MG_END_NAP : state);
	queued("a mark, or its end", by && marked ? "s2 " : noticed ? "s0 " : "");
	is("seen in this round", scan_is_held(&session), false);
	mem.end_state = MG_END_HELD;
	is("held after it", scan_is_held(&session), state != MG_END_HELD);
	is("its label", strcmp(scan.label, by && mark && !busy ? "mark:here" : ""), 0);
	is("due", scan.due, by && mark && busy);
	is("the mark is seen", session.leak_mark_due, mark && !by);
}

/* Scans of one session, as triggers ask for: one that waits is over with the one that took its place. */
static void check_asked_one(void)
{
	uint64_t first, second, third;
	begin();
	first = scanner_ask_one(sc, &session, NULL, "live:3.0 MiB", false);
	queued("at once", "s2 ");
	is("its label", strcmp(scan.label, "live:3.0 MiB"), 0);
	second = scanner_ask_one(sc, &session, "mark", "here", true);
	queued("while one waits", "s2 ");
	is("due", scan.due, true);
	is("its label is for later", strcmp(scan.due_label, "mark:here"), 0);
	is("what is asked is not over", scanner_did_one(sc, &session, first), false);
	third = scanner_ask_one(sc, &session, "mark", "there", true);
	sc->queue.n = 0;
	scan.busy = 0;
	scan.did = scan.taken;
	is("the first is over", scanner_did_one(sc, &session, first), true);
	is("the second is not", scanner_did_one(sc, &session, second), false);
	queue_due(sc, &session);
	queued("resident memory", "s4 ");
	is("the last label", strcmp(scan.label, "mark:there"), 0);
	scan.did = scan.taken;
	is("the second is over with the third", scanner_did_one(sc, &session, second), true);
	is("the third", scanner_did_one(sc, &session, third), true);
	sc->queue.n = 0;
	scan.busy = 0;
	sc->traced = 5;
	is("a traced one", scanner_ask_one(sc, &session, NULL, "every:1s", false), 0);
	queued("a traced one", "");
}

/* A thread that the guest holds at a moment: it may sleep unless there is a filter; a child of vfork goes
 * on at once; its scan comes before those that others ask for meanwhile. There is none if the guest gave
 * up, while another thread may be held. */
static void held_case(bool filtered, bool forked, bool busy, bool exits, uint32_t word)
{
	const char *label = exits ? "exit" : "mark:here";
	bool scans = word == 4 && !forked;
	char want[300] = "";
	begin();
	write_status("status", filtered ? 2 : 0);
	vforked = forked;
	scan.scanner = sc;
	scan.busy = busy;
	mem.moment = word;
	session.moment_due = exits ? 4 | MG_MOMENT_EXIT : 4;
	strcpy(session.moment_name, exits ? "" : "here");
	none[0] = '\0';
	scan_look(&session);
	is("held", mem.moment, !scans && word == 4 ? 0 : scans && !filtered ? 5 : word);
	is("seen", session.moment_due, 0);
	queued("a moment", !scans || busy ? "" : "s2 ");
	is("for whom", scan.moment, !scans || busy ? 0 : 4);
	is("who waits", scan.due_moment, scans && busy ? 4 : 0);
	is("label", strcmp(busy ? scan.due_label : scan.label, scans ? label : ""), 0);
	if (!scans)
		sprintf(want, "s %s %u", label, forked ? MS_SCAN_THREADS : MS_SCAN_TIME);
	CHECK(!strcmp(none, want), "no scan: '%s', not '%s'", none, want);
	if (!scans || !busy)
		return;
	set_due(&scan, "every", "1s", 0);
	is("not another's", strcmp(scan.due_label, label), 0);
	scan.busy = 0;
	queue_due(sc, &session);
	is("its turn", scan.moment, 4);
	is("nobody waits", scan.due_moment, 0);
}

static void check_look(void)
{
	for (int i = 0; i < 48; i++)
		held_case(i & 1, i & 2, i & 4, i & 8, i < 16 ? 4 : i < 32 ? 0 : 8);
	write_status("status", 0);
	check_asked_one();
	for (uint32_t state = MG_END_NONE; state <= MG_END_LATE; state++)
		for (unsigned how = 0; how < 32; how++)
			look_case(state, how);
}

/* ---- the threads, a few rounds of them ---- */

static void check_run(void)
{
	begin();
	sc->tid = 99;
	scan.busy = other_scan.busy = 1;
	queue(sc, &session, SCAN_BY_TELL);
	queue(sc, &other, SCAN_BY_TELL_RESIDENT);
	sc->awaited = 2;
	run(sc);
	/* A mark came meanwhile to both, and is scanned at next. */
	CHECK(!strcmp(work, "s1 o3 s2 o2 "), "%s", work);
	is("nobody is busy", (uint64_t)(scan.busy + other_scan.busy), 0);
	is("answered", sc->answered, true);
	is("the answer is told of", events, 1);
	is("both threads are woken at each", woken, 4 * 101);
	begin();
	scan.busy = 1;
	queue(sc, &session, SCAN_BY_END);
	scan.due = true;
	sc->awaited = 1;
	run(sc);
	CHECK(!strcmp(work, "s0 "), "%s", work);
	is("nothing comes behind an end", scan.due, true);
	is("nobody asked", sc->answered || events, false);
	is("still awaited", sc->awaited, 1);
}

static void check_watch(void)
{
	begin();
	mem.end_state = MG_END_HELD;
	watch(sc);
	is("rounds", rounds, 2);
	is("watched", watched, 2);
	is("its number", (uint64_t)watcher, (uint64_t)syscall(SYS_gettid));
	is("it runs no more", (uint64_t)sc->tid, 0);
	is("the least patience", waited, 20);
	queued("held", "s0 ");
}

static void check_sessions(void)
{
	for (int i = 0; i < 16; i++) {
		begin();
		sc->sessions.n = 0;
		sc->started = i & 1;
		sc->tid = i & 2 ? 99 : 0;
		sc->traced = i & 4 ? 5 : 0;
		sc->tree = i & 8;
		scanner_add(sc, &session);
		scanner_add(sc, &other);
		is("sessions", sc->sessions.n, i & 1 ? 2 : 0);
		is("its end is seen", mem.end_state, i & 1 && i & 12 ? MG_END_OVER : MG_END_NONE);
		is("the other's", other_mem.end_state, (i & 9) == 9 ? MG_END_OVER : MG_END_NONE);
		is("watched", watched, (i & 3) == 3 ? 2 : 0);
		is("woken", woken, (i & 3) == 3 ? 200 : 0);
		is("scanner", scan.scanner == sc, i & 1);
		scanner_drop(sc, &session);
		is("dropped", sc->sessions.n, i & 1);
		is("no longer watched", unwatched, i & 1);
		is("under the lock", unwatched_locked, i & 1);
		if (i & 1)
			is("the other", sc->sessions.v[0] == &other, true);
	}
}

static void check_traces(void)
{
	for (int i = 0; i < 8; i++) {
		begin();
		traceable = i & 1;
		sc->started = i & 2;
		opt.wish = i & 4 ? SCAN_YES : SCAN_NO;
		scanner_trace(sc, 5, NULL);
		is("traced", traces, i >= 6);
		is("its number", (uint64_t)sc->traced, i == 7 ? 5 : 0);
		is("its trace", sc->trace != NULL, i == 7);
		scanner_untrace(sc);
		is("to its end", sc->trace != NULL, i == 7);
		traces = 0;
		is("a tree", scanner_trace_tree(sc, 5, (struct scan_tree *)&opt), traceable);
		is("all that it starts", traces, 100);
		is("as a tree", sc->tree, true);
		scanner_untrace(sc);
		is("no more", sc->trace != NULL, false);
		is("let go", traces, 100 + (traceable ? 1000000 : 0));
	}
	opt.wish = SCAN_YES;
}

/* Checks a scan on request: it looks at every process, or says why not. */
static void check_ask(void)
{
	static const char
		busy[] =
			"prog (pid 6): not scanned: the program ended before it could be scanned\n",
		tree[] = "prog (pid 5): not scanned: ms-record traces it with ptrace until "
			 "it ends; to have it scanned, record it with ms-record -p\n"
			 "prog (pid 6): not scanned: ms-record traces it with ptrace until "
			 "it ends; to have it scanned, record it with ms-record -p\n";
	char tell[] = "s? o? ", resident[] = "s? o? ";
	tell[1] = tell[4] = '0' + SCAN_BY_TELL;
	resident[1] = resident[4] = '0' + SCAN_BY_TELL_RESIDENT;
	for (int moments = 0; moments < 2; moments++) {
		const char *label = moments ? "now" : NULL, *both = moments ? resident : tell;
		begin();
		is("asked", scanner_ask(sc, label, false), true);
		queued("both", both);
		is("awaited", sc->awaited, 2);
		is("no answer yet", scanner_answer(sc) != NULL, false);
		is("not told of one", events, 0);
		CHECK(!strcmp(sc->label, moments ? "now" : ""), "%s", sc->label);
		begin();
		other_scan.busy = 1;
		scanner_ask(sc, label, false);
		queued("one is busy", (char[]){'s', both[1], ' ', 0});
		CHECK(!strcmp(sc->answer, busy), "%s", sc->answer);
		begin();
		sc->tree = true;
		scanner_ask(sc, label, false);
		queued("none", "");
		is("told at once", events, 1);
		const char *answer = scanner_answer(sc);
		CHECK(answer && !strcmp(answer, tree), "%s", answer);
		is("once", scanner_answer(sc) != NULL, false);
		begin();
		sc->traced = 5;
		scanner_ask(sc, label, false);
		queued("not who is traced", both + 3);
		begin();
		mem.end_state = MG_END_HELD;
		scanner_ask(sc, label, false);
		queued("not who ends", both + 3);
		begin();
		session.ending = SESSION_RUNS + 1;
		scan.moments = other_scan.moments = MS_RESIDENT_MOMENTS_MAX - 2;
		scanner_ask(sc, label, false);
		queued("no moment is left", moments ? "" : both + 3);
		begin();
		scan.moments = MS_RESIDENT_MOMENTS_MAX - 3;
		scanner_ask(sc, label, false);
		queued("the last moment", both);
		begin();
		opt.wish = SCAN_NO;
		is("leaks are not looked for", scanner_ask(sc, label, false), moments);
		opt.wish = SCAN_YES;
		sc->started = false;
		is("off", scanner_ask(sc, label, false), false);
	}
}

/* Both threads begin, and come to an end. */
static void check_start(void)
{
	for (int off = 0; off < 2; off++) {
		begin();
		sc->sessions.n = 0;
		opt.off = off;
		struct scanner *mine = scanner_start(&opt, &drain, 3);
		is("not blocked here", is_blocked(), false);
		if (!off)
			await_waiter();
		is("there", mine != NULL, true);
		is("started", mine->started, !off);
		is("its event", (uint64_t)mine->event, 3);
		is("whom it wakes", mine->drain == &drain, true);
		tracer = mine;
		while (!off && !__atomic_load_n(&rounds, __ATOMIC_SEQ_CST))
			sched_yield();
		scanner_add(mine, &session);
		is("a tree", scanner_trace_tree(mine, 5, (struct scan_tree *)&opt), true);
		woken = 0;
		scanner_stop(mine);
		is("woken, so that it ends", woken, off ? 0 : 10000);
		is("let go", traces, 1000100);
		is("no longer watched", unwatched, !off);
		is("blocked where it is waited for", blocked, true);
		is("over", mine->started, false);
		is("nobody is left", mine->sessions.n + mine->queue.n, 0);
		scanner_stop(mine);
		scanner_free(mine);
	}
	opt.off = false;
	scanner_stop(NULL);
}

int main(void)
{
	char folder[] = "/tmp/scanner-XXXXXX";
	if (!mkdtemp(folder) || chdir(folder) || mkdir("task", 0700) || mkdir("task/7", 0700))
		return 1;
	session.process.folder = open(".", O_RDONLY | O_DIRECTORY);
	write_status("status", 0);
	write_status("task/7/status", 0);
	check_start();
	begin();
	long threads = held_blocks; /* the C library keeps what it had for them */
	check_notice();
	check_end_known();
	check_filters();
	check_queue();
	check_undecided();
	check_hold();
	check_look();
	check_run();
	check_watch();
	check_sessions();
	check_traces();
	check_ask();
	check_start();
	begin();
	is("all is given back", (uint64_t)held_blocks, (uint64_t)threads);
	(void)!(unlink("task/7/status") || unlink("status") || rmdir("task/7") || rmdir("task") ||
		rmdir(folder));
	return failures != 0;
}

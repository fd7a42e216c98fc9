/* SPDX-License-Identifier: MIT
 * How a process is held for a scan, in every case that there is: stopped, copied, or held already;
 * what is read of it then, and what is answered. All that stops, copies and reads is made up here.
 */
#include "scanning.h"

#include <sched.h>

/* ---- held ---- */

enum {
	END = 1,
	UNJUDGED = 2,
	RESIDENT = 4,
	LAST = 8,     /* the last thread is held by whoever traces it */
	NO_REGS = 16, /* and not all left their registers */
	NO_COPY = 32,
	NOT_MADE = 64,
	NOT_STOPPED = 128,
	NO_FILES = 256,
	SERVED = 512, /* pages that are not there may be anything */
	CASES = 1024
};

/* Holds the outcome that is expected. */
struct held {
	uint64_t state;
	char done[200];
	bool alone;   /* nobody else has to be stopped */
	bool reached; /* it is held */
	bool copy, goes;
	uint64_t refused; /* once it is held */
};

static void add(struct held *h, const char *what)
{
	sprintf(h->done + strlen(h->done), "%s%s", *h->done ? " " : "", what);
}

/* Returns what has to come of a scan that takes so many ms and has so many threads. */
static struct held foreseen(unsigned how, uint64_t ms, size_t threads)
{
	struct held h = {.state = MS_SCAN_DONE, .alone = how & LAST || (threads == 1 && how & END)};
	bool slow = ms > 90, resident = how & RESIDENT;
	bool served = how & SERVED && !(how & UNJUDGED);
	bool prepared = threads && !(how & END) && ms > 5;
	if (prepared)
		add(&h, "prepare");
	prepared &= !(how & NO_COPY);
	if (!threads)
		h.state = how & NO_FILES ? MS_SCAN_FILES
			  : how & END    ? MS_SCAN_KILLED
					 : MS_SCAN_ENDED;
	else if (served && !resident)
		h.state = MS_SCAN_UNREADABLE;
	else if (slow && !prepared && !resident)
		h.state = MS_SCAN_TIME;
	else if (how & LAST && how & NO_REGS)
		h.state = MS_SCAN_THREADS;
	if (h.state == MS_SCAN_DONE && !h.alone) {
		add(&h, "stop");
		if (how & NOT_STOPPED)
			h.state = how & NO_FILES ? MS_SCAN_FILES : MS_SCAN_THREADS;
	}
	h.reached = h.state == MS_SCAN_DONE;
	if (!h.reached)
		return h;
	if (resident)
		add(&h, "resident");
	if (prepared)
		add(&h, "copy");
	h.copy = prepared && !(how & NOT_MADE);
	if (slow && !h.copy && !resident) {
		h.state = MS_SCAN_TIME;
		return h;
	}
	h.refused = served ? MS_SCAN_UNREADABLE : slow && !h.copy ? MS_SCAN_TIME : 0;
	h.goes = h.copy || ((how & UNJUDGED || h.refused) && !(how & END));
	add(&h, h.goes ? "ask resume" : "ask");
	return h;
}

/* A scan of so many bytes, a ms each million, of so many threads. */
static void hold_case(unsigned how, uint64_t bytes, size_t threads)
{
	static const struct scan_thread left = {.sp = 8};
	uint64_t ms = how & UNJUDGED ? 0 : bytes / 1000000;
	struct held h = foreseen(how, ms, threads);
	bool regs = how & LAST && !(how & NO_REGS);
	begin();
	scan_of.live_bytes = bytes;
	will.prepares = !(how & NO_COPY);
	will.copies = !(how & NOT_MADE);
	will.stops = !(how & NOT_STOPPED);
	will.why = how & NO_FILES ? EMFILE : EPERM;
	will.served = how & SERVED;
	w.request.asker = how & END ? SCAN_BY_END : SCAN_BY_MARK;
	w.unjudged = how & UNJUDGED;
	w.resident.wanted = how & RESIDENT;
	scan_of.last_tid = how & LAST ? 5 : 0;
	scan_of.last_count = regs;
	scan_of.last_regs = &left;
	rings[2].pending = 1;
	is("the thread that was found",
	   (uint64_t)hold(&w, 5, threads, how & NO_FILES ? EMFILE : ESRCH), 5);
	is("state", w.state, h.state);
	did("hold", h.done);
	if (h.reached)
		is("refused", w.refused, h.state == MS_SCAN_DONE ? h.refused : h.state);
	is("deadline", w.deadline_ns, h.goes ? NOW + SCAN_YES_NS : NOW + 90 * MS);
	is("released", w.released_ns, h.goes ? NOW : 0);
	if (regs && threads) {
		is("registers that were left", w.thread_count, 1);
		is("registers that were left", w.threads->sp, 8);
		is("nobody tells of an event any more", rings[2].pending, 0);
	} else if (h.alone && !(how & LAST)) {
		is("on its stack", w.thread_count, 1);
		is("on its stack", w.threads->sp * 10 + w.threads->tp, 34);
	}
}

static void check_hold(void)
{
	for (unsigned how = 0; how < CASES; how++)
		for (size_t threads = 0; threads < 3; threads++) {
			hold_case(how, 5000000, threads);
			hold_case(how, 6000000, threads);
			hold_case(how, 90000000, threads);
			hold_case(how, 91000000, threads);
		}
}

/* The thread that was found has ended when all stand still: one that stands is looked at. */
static void check_ended(void)
{
	begin();
	will.ends = true;
	scan_of.live_bytes = 5000000;
	is("one that stands", (uint64_t)hold(&w, 5, 2, 0), 6);
	did("with its descriptors", "stop descriptors again words ask");
	begin();
	will.ends = w.unjudged = true;
	is("one that stands", (uint64_t)hold(&w, 5, 2, 0), 6);
	did("nobody wants verdicts", "stop ask resume");
}

/* Checks how long a scan may take, by what is there, and by each block. */
static void check_expected(void)
{
	begin();
	scan_of.live_bytes = 3000000;
	scan_of.live_blocks = 4;
	is("all of it", expected(&w), 3 * MS + 1000);
	will.rss = 1000; /* KiB */
	will.swap = 24;
	is("what is there", expected(&w), 1048 * UINT64_C(1000) + 1000);
	scan_of.last_tid = 6;
	is("of any thread", present(&w), 1024 * 1024);
	will.rss = 10000;
	is("no more than that", expected(&w), 3 * MS + 1000);
}

/* A thread that is telling of an event goes on, until none is. */
static void check_stop(void)
{
	begin();
	will.pending = 2;
	is("stopped", stop(&w), true);
	did("in the end", "stop resume stop resume stop");
	is("since", w.stop_ns, NOW);
	is("threads", w.thread_count, 2);
	begin();
	w.deadline_ns = NOW + 5 * STOP_NS;
	is("with all the time there is", stop(&w), true);
	did("no longer than that", "stop");
	begin();
	will.pending = 1000;
	is("never", stop(&w), false);
	is("after 200 tries", will.pending, 800);
	begin();
	w.deadline_ns = NOW - 1;
	is("late", stop(&w), false);
	did("late", "");
	begin();
	rings[1].state = MG_RING_FREE; /* it is nobody's */
	will.pending = 1;
	is("stopped", stop(&w), true);
	did("at once", "stop");
}

/* ---- read, and answered ---- */

static void check_look(void)
{
	for (unsigned how = 0; how < 64; how++) {
		begin();
		struct graph_block b = {.address = 1};
		struct ignored_at ignored[] = {{80, 3}, {80, 2}, {80, 3}};
		scan_of.live = (struct scan_live){.blocks = &b, .count = 1, .wide = how & 2};
		scan_of.live.ignored = (struct ignored){.v = ignored, .n = 3};
		mem.roots = how & 2 ? 64 : 65;
		w.request.asker = how & 1 ? SCAN_BY_END : SCAN_BY_TELL;
		w.request.copy.own = 9;
		w.request.copy.made = how & 2;
		will.rss = 10;
		will.gave_up = (how & 60) == 4;
		will.late = (how & 60) == 8 || will.gave_up;
		will.unreadable = how & 16 && !will.late;
		will.overflow = how & 32;
		will.opens = (how & 60) != 12;
		will.why = how & 1 ? ENFILE : EACCES;
		strcpy(mem.allocator, how & 2 ? "glibc 2.36" : "musl");
		head.own[0][0] = 11;
		mem.own[1][1] = 12;
		session.forked = how & 1;
		look(&w, 5);
		did("opened", how & 2 ? "open the copy" : "open");
		is("state", w.state,
		   !will.opens       ? how & 1 ? MS_SCAN_FILES : MS_SCAN_UNREADABLE
		   : will.gave_up    ? MS_SCAN_ENDED
		   : will.late       ? MS_SCAN_TIME
		   : will.unreadable ? MS_SCAN_UNREADABLE
		   : will.overflow   ? MS_SCAN_MEMORY
				     : MS_SCAN_DONE);
		is("graphed", w.graphed, will.opens);
		if (!will.opens)
			continue;
		is("it may be hurried", w.memory.until == &scanner.until_ns, true);
		is("it gives up when it ends", w.memory.word == &mem.end_state, !(how & 1));
		is("then", w.memory.value, MG_END_SEEN);
		is("how much", w.memory.total, how & 1 ? 10240 : 0);
		is("and says so", scan_of.due_bytes, w.memory.total);
		is("told", w.memory.told == &scan_of.read_bytes, how & 1);
		is("wide", looked.wide, how & 2 ? 1 : 0);
		is("dense", looked.dense, !(how & 2));
		is("own", looked.own_count, 2 * MG_OWN_MAX + 1);
		is("no inode", looked.own_inode, 0);
		is("ignored", w.ignored, 2);
		is("the program's roots", looked.user != NULL, how & 2 ? 1 : 0);
		free(w.roots);
	}
}

/* The guest's memory, of which the list of an allocator's memory is the last, if there is one. */
static void check_own(void)
{
	uint64_t own[OWN_MAX][2];
	begin();
	list_own(&session, own);
	is("no list", own[OWN_MAX - 1][1], 0);
	mem.arenas = 0x5000;
	list_own(&session, own);
	is("the list", own[OWN_MAX - 1][0], 0x5000);
	is("its end", own[OWN_MAX - 1][1], 0x5000 + sizeof(struct mg_arenas));
	mem.arenas = 0;
}

/* Memory that had to be waited for: that is the reason, not the time that it took. */
static void check_waits(void)
{
	begin();
	will.late = will.waits = true;
	look(&w, 5);
	is("state", w.state, MS_SCAN_UNREADABLE);
}

/* Who is in a hurry draws the deadline nearer, as long as the process is held. */
static void check_hurry(void)
{
	begin();
	w.deadline_ns = NOW + MS;
	is("in time", late(&w), false);
	scanner.until_ns = NOW - 1;
	is("hurried", late(&w), true);
	w.released_ns = NOW;
	is("it has gone on", late(&w), false);
	is("nobody is in a hurry then", until(&w) == NULL, true);
}

static void check_judge(void)
{
	for (unsigned how = 0; how < 64; how++) {
		begin();
		will.hurried = true;
		struct graph_block b = {.address = 1};
		char want[200] = "await";
		bool answers = how & 1, lost = how & 2, late_now = how & 4, names = how & 8;
		scan_of.live = (struct scan_live){.blocks = &b, .count = 1, .lost = lost};
		w.request.asker = how & 16 ? SCAN_BY_END : SCAN_BY_TELL;
		w.refused = how & 32 ? MS_SCAN_UNREADABLE : 0;
		will.answers = answers;
		will.names = names;
		w.deadline_ns = late_now ? NOW - 1 : NOW;
		uint64_t state = !answers   ? late_now   ? MS_SCAN_TIME
					      : how & 16 ? MS_SCAN_KILLED
							 : MS_SCAN_ENDED
				 : lost     ? MS_SCAN_LOST
				 : late_now ? MS_SCAN_TIME
					    : MS_SCAN_DONE;
		uint64_t resident = answers && !names ? MS_SCAN_TIME : state;
		bool reads = state == MS_SCAN_DONE && !w.refused;
		state = state == MS_SCAN_DONE && w.refused ? w.refused : state;
		strcat(want, reads ? " open resume end" : " resume end");
		strcat(want, answers && names ? " name" : "");
		strcat(want, reads && names ? " solve" : "");
		state = reads && !names ? MS_SCAN_TIME : state;
		scan_judge(&w, 5);
		is("it may be hurried", will.hurried, true);
		is("state", w.state, state);
		is("of what is resident", w.resident.state, resident);
		did("judged", want);
		is("the guest", mem.end_state, how & 16 ? MG_END_OVER : MG_END_NONE);
	}
}

static void *wait_for_guest(void *arg)
{
	syscall(SYS_futex, &mem.end_state, FUTEX_WAIT, MG_END_OVER, NULL, NULL, 0);
	__atomic_store_n((int *)arg, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Whoever waits is woken, though nothing is new. */
static void check_tell(void)
{
	pthread_t other;
	int woken = 0;
	begin();
	mem.end_state = MG_END_OVER;
	is("another one", (uint64_t)pthread_create(&other, NULL, wait_for_guest, &woken), 0);
	while (!__atomic_load_n(&woken, __ATOMIC_ACQUIRE)) {
		scan_tell_guest(&session, MG_END_OVER);
		sched_yield();
	}
	pthread_join(other, NULL);
}

static void check_release(void)
{
	static const struct {
		uint32_t was;
		uint64_t state, then;
	} cases[] = {{MG_END_LATE, MS_SCAN_DONE, MS_SCAN_TIME},
		     {MG_END_LATE, MS_SCAN_KILLED, MS_SCAN_TIME},
		     {MG_END_LATE, MS_SCAN_LOST, MS_SCAN_LOST},
		     {MG_END_NAP, MS_SCAN_DONE, MS_SCAN_DONE}};
	for (size_t i = 0; i < 8; i++) {
		begin();
		w.request.asker = i & 1 ? SCAN_BY_END : SCAN_BY_TELL;
		scan_of.last_tid = i & 2 ? 5 : 0;
		scan_of.last_trace = i & 2 ? (struct scan_trace *)&will : NULL;
		mem.end_state = cases[i / 2].was;
		w.state = cases[i / 2].state;
		w.stop_ns = NOW - 4;
		w.start_ns = NOW - 10;
		w.request.copy.reap_ns = 100;
		release_threads(&w);
		did("released", i & 1 && i & 2 ? "resume over" : "resume");
		is("state", w.state, i & 1 ? cases[i / 2].then : cases[i / 2].state);
		is("the guest", mem.end_state, i & 1 ? MG_END_OVER : cases[i / 2].was);
		is("held for", scan_pause(&w), i & 1 ? 110 : 104);
	}
	begin();
	is("never held", scan_pause(&w), 0);
}

/* ---- all of it ---- */

static void check_answer(const char *what, const char *want)
{
	CHECK(!strcmp(scanner.answer, want), "%s: '%s', not '%s'", what, scanner.answer, want);
	scanner.answer[0] = '\0';
}

static void check_answers(void)
{
	struct graph_block b[] = {{.size = 1000, .verdict = MS_VERDICT_IS_DIRECT},
				  {.size = 48, .verdict = MS_VERDICT_IS_INDIRECT},
				  {.size = 7, .verdict = MS_VERDICT_IS_REACHABLE}};
	begin();
	w.graph = (struct graph){.v = b, .count = 3};
	w.graphed = true;
	w.state = MS_SCAN_DONE;
	w.stop_ns = NOW;
	w.released_ns = NOW + 3 * MS;
	add_answer(&scanner, &w);
	check_answer("two", "prog (pid 5): 1.0 KiB in 2 blocks unreachable; stopped for 3.0 ms\n");
	w.graph.count = 1;
	w.request.copy.made = true;
	add_answer(&scanner, &w);
	check_answer("one",
		     "prog (pid 5): 1000 B in 1 block unreachable; stopped for 3.0 ms to fork "
		     "a copy, which was scanned\n");
	strcpy(w.request.copy.why, "no");
	add_answer(&scanner, &w);
	w.state = MS_SCAN_LOST;
	add_answer(&scanner, &w);
	check_answer("none", "prog (pid 5): 1000 B in 1 block unreachable; stopped for 3.0 ms, "
			     "throughout the scan (no copy could be forked: no)\n"
			     "prog (pid 5): not scanned: events were lost; no copy could be "
			     "forked: no; stopped for "
			     "3.0 ms\n");
	w.request.asker = SCAN_BY_TELL_RESIDENT;
	w.resident.state = MS_SCAN_DONE;
	add_answer(&scanner, &w);
	check_answer("resident", "prog (pid 5): RSS; stopped for 3.0 ms\n");
	w.resident.state = MS_SCAN_LOST;
	w.request.copy.why[0] = '\0';
	add_answer(&scanner, &w);
	check_answer("not known",
		     "prog (pid 5): not scanned: events were lost; stopped for 3.0 ms\n");
}

/* With --retention=auto, scans that were asked for also find what keeps blocks. */
static void check_auto(void)
{
	static struct graph_block b = {.size = 8, .verdict = MS_VERDICT_IS_DIRECT};
	for (int asker = SCAN_BY_END; asker <= SCAN_BY_TELL_RESIDENT; asker++) {
		begin();
		opt.wish = SCAN_YES;
		opt.retention = SCAN_AUTO;
		scan_of.live = (struct scan_live){.blocks = &b, .count = 1};
		will.threads = 2;
		scan_work_on(&scanner, &session, (enum scan_asker)asker);
		is("auto", strstr(done, "keeps found") != NULL,
		   asker == SCAN_BY_TELL || asker == SCAN_BY_MARK);
		done[0] = '\0';
		scanner.answer[0] = '\0';
	}
}

/* From the request to the answer. */
static void check_work(void)
{
	static struct graph_block b = {.size = 8, .verdict = MS_VERDICT_IS_DIRECT};
	static const struct {
		const char *what, *did, *answer;
		enum scan_asker asker;
		bool resident, no_wish, gone;
		enum scan_wish retention;
	} cases[] = {
		{"--tell", "stop ask await open resume end name solve put close",
		 "prog (pid 5): 8 B in 1 block unreachable; stopped for 0.00 ms\n", SCAN_BY_TELL, 0,
		 0, 0, SCAN_NO},
		{"a mark", "stop ask await open resume end name solve put close", "", SCAN_BY_MARK,
		 0, 0, 0, SCAN_NO},
		{"the end",
		 "held stop ask await, held open resume end name solve put the end close", "",
		 SCAN_BY_END, 0, 0, 0, SCAN_NO},
		{"it is gone", "held resume end put the end close", "", SCAN_BY_END, 0, 0, 1,
		 SCAN_NO},
		{"what is resident", "stop resident ask resume await end name put close",
		 "prog (pid 5): RSS; stopped for 0.00 ms\n", SCAN_BY_TELL_RESIDENT, 0, 0, 0,
		 SCAN_NO},
		{"both", "stop resident ask await open resume end name solve put close", "",
		 SCAN_BY_MARK, 1, 0, 0, SCAN_NO},
		{"--tell retention",
		 "stop ask await open threads listed stacks read resume end name solve put what "
		 "keeps found close",
		 "prog (pid 5): 8 B in 1 block unreachable; stopped for 0.00 ms\n"
		 "prog (pid 5): a keeps 1 B of 2 B; 3 B unreachable; stopped for 0.00 ms\n",
		 SCAN_BY_TELL, 0, 0, 0, SCAN_YES},
		{"the end and what keeps",
		 "held stop ask await, held open threads listed stacks read resume end name solve "
		 "put the end what keeps found close",
		 "", SCAN_BY_END, 0, 0, 0, SCAN_YES},
		{"what keeps without leaks", "stop ask resume await end name put close", "",
		 SCAN_BY_MARK, 0, 1, 0, SCAN_YES},
		{"no leaks", "stop ask resume await end name put close", "", SCAN_BY_MARK, 0, 1, 0,
		 SCAN_NO},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin();
		scan_of.live = (struct scan_live){.blocks = &b, .count = 1};
		will.threads = cases[i].gone ? 0 : 2;
		will.why = ESRCH;
		opt.wish = cases[i].no_wish ? SCAN_NO : SCAN_YES;
		opt.retention = cases[i].retention;
		scanner.tells_kept = cases[i].retention == SCAN_YES;
		session_options.resident = cases[i].resident;
		scan_work_on(&scanner, &session, cases[i].asker);
		did(cases[i].what, cases[i].did);
		check_answer(cases[i].what, cases[i].answer);
		is(cases[i].what, (uint64_t)will.why,
		   cases[i].gone ? MS_SCAN_KILLED : MS_SCAN_DONE);
		is("held no more", (uint64_t)scan_of.held, 0);
		is("stamps are as they were", mem.stamps, 0);
	}
}

int main(void)
{
	begin();
	check_hold();
	check_ended();
	check_expected();
	check_stop();
	check_look();
	check_own();
	check_waits();
	check_hurry();
	check_judge();
	check_tell();
	check_release();
	check_answers();
	check_auto();
	check_work();
	begin();
	is("all is given back", held_blocks <= THREADS, true);
	return failures != 0;
}

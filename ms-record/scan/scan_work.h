/* SPDX-License-Identifier: MIT
 * What the files of the leak scan share: the request that its threads hand to one another, and one
 * scan under way.
 */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>
#include <time.h>

#include "libcommon/base/arena.h"
#include "ms-record/base/wake.h"
#include "ms-record/guest/layout.h"
#include "ms-record/heap/ignored.h"
#include "ms-record/ptrace/hijack.h"
#include "resident.h"
#include "scan.h"
#include "scan_graph.h"
#include "scan_memory.h"
#include "scan_roots.h"

/* Who asked for a scan. */
enum scan_asker {
	SCAN_BY_END,           /* the process, a thread of which the guest holds at its end */
	SCAN_BY_TELL,          /* --tell, whose client waits for the scanner's answer */
	SCAN_BY_MARK,          /* the mark of --leak-check=mark */
	SCAN_BY_TELL_RESIDENT, /* --tell resident: nothing is judged */
};

/* A copy of the process that never runs: scan_frozen.c. */
struct frozen {
	struct hijack h;
	bool open, made; /* made: it can be read */
	bool looked;     /* what follows is known */
	bool served;     /* some of its pages are not there, and are not zero: userfaultfd */
	bool watched;    /* it notices that it is copied, perhaps: the same */
	pid_t own, its;  /* the copy, here and in the process's pid namespace; 0 = there is none */
	MS_ARRAY(struct memory_part) apart;
	uint64_t reap_ns; /* a thread was stopped again for so long */
	char why[200];    /* there is none; empty = none was wanted */
};

/* Asks which of the blocks that were live at a moment nothing pointed to then. */
struct scan_request {
	enum scan_asker asker;
	uint64_t stamp;     /* of the moment */
	struct frozen copy; /* its memory then; not made: the process itself, which stands still */
};

/* Words that are the program's and only in the kernel. */
struct kernel_words {
	MS_ARRAY(int) epolls; /* descriptors */
	MS_ARRAY(uint64_t) words;
};

struct number_stack {
	uint64_t number;
	uint32_t stack;
};

/* Holds what was live at a request's stamp. */
struct scan_live {
	/* Filled in by the draining thread, when the merge has come there. */
	uint64_t event, number, time_ns, lost;
	bool wide;
	struct graph_block *blocks;
	uint32_t count;
	struct ignored ignored;
	/* Filled in by the writing thread. */
	int stacks_known; /* atomic */
	MS_ARRAY(struct number_stack) stacks;
};

/* How the end of the process is noticed: not (it is gone), by a timer, or by the clock. */
enum watched { WATCH_NOT, WATCH_TIMER, WATCH_POLL };
/* A request is TAKEN while the table is copied: nobody gives it up then. */
enum request_state { REQUEST_NONE, REQUEST_ASKED, REQUEST_TAKEN, REQUEST_DONE, REQUEST_FAILED };

/* Holds what this room keeps of a session. */
struct scan {
	int busy; /* atomic: the scanning thread is at it */

	int request;           /* atomic: enum request_state */
	uint64_t stamp;        /* of the request, */
	struct scan_live live; /* and what was live then, once it is DONE */
	/* Under the session's lock. */
	uint64_t scans, moments; /* so far; moments of which it is said what was resident */
	bool ended;              /* a record of the end is among them */
	struct scan_result result;
	/* progress of a process that is held at its end: bytes of its memory read so far, of about
	 * how many (0 = not known yet); atomic */
	int held;
	uint64_t read_bytes, due_bytes;
	uint64_t end_stamp; /* the draining thread's: it was held before then; 0 = it is not */
	int end_known;      /* atomic: all that it did before it was held is merged */
	/* figures of the draining thread's last round; atomic */
	uint64_t live_bytes, live_blocks, events;
	/* Under the scanner's lock. */
	bool due; /* a mark came that is to be scanned at */
	enum watched watched;
	timer_t timer;
	/* last thread of the session, which waits in scan_trace.c, and what registers its threads
	 * left; 0 = none waits */
	pid_t last_tid;
	struct scan_trace *last_trace; /* who holds it there */
	const struct scan_thread *last_regs;
	size_t last_count;
	struct scanner *scanner; /* atomic: who watches; NULL = nobody */
};

/* A scan that is to be made; the session is `busy` from then on. */
struct scan_order {
	struct session *session;
	enum scan_asker asker;
};

/* The threads that watch and scan. */
struct scanner {
	pthread_t thread, watcher;
	pthread_mutex_t lock;
	pthread_cond_t work;
	pid_t tid; /* of the watching thread, under lock; 0 = it does not run */
	const struct scan_options *opt;
	struct wake *drain; /* has the draining thread look */
	int event;          /* eventfd, written when there is an answer */
	/* Under lock. */
	MS_ARRAY(struct session *) sessions;
	MS_ARRAY(struct scan_order) queue;
	bool stop, started;
	bool scanned, missed;        /* of what `answer` tells: some was, some was not */
	bool answered;               /* `answer` is whole, and was not taken yet */
	uint64_t start_ns, until_ns; /* of the scan under way (0 = none); atomic */
	size_t awaited;              /* scans that it lacks */
	char answer[3072];           /* written by the scanning thread while some are awaited */
	char label[280];             /* of the moment that --tell resident asked for */
	struct scan_trace *trace;    /* the command is traced; NULL = not */
	pid_t traced;                /* its number, if its end is seen so; 0 */
	bool tree;                   /* with all that it starts */
};

/* One scan, in the thread made for it. */
struct work {
	struct scanner *scanner;
	struct session *s;
	struct scan *q;
	struct scan_request request;
	uint64_t start_ns, deadline_ns, stop_ns, released_ns; /* stop_ns: 0 = never */
	uint64_t expected_ns; /* what it should take, where it is read while it stands still */
	struct memory memory;
	struct graph graph;
	unsigned align; /* as of struct graph; 0 = 8 */
	uint64_t cleared;
	struct hijack_stop stopped;
	struct scan_thread *threads;
	size_t thread_count;
	struct kernel_words kernel;
	struct resident resident;
	uint64_t state;         /* MS_SCAN_* */
	struct mg_roots *roots; /* that the program told of, and the guest keeps; NULL = none */
	uint64_t ignored, root_count; /* blocks; ranges, as far as they were looked at */
	bool graphed, answered;
	bool unjudged;    /* nobody wants verdicts, */
	uint64_t refused; /* or there will be none, for that reason of MS_SCAN_*; 0 = not so */
};

/* ---- scan.c ---- */

/* Makes the scan of a session. */
void scan_work_on(struct scanner *sc, struct session *s, enum scan_asker asker);
/* The process stands still, its thread `tid` for one, or its copy is there, and it was asked what
 * was live then: waits until what was live then is known, reads the memory, lets the process go, and
 * gives each block its verdict. */
void scan_judge(struct work *w, pid_t tid);
void scan_tell_guest(struct session *s, enum mg_end_state state);
/* For how long the process was held, so far. */
uint64_t scan_pause(const struct work *w);
/* Registers of threads that are stopped, in memory to be freed. */
struct scan_thread *scan_registers(const struct hijack_stop *s, size_t *count);
/* Leaves out what ending the process, by exit or the like, has put on the stacks of the threads
 * that end it. `traced`: some threads that the guest noted may not have ended it. */
void scan_leave_ends(struct scan_thread *v, size_t n, const struct mg_session *s, bool traced);
/* Reads what the allocator mapped for itself: nothing, when that is not sure. */
void scan_read_arenas(const struct memory *m, const struct session *s, struct mg_arenas *a);
/* Gives what the program said are roots, in memory to be freed; NULL: nothing, or it cannot be read. */
struct mg_roots *scan_read_roots(const struct memory *m, const struct session *s);
/* Gives each block its stack. */
void scan_name_stacks(struct scan_live *l);
/* Has the draining thread put what was found into the trace. */
void scan_put_result(struct work *w);

/* ---- scan_live.c ---- */

/* The stamp of this moment, in which the process stands still. */
uint64_t live_stamp(const struct session *s);
/* Asks for what is live at the stamp, once the merge has come there: q->live. Before the process
 * goes on, so that the merge cannot have passed it by. */
void live_ask(struct scan *q, uint64_t stamp);
/* Waits until q->live is known. False: it will not be, or not in time, or not before *until
 * (atomic) unless that is NULL. */
bool live_await(struct scan *q, struct wake *drain, uint64_t deadline_ns, const uint64_t *until);
/* Waits for the stacks of the blocks in s->scan->live, after live_await. False: they will not
 * come. */
bool live_await_stacks(const struct session *s);

/* ---- scan_trace.c ---- */

/* Traces a process in a thread of its own, with `tree` all that it starts, too. NULL: it cannot be
 * traced. */
struct scan_trace *scan_trace_start(struct scanner *sc, pid_t pid, struct scan_tree *tree);
bool scan_trace_is_tree(const struct scan_trace *t);
/* Detaches all at once, and waits until that is done. */
void scan_trace_quit(struct scan_trace *t);
/* The scan needs the memory of the process no more. */
void scan_trace_over(struct scan_trace *t);
/* Is it not sure that what the process did is worth a trace, with what has been seen so far? */
bool scanner_is_undecided(struct scanner *sc, pid_t pid);
/* The last thread of the process waits for a scan, `regs` are what all left (count 0: one of
 * them left none), and live until scan_trace_over, for `t`. False: there will be none. */
bool scanner_hold(struct scanner *sc, struct scan_trace *t, pid_t pid, pid_t tid,
		  const struct scan_thread *regs, size_t count);

/* ---- scan_frozen.c ---- */

/* Looks at what is special about its mappings, before anything is stopped: what a copy would lack, and
 * copy.served. False: frozen.why says why that is not known. */
bool frozen_look(struct work *w, pid_t tid);
/* Looks whether a copy can be made, before anything is stopped. False: frozen.why says why not. */
bool frozen_prepare(struct work *w);
/* Makes it while all threads are stopped. False: as above. */
bool frozen_make(struct work *w);
/* Opens its memory. 0, or -1 with errno set. */
int frozen_open(struct work *w, struct memory *m, uint64_t deadline_ns);
/* Removes it, and all that was made for it; may be called at any state. */
void frozen_end(struct work *w);

/* ---- scan_kernel.c ---- */

/* Before the process is stopped, and once more if `tid`, a thread of it, may have ended meanwhile; while
 * it is stopped. */
void kernel_find(struct kernel_words *k, int proc, pid_t tid);
void kernel_read(struct kernel_words *k, const struct session *s, pid_t tid);
void kernel_free(struct kernel_words *k);

/* ---- scan_watch.c: waiting for the end of a process ---- */

/* Blocks the signal that watch_wait waits for, in this thread and those that it starts; what was
 * blocked before is left in `before`. */
void watch_block(sigset_t *before);
/* A session begins to be watched, by the thread `tid`; ends. */
void watch_begin(struct scan *q, const struct session *s, pid_t tid);
void watch_end(struct scan *q);
/* How long not to look at a session, if no signal comes, in ns. UINT64_MAX = for ever. */
uint64_t watch_patience(const struct session *s);
/* Waits for so long, or until watch_wake or a process that may have ended. */
void watch_wait(uint64_t ns);
void watch_wake(pid_t tid);

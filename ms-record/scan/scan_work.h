/* SPDX-License-Identifier: MIT
 * Declares what the files of the leak scan share: the requests between its threads, and the state
 * of one scan.
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
#include "ms-record/graph/graph.h"
#include "scan_keep.h"
#include "scan_memory.h"
#include "scan_roots.h"

/* Names the reasons for a scan. */
enum scan_asker {
	SCAN_BY_END,           /* the process ends, and the guest holds a thread of it */
	SCAN_BY_TELL,          /* --tell, whose client waits for the answer */
	SCAN_BY_MARK,          /* a mark, or a trigger of --when or --retention-at */
	SCAN_BY_TELL_RESIDENT, /* --tell resident: no verdicts */
	SCAN_BY_RESIDENT,      /* the same, by --when */
};

/* Describes a copy of the process that never runs: scan_frozen.c. */
struct frozen {
	struct hijack h;
	bool open, made; /* made: the copy can be read */
	bool looked;     /* `served` and `watched` are known */
	bool served;     /* userfaultfd serves some missing pages, which need not be zero */
	bool watched;    /* userfaultfd: the process may notice the copy */
	pid_t own, its;  /* the copy's PID, here and in the process's namespace; 0 = no copy */
	MS_ARRAY(struct memory_part) apart;
	uint64_t reap_ns; /* duration of a second stop of a thread to reap the copy */
	char why[200];    /* reason why there is no copy; empty = none was wanted */
};

/* Requests a search for blocks that were live at a given moment, and to which nothing pointed at
 * that moment. */
struct scan_request {
	enum scan_asker asker;
	uint64_t stamp; /* stamp of that moment */
	/* copy of the memory at the moment of `stamp`; not made = the stopped process is read */
	struct frozen copy;
};

/* Holds pointers that the program has stored only in the kernel. */
struct kernel_words {
	MS_ARRAY(int) epolls; /* epoll descriptors */
	MS_ARRAY(uint64_t) words;
};

struct number_stack {
	uint64_t number;
	uint32_t stack;
};

/* Holds the blocks that were live at a request's stamp. */
struct scan_live {
	/* Filled in by the draining thread when the merge has reached the stamp. */
	uint64_t event, number, time_ns, lost;
	bool wide;
	struct graph_block *blocks;
	uint32_t count;
	struct ignored ignored;
	/* Filled in by the writing thread. */
	int stacks_known; /* atomic */
	MS_ARRAY(struct number_stack) stacks;
	/* Filled in by the draining thread at the stamp, if wanted. */
	struct kept_image image;
};

/* Lists how the end of the process is noticed: not at all (it is gone), by a timer, or by
 * polling. */
enum watched { WATCH_NOT, WATCH_TIMER, WATCH_POLL };
/* Lists the states of a request: TAKEN while the live table is copied, when no thread can cancel
 * it. */
enum request_state { REQUEST_NONE, REQUEST_ASKED, REQUEST_TAKEN, REQUEST_DONE, REQUEST_FAILED };

/* Holds the state of a session's leak scans. */
struct scan {
	int busy; /* atomic: a scan of the session is queued or running */

	int request;           /* atomic: enum request_state */
	uint64_t stamp;        /* stamp of the request */
	struct scan_live live; /* blocks live at `stamp`, once the request is DONE */
	struct kept_nodes kept_nodes;
	/* The next members are protected by the session's lock. */
	/* number of scans; number of moments whose resident memory was recorded */
	uint64_t scans, moments;
	bool ended; /* the scan at the end was recorded */
	struct scan_result result;
	/* Progress while the process is held at its end, all atomic. read_bytes: bytes of its
	 * memory read so far; due_bytes: approximate total, 0 = not known yet. */
	int held;
	uint64_t read_bytes, due_bytes;
	uint64_t end_stamp; /* stamp after which the process is held; 0 = not held */
	int end_known;      /* atomic: everything before `end_stamp` is merged */
	/* figures of the draining thread's last round; atomic */
	uint64_t live_bytes, live_blocks, events, failed;
	uint32_t end_seen; /* the guest's end_state in that round */
	/* The next members are protected by the scanner's lock. */
	bool due;          /* a mark or a moment has requested a scan: */
	bool due_resident; /* of resident memory only */
	/* number of scans requested so far; of the last one that is queued or running; and that is
	 * over */
	uint64_t asked, taken, did;
	char due_label[sizeof "mark:" + 255];
	char label[sizeof "mark:" + 255]; /* label of the scan that is queued or running for it */
	/* numbers of the moments at which the guest holds a thread for these; 0 = it does not */
	uint32_t due_moment, moment;
	enum watched watched;
	timer_t timer;
	/* last_tid: last thread of the session, which waits in scan_trace.c; 0 = none.
	 * last_regs: the registers that all threads of the session had when they ended. */
	pid_t last_tid;
	struct scan_trace *last_trace; /* tracer that holds last_tid */
	bool last_waits; /* a tracer holds the last thread until another scan is over */
	const struct scan_thread *last_regs;
	size_t last_count;
	struct scanner *scanner; /* atomic: the scanner that watches the session; NULL = none */
};

/* Describes a queued scan; the session is `busy` as soon as it is queued. */
struct scan_order {
	struct session *session;
	enum scan_asker asker;
};

/* Holds the threads that watch and scan. */
struct scanner {
	pthread_t thread, watcher;
	pthread_mutex_t lock;
	pthread_cond_t work;
	pid_t tid; /* the watching thread's id, under `lock`; 0 = it does not run */
	const struct scan_options *opt;
	struct wake *drain; /* wakes the draining thread */
	int event;          /* eventfd, written when an answer is ready */
	/* The next members are protected by `lock`. */
	MS_ARRAY(struct session *) sessions;
	MS_ARRAY(struct scan_order) queue;
	bool stop, started;
	bool scanned, missed;        /* `answer` has a process that was scanned; one that was not */
	bool answered;               /* `answer` is complete and not yet returned */
	bool tells_kept;             /* `answer` also says what keeps most */
	uint64_t start_ns, until_ns; /* current scan's start and limit, 0 = none; atomic */
	size_t awaited;              /* scans that `answer` still lacks */
	char answer[3072];           /* written by the scanning thread while `awaited` is not 0 */
	char label[280];             /* label given to --tell resident */
	struct scan_trace *trace;    /* tracing of the command; NULL = none */
	pid_t traced;                /* PID of the command traced by scanner_trace; 0 = none */
	bool tree;                   /* `trace` includes the command's descendants */
};

/* Holds the state of one scan. */
struct work {
	struct scanner *scanner;
	struct session *s;
	struct scan *q;
	struct scan_request request;
	uint64_t start_ns, deadline_ns, stop_ns, released_ns; /* stop_ns: 0 = never */
	uint64_t present;     /* the process's memory in bytes when the scan began; 0 = not known */
	uint64_t expected_ns; /* expected duration, if the process stays stopped meanwhile */
	struct memory memory;
	struct graph graph;
	unsigned align; /* alignment as in struct graph; 0 stands for 8 */
	uint64_t cleared;
	struct hijack_stop stopped;
	struct scan_thread *threads;
	size_t thread_count;
	/* The process as the scan found it: one of its threads, and how many it has; 0 = none, with
	 * the reason, an errno. */
	pid_t first;
	size_t found;
	int unseen;
	struct kernel_words kernel;
	struct resident resident;
	uint64_t state;         /* MS_SCAN_* */
	struct mg_roots *roots; /* roots that the program registered; NULL = none */
	/* ignored: number of ignored blocks; root_count: registered roots still mapped */
	uint64_t ignored, root_count;
	bool graphed, answered;
	bool retains;  /* what keeps blocks is wanted */
	bool retained; /* it was searched for: `keeps` */
	struct kept kept;
	struct keep_result keeps;
	uint32_t moment;  /* number of the moment at which the guest holds a thread; 0 = none */
	uint64_t number;  /* the scan's number in the trace */
	bool unjudged;    /* verdicts are not wanted */
	uint64_t refused; /* MS_SCAN_* reason why there will be no verdicts; 0 = none */
};

/* ---- scan.c ---- */

/* Scans the process of a session for leaks. */
void scan_work_on(struct scanner *sc, struct session *s, enum scan_asker asker);
/* Waits until the live blocks are known, reads the memory, releases the process, and sets each
 * block's verdict. Before the call, the process is stopped, with `tid` one of its threads, or
 * its copy is made; and live_ask was called. */
void scan_judge(struct work *w, pid_t tid);
/* Reads the opened memory into the graph; sets w->state. */
void scan_search(struct work *w);
void scan_tell_guest(struct session *s, enum mg_end_state state);
/* Returns how long the process was held, in ns. */
uint64_t scan_pause(const struct work *w);
/* Returns the registers of stopped threads, in memory to be freed. */
struct scan_thread *scan_registers(const struct hijack_stop *s, size_t *count);
/* Removes the stack frames of exit or a similar function from threads that end the process, and
 * those of the guest from one that it holds at a moment.
 * `traced`: some threads in the guest's notes may not be ending the process. */
void scan_leave_ends(struct scan_thread *v, size_t n, const struct mg_session *s, bool traced);
/* Reads which memory the allocator mapped for its own use; count 0 if that is not sure. */
void scan_read_arenas(const struct memory *m, const struct session *s, struct mg_arenas *a);
/* Returns the roots that the program registered, in memory to be freed; NULL: none, or not
 * readable. */
struct mg_roots *scan_read_roots(const struct memory *m, const struct session *s);
/* Sets the call stack of each block. */
void scan_name_stacks(struct scan_live *l);
/* Queues the scan's records for the trace. */
void scan_put_result(struct work *w);

/* Queues a record that there was no scan, for the reason `why` (MS_SCAN_*). Called by the draining
 * thread. */
void scan_put_none(struct session *s, const char *label, uint64_t why);

/* ---- scan_live.c ---- */

/* Returns the stamp of the present time, while the process is stopped. */
uint64_t live_stamp(const struct session *s);
/* Requests the live blocks at the stamp, which arrive in q->live. Call before the process
 * continues, so that the merge cannot have passed the stamp. */
void live_ask(struct scan *q, uint64_t stamp);
/* Waits until q->live is filled in. Returns false if it will not be filled in, or not before the
 * deadline or *until (atomic; NULL = none). */
bool live_await(struct scan *q, struct wake *drain, uint64_t deadline_ns, const uint64_t *until);
/* Waits for the stacks of the blocks in s->scan->live, after live_await. Returns false if they
 * will not arrive. */
bool live_await_stacks(const struct session *s);

/* ---- scan_trace.c ---- */

/* Traces a process in a thread of its own, and with `tree` its descendants, too. NULL: not
 * permitted. */
struct scan_trace *scan_trace_start(struct scanner *sc, pid_t pid, struct scan_tree *tree);
bool scan_trace_is_tree(const struct scan_trace *t);
/* Detaches all traced processes and waits until that is done. */
void scan_trace_quit(struct scan_trace *t);
/* Lets the held thread continue: the scan no longer needs the memory of its process. */
void scan_trace_over(struct scan_trace *t);
/* Tells whether it is undecided whether a trace of the process will be kept. */
bool scanner_is_undecided(struct scanner *sc, pid_t pid);
/* Queues a scan of a process whose last thread `tid` waits for it. `regs`: the registers that
 * its threads had when they ended (count 0: some are missing), valid until scan_trace_over(t).
 * Returns false if there will be no scan. */
bool scanner_hold(struct scanner *sc, struct scan_trace *t, pid_t pid, pid_t tid,
		  const struct scan_thread *regs, size_t count);

/* ---- scan_frozen.c ---- */

/* Finds, before anything is stopped, the mappings that a copy would lack, and sets copy.served.
 * Returns false, with the reason in copy.why, if they cannot be determined. */
bool frozen_look(struct work *w, pid_t tid);
/* Checks, before anything is stopped, whether a copy can be made. Returns false with the reason
 * in copy.why. */
bool frozen_prepare(struct work *w);
/* Makes the copy while all threads are stopped. Returns false with the reason in copy.why. */
bool frozen_make(struct work *w);
/* Opens the copy's memory. Returns 0, or -1 with errno set. */
int frozen_open(struct work *w, struct memory *m, uint64_t deadline_ns);
/* Removes the copy and its resources; may be called in any state. */
void frozen_end(struct work *w);

/* ---- scan_kernel.c ---- */

/* Finds the epoll descriptors, before the process is stopped; call it again while it is stopped if
 * thread `tid` may have ended meanwhile. */
void kernel_find(struct kernel_words *k, int proc, pid_t tid);
void kernel_read(struct kernel_words *k, const struct session *s, pid_t tid);
void kernel_free(struct kernel_words *k);

/* ---- scan_watch.c: waiting for the end of a process ---- */

/* Blocks the signal that watch_wait waits for, in this thread and those that it starts later;
 * `before` receives the previous mask. */
void watch_block(sigset_t *before);
/* Begins to watch a session in the watching thread `tid`; watch_end stops that. */
void watch_begin(struct scan *q, const struct session *s, pid_t tid);
void watch_end(struct scan *q);
/* Returns how long a session need not be checked unless a signal arrives, in ns; UINT64_MAX = no
 * limit. */
uint64_t watch_patience(const struct session *s);
/* Waits `ns`, or until watch_wake or a signal that a process may be ending. */
void watch_wait(uint64_t ns);
void watch_wake(pid_t tid);

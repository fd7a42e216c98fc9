/* SPDX-License-Identifier: MIT
 * Room scan: finds live blocks that nothing points to.
 *   In:  a session; what asked for the scan (process end, --tell, a mark); a moment, as a stamp.
 *   Out: verdicts on the blocks live at that stamp, as records that the session passes on.
 *   Used by: control, which starts the threads and asks for scans; drain, which reports how far the
 *   merge is.
 *
 * A scan refers to one moment, however far behind it the merge is: the process is stopped and, if
 * it is large, copied, so that it can continue at once. Its blocks are judged when the merge has
 * reached the stamp of that moment, by the memory as it was then.
 *
 *   scanning thread           draining thread          writing thread
 *   process stopped, copied
 *   stamp ----------------->  scan_stamp: the merge
 *   ...                       stops there;
 *                             scan_reached: live
 *                             blocks are copied
 *   reads memory  <---------  flush ---------------->  block numbers -> stacks
 *   process continues, if
 *   it was not copied
 *   verdicts      <----------------------------------
 *   records ---------------->  s->verdicts, with the
 *                             next batch
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct session;
struct wake;

/* Holds the result of the last scan, for the report at the end. */
struct scan_result {
	uint64_t state; /* MS_SCAN_*; 0 = there was none */
	uint64_t unreachable_bytes, unreachable_blocks;
	uint64_t pause_ns, read_bytes, took_ns;
	uint64_t exit_state; /* MS_SCAN_* of the scan of --retention-at=exit; 0 = there was none */
};

/* Returns why there is no verdict, from MS_SCAN_*; NULL if no explanation is needed. */
const char *scan_state_words(uint64_t state);

struct scan; /* one session's state of leak scans */
struct scan *scan_new(void);
void scan_free(struct scan *s);
const struct scan_result *scan_result(const struct scan *s);

/* Returns the session's event count, as of the draining thread's last round. May be called
 * from any thread. */
uint64_t scan_events(const struct scan *q);
/* Stores the bytes that are live and the number of failed allocations, as of the same round. May be
 * called from any thread. */
void scan_figures(const struct scan *q, uint64_t *live_bytes, uint64_t *failed);
/* Tells whether the process is held at its end for a scan. Stores in *read the bytes of its memory
 * read so far, in *due about how many there are to read; 0 = not known yet. May be called from any
 * thread. */
bool scan_holds(const struct scan *s, uint64_t *read, uint64_t *due);

/* Lists callbacks for the processes of a traced tree; called by the thread that traces it. */
struct scan_tree {
	/* Handles an exec of process `pid`, and leaves the process in any ptrace stop. Returns
	 * false if the process shall no longer be traced. Must not wait any more once *quit
	 * (atomic) is set. */
	bool (*execed)(struct scan_tree *tree, pid_t pid, const int *quit);
	/* Called when tracing ends: all processes are detached, and no more calls follow. */
	void (*over)(struct scan_tree *tree);
	bool alone;  /* only one process is traced */
	pid_t child; /* child of ms-record; its end stops the tracing; 0 = none */
};
struct scan_trace; /* a traced tree, with the thread that traces it */

/* ---- the scanning thread; called by the control thread ---- */

struct scanner;

/* Names the values of --leak-check; the command-line code (cli) fills in the options below. */
enum scan_wish { SCAN_AUTO, SCAN_YES, SCAN_NO };
struct scan_options {
	enum scan_wish wish; /* with -p, scans run only on request */
	bool off;            /* SCAN_NO, or sampling */
	/* --retention: SCAN_AUTO = at scans on request and at marks, SCAN_YES = at the end too */
	enum scan_wish retention;
	uint64_t retention_bytes; /* memory that the search for what keeps blocks may use; 0 = an
				     eighth of what is free */
	unsigned align;           /* --leak-check=align: 1, 4 or 8 */
	uint64_t cleared; /* --leak-check=mask: bits of a word that are not part of an address */
	uint64_t ns;      /* time limit of a scan */
};
/* default time limits of a scan: with --leak-check=auto; with --leak-check=yes */
#define SCAN_AUTO_NS UINT64_C(2000000000)
#define SCAN_YES_NS UINT64_C(60000000000)

/* Starts the scanning and the watching thread, unless scans are off. The arguments are borrowed.
 * `event`: an eventfd, written when an answer is ready. Returns NULL with errno set on failure. */
struct scanner *scanner_start(const struct scan_options *opt, struct wake *drain, int event);
/* Starts watching a session, once the draining thread has it. */
void scanner_add(struct scanner *sc, struct session *s);
/* Stops watching a session that is about to be freed. */
void scanner_drop(struct scanner *sc, struct session *s);
/* Shortens the time limit of the current scan, because the process that it holds must continue
 * soon. */
void scanner_hurry(struct scanner *sc);
/* Ends the threads; `sc` may be NULL. scanner_answer may still be called. */
void scanner_stop(struct scanner *sc);
void scanner_free(struct scanner *sc);
/* With --leak-check=yes: traces the command, which has not begun to run, so that its end is noticed
 * however it ends. `tree` is for that process alone. Does nothing if tracing is not permitted. */
void scanner_trace(struct scanner *sc, pid_t pid, struct scan_tree *tree);
/* Tells whether scanner_trace traces the process. */
bool scanner_traces(const struct scanner *sc, pid_t pid);
/* Stops tracing the process that scanner_trace traces. */
void scanner_let_go(struct scanner *sc);
/* Traces the command, which has not begun to run, and all its descendants. Returns false if that
 * is not permitted. */
bool scanner_trace_tree(struct scanner *sc, pid_t pid, struct scan_tree *tree);
/* Stops the tracing that scanner_trace_tree started. */
void scanner_untrace(struct scanner *sc);
/* Traces the thread `tid`, which is about to exec, or, if `starts`, the process that `tid` is about
 * to create by vfork; after that exec also all its descendants. Each call starts a thread of its
 * own. NULL: not permitted. */
struct scan_trace *scan_trace_exec(struct scanner *sc, pid_t tid, bool starts,
				   struct scan_tree *tree);
/* Tells whether the tracing has ended. */
bool scan_trace_ended(const struct scan_trace *t);
/* Stops the tracing, or waits for the end of the single process of scanner_trace. `t` may be
 * NULL. */
void scan_trace_free(struct scan_trace *t);
/* Starts a scan of every running process; `event` is written when the answer is ready.
 * `resident`: label for a report of resident memory only; NULL = searches for leaks. `kept`: the
 * answer also says what keeps most. Returns false if scans, or with `kept` searches for what keeps
 * blocks, are off. */
bool scanner_ask(struct scanner *sc, const char *resident, bool kept);
/* Starts a scan of one session as soon as it can be scanned, with the label "WHAT:VALUE", or "VALUE"
 * if `what` is NULL; `resident`: for resident memory only. A scan that is already waiting takes its
 * place, or the other way round. Returns a ticket; 0 = the process cannot be scanned while it runs. */
uint64_t scanner_ask_one(struct scanner *sc, struct session *s, const char *what, const char *value,
			 bool resident);
/* Tells whether the scan with that ticket is over. */
bool scanner_did_one(struct scanner *sc, const struct session *s, uint64_t ticket);
/* Returns the answer once: a line for each process, "" if none runs. NULL: not ready yet. */
const char *scanner_answer(struct scanner *sc);
/* Tells whether every process in the answer was scanned, except those that ended meanwhile. */
bool scanner_answered_all(const struct scanner *sc);

/* ---- called by the draining thread ---- */

/* Notes the session's figures; called in each round of the draining thread. Wakes the scanning
 * thread if the process is about to end or the mark of --leak-check=mark was merged. */
void scan_look(struct session *s);
/* Tells whether the guest began to hold the process at its end after scan_look looked. */
bool scan_is_held(const struct session *s);
/* Returns the stamp at which a scan needs the live blocks; UINT64_MAX = no scan is waiting. */
uint64_t scan_stamp(const struct session *s);
/* Copies the live blocks for the request at `stamp`. Everything that the process did before that
 * stamp must be merged, and nothing later. */
void scan_reached(struct session *s, uint64_t stamp);
/* Fails the open request of a session that is over or damaged. Returns true if a scan of the
 * session is still running, so that the caller has to wait for its records. */
bool scan_over(struct session *s);
/* Records why there was no scan at the end, if there was none. */
void scan_finish(struct session *s);

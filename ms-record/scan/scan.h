/* SPDX-License-Identifier: MIT
 * Room scan: which live blocks nothing points to.
 *   In:  a session; who asked (its end, --tell, a mark); the moment, a stamp.
 *   Out: verdicts on what was live at that stamp, as records that the session hands on.
 *   Used by: control, which starts its threads and asks; drain, which says how far the merge is.
 *
 * A scan is of one moment, however far behind it the merge is. The process is stopped and, where it
 * is large, copied, so that it can go on at once; that is the moment. Its blocks are judged when
 * the merge has come to the stamp, by the memory as it was then.
 *
 *   scanning thread           draining thread          writing thread
 *   process stopped, copied
 *   stamp ----------------->  scan_stamp: the merge
 *   ...                       stops there;
 *                             scan_reached: what is
 *                             live is copied
 *   reads memory  <---------  flush ---------------->  its blocks: number -> stack
 *   process goes on, if it
 *   was not copied
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

/* Holds what the last scan found, as it is shown at the end. */
struct scan_result {
	uint64_t state; /* MS_SCAN_*; 0 = there was none */
	uint64_t unreachable_bytes, unreachable_blocks;
	uint64_t pause_ns, read_bytes, took_ns;
};

/* Why there is no verdict, of MS_SCAN_*; NULL when it goes without saying. */
const char *scan_state_words(uint64_t state);

struct scan; /* of a session */
struct scan *scan_new(void);
void scan_free(struct scan *s);
const struct scan_result *scan_result(const struct scan *s);

/* Events of the session, as of the draining thread's last round; for any thread. */
uint64_t scan_events(const struct scan *q);
/* Is the process held at its end, and looked at? Bytes of its memory that were read, of about *due,
 * 0 = not known yet. Any thread. */
bool scan_holds(const struct scan *s, uint64_t *read, uint64_t *due);

/* Lists callbacks for the processes of a traced tree; called by the thread that traces it. */
struct scan_tree {
	/* The process is at the beginning of another program, and left at some stop of its own. False:
	 * it is traced no more. *quit (atomic): nothing is to be waited for any more. */
	bool (*execed)(struct scan_tree *tree, pid_t pid, const int *quit);
	/* There will be no more; all are detached. */
	void (*over)(struct scan_tree *tree);
	bool alone;  /* one process only */
	pid_t child; /* of ours, for whose end somebody else waits: with it all is over; 0 = none */
};
struct scan_trace; /* such a tree, with the thread that traces it */

/* ---- the scanning thread; called by the control thread ---- */

struct scanner;

/* Names the values of --leak-check; room cli fills in the options below. */
enum scan_wish { SCAN_AUTO, SCAN_YES, SCAN_NO };
struct scan_options {
	enum scan_wish wish; /* with -p: on request only */
	bool off;            /* SCAN_NO, or sampling */
	unsigned align;      /* --leak-check=align: 1, 4 or 8 */
	uint64_t cleared;    /* --leak-check=mask: bits of words that are no part of an address */
	uint64_t ns;         /* how long a scan may take; */
};
#define SCAN_AUTO_NS UINT64_C(2000000000) /* if nobody says otherwise */
#define SCAN_YES_NS UINT64_C(60000000000)

/* Starts the threads, unless scans are off. All is borrowed. NULL with errno set. */
struct scanner *scanner_start(const struct scan_options *opt, struct wake *drain, int event);
/* Watches a session, which the draining thread has. */
void scanner_add(struct scanner *sc, struct session *s);
/* Watches it no more: it is about to be freed. */
void scanner_drop(struct scanner *sc, struct session *s);
/* A process that a scan holds is to go on soon: what cannot be looked at in a moment is not. */
void scanner_hurry(struct scanner *sc);
/* Ends the threads; NULL = there are none. An answer can be taken still. */
void scanner_stop(struct scanner *sc);
void scanner_free(struct scanner *sc);
/* With --leak-check=yes: traces the command, which has not begun to run, so that its end is seen
 * whatever it is, in a tree of it alone. Does nothing where that is not permitted. */
void scanner_trace(struct scanner *sc, pid_t pid, struct scan_tree *tree);
/* Is that process traced so? */
bool scanner_traces(const struct scanner *sc, pid_t pid);
/* Stops tracing the process that scanner_trace traces. */
void scanner_let_go(struct scanner *sc);
/* Traces the command, which has not begun to run, and all that it starts. False: not permitted. */
bool scanner_trace_tree(struct scanner *sc, pid_t pid, struct scan_tree *tree);
/* Traces nothing any more. */
void scanner_untrace(struct scanner *sc);
/* Traces the thread `tid`, which is about to exec, or with `starts` the process that it is about to
 * start by vfork; and from its exec on all that it starts. Any number of times, each in a thread of
 * its own. NULL: not permitted. */
struct scan_trace *scan_trace_exec(struct scanner *sc, pid_t tid, bool starts,
				   struct scan_tree *tree);
/* Is nothing traced there any more? */
bool scan_trace_ended(const struct scan_trace *t);
/* Traces nothing there any more; one process (scanner_trace) is waited for. NULL: none. */
void scan_trace_free(struct scan_trace *t);
/* Has every process that runs scanned now; the answer comes with `event`. `resident`: only what is
 * resident is told, as of a moment of that label; NULL: leaks are looked for. False: that is off. */
bool scanner_ask(struct scanner *sc, const char *resident);
/* Takes the answer: a line for each process; empty = none runs. NULL: it is not there yet. */
const char *scanner_answer(struct scanner *sc);
/* Does it tell of a scan of each process, but those that ended meanwhile? */
bool scanner_answered_all(const struct scanner *sc);

/* ---- called by the draining thread ---- */

/* Once a round: notes figures, and calls the scanning thread if the process is about to end, or the
 * mark of --leak-check=mark was merged. */
void scan_look(struct session *s);
/* The stamp at which somebody wants to know what is live; UINT64_MAX = nobody does. */
uint64_t scan_stamp(const struct session *s);
/* All that the process did before that stamp is merged, and nothing later. */
void scan_reached(struct session *s, uint64_t stamp);
/* The session is over or damaged: no request will be served. True while a scan is still at work on
 * it: its records are to be waited for. */
bool scan_over(struct session *s);
/* Says why there was no scan at the end, if there was none. */
void scan_finish(struct session *s);

/* SPDX-License-Identifier: MIT
 * Room scan: which live blocks nothing points to.
 *   In:  a session, who asked, and live blocks at one moment.
 *   Out: verdicts, as records that the session hands on.
 *   Used by: drain; control, which starts its threads.
 *
 * The leak scan: which live blocks can still be reached.
 *
 * A thread of its own watches whether a process is about to end (guest/end.c). Then it stops the
 * other threads, has the draining thread merge all events up to then and tell the live blocks,
 * reads the memory, and lets the process go on. What it found is put into the trace by the draining
 * thread, as records.
 *
 *   scanning thread           draining thread          writing thread
 *   process held, stopped
 *   ask ------------------->  scan_merge: merges up
 *                             to now, blocks' copy
 *   reads memory  <---------  flush ---------------->  its blocks: number -> stack
 *   process goes on
 *   verdicts      <----------------------------------
 *   records ---------------->  s->verdicts, with the
 *                             next batch
 */
#ifndef SCAN_H
#define SCAN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ms-record/base/wake.h"

struct options;
struct scan_trace;
struct session;

/* What was found at the end, for people. */
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

/* What is done with the processes of a traced tree; called by the thread that traces it. */
struct scan_tree {
	/* The process is at the beginning of another program, and left at some stop of its own. */
	void (*execed)(struct scan_tree *tree, pid_t pid);
	/* There will be no more; all are detached. */
	void (*over)(struct scan_tree *tree);
};

/* ---- the scanning thread; called by the control thread ---- */

struct scanner {
	pthread_t thread, watcher;
	pthread_mutex_t lock;
	pthread_cond_t work;
	pid_t tid; /* of the watching thread, under lock; 0 = it does not run */
	const struct options *opt;
	struct wake *drain; /* has the draining thread look */
	int event;          /* eventfd, written when there is an answer */
	struct {
		struct session **v;
		size_t n, cap;
	} sessions, held;         /* under lock; held: about to end, to be scanned */
	bool stop, started, due;  /* due: a mark came that is to be scanned at */
	struct scan_trace *trace; /* the command is traced; NULL = not */
	pid_t traced;             /* its number, if its end is seen so; 0 */
	bool tree;                /* with all that it starts */
	int asked;                /* atomic: enum scan_asked */
	char answer[3072];        /* once it is SCAN_ANSWERED */
};

/* A scan that was asked for (--tell): the control thread sets ASKED and takes the answer. */
enum scan_asked { SCAN_IDLE, SCAN_ASKED, SCAN_ANSWERED };

/* Starts the thread, unless --leak-check=no. All is borrowed. 0, or -1 with errno set. */
int scanner_start(struct scanner *sc, const struct options *opt, struct wake *drain, int event);
/* Watches a session, which the draining thread has. */
void scanner_add(struct scanner *sc, struct session *s);
/* Watches it no more: it is about to be freed. */
void scanner_drop(struct scanner *sc, struct session *s);
void scanner_stop(struct scanner *sc);
/* With --leak-check=yes: traces the command, which has not begun to run, so that its end is seen
 * whatever it is. Does nothing where that is not permitted. */
void scanner_trace(struct scanner *sc, pid_t pid);
/* Traces the command, which has not begun to run, and all that it starts. False: not permitted. */
bool scanner_trace_tree(struct scanner *sc, pid_t pid, struct scan_tree *tree);
/* Traces nothing any more. */
void scanner_untrace(struct scanner *sc);
/* Has every process that runs scanned now; the answer comes with `event`. */
void scanner_ask(struct scanner *sc);

/* ---- called by the draining thread ---- */

/* Once a round: notes figures, and calls the scanning thread if the process is about to end, or the
 * mark of --leak-check-at was merged. */
void scan_look(struct session *s);
/* Serves a request if all events below `limit` can be merged. */
void scan_merge(struct session *s, uint64_t limit);
/* The session is over or damaged: no request will be served. True while a scan is still at work on
 * it: its records are to be waited for. */
bool scan_over(struct session *s);
/* Says why there was no scan at the end, if there was none. */
void scan_finish(struct session *s);

#endif

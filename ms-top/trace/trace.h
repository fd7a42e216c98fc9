/* SPDX-License-Identifier: MIT
 * A trace that is followed: the figures of a frame, made from the live-heap model that ms-snap has.
 *
 *   follow (libcommon)   the model, as far as the trace was read
 *   past.c               the model as it was at an earlier moment
 *   trace.c              sums of either: whole, sites, threads, sizes; trends, and limits ahead
 *   trace_rows.c         sites in their order; trace_tree.c the tree of callers
 *   trace_names.c        what a call stack is called; trace_site.c all about one site
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ms-top/rows/columns.h"
#include "ms-top/proc/limits.h"
#include "ms-top/proc/sort.h"
#include "ms-top/rows/list.h"
#include "ms-top/rows/rows.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/lookup.h"
#include "libcommon/trace/follow.h"
#include "libcommon/symbols/frame_names.h"
#include "libcommon/stats/trend.h"

struct ms_err;
struct past;
struct recorder;
struct save;

enum trace_view {
	TRACE_SITES,
	TRACE_TREE,
	TRACE_THREADS,
	TRACE_TIMELINE,
	TRACE_SIZES,
	TRACE_VIEWS
};

/* Names the columns of a table of sites. */
enum site_column {
	SITE_LIVE,
	SITE_PEAK, /* of a recording that is over */
	SITE_BASE,
	SITE_RATE,
	SITE_BLOCKS,
	SITE_CALLS,
	SITE_ALLOCATED,
	SITE_TEMPORARY,
	SITE_HISTORY,
	SITE_VERDICT,
	SITE_NAME,
	SITE_COLUMNS
};
extern const struct column site_columns[SITE_COLUMNS];

/* Sums of cells. */
struct trace_sum {
	uint64_t live_bytes, live_blocks;
	uint64_t allocations, bytes, temporary;
	uint64_t frees;    /* by a thread; 0 where not known */
	uint64_t before;   /* allocations when the window of rates began */
	double per_second; /* allocations */
};

struct trace_site {
	struct trace_sum sum;
	uint64_t peak_bytes; /* live at the peak of the whole */
	uint32_t node;       /* innermost stack node: its name for ever */
	uint8_t scan;        /* what a scan of memory said: enum ms_verdict_word + 1; 0 = nothing */
	struct trace_trend {
		struct ms_trend trend;
		uint64_t of; /* which samples it is of; 0 = none */
	} trend;             /* ask trace_trend */
};

/* The whole, at a moment. */
struct trace_total {
	uint64_t ns; /* since the start of the recording */
	uint64_t live_bytes, live_blocks, peak_bytes, peak_ns;
	uint64_t allocations, frees, bytes, temporary, events;
	uint64_t rss; /* UINT64_MAX = not known */
};

/* A second of the recording, or all of it. */
struct trace_rates {
	double seconds;
	double allocations, frees, bytes, events; /* a second */
	double temporary;                         /* part of the allocations */
	bool average;                             /* of the whole recording */
};

/* All about a site; see trace_site.c. */
struct site_detail {
	uint32_t node;
	uint64_t of_look;                                                   /* 0 = of none */
	uint64_t size_blocks[MS_SIZE_CLASSES], size_bytes[MS_SIZE_CLASSES]; /* live */
	uint64_t size_calls[MS_SIZE_CLASSES];
	uint64_t age_blocks[MS_AGES]; /* of live blocks; 0 where that is not known */
	uint64_t lived[MS_AGES];      /* blocks that were freed, by how old they were then */
	struct site_thread {
		uint32_t thread;
		uint64_t live_bytes, allocations;
	} threads[8];        /* those with most, in order */
	size_t thread_count; /* of all */
	uint64_t reallocations, failed;
	uint64_t ages_ns, next_ages_ns; /* when blocks were looked at, and may be again */
};

/* The tree of callers; see trace_tree.c. */
struct trace_branch {
	uint64_t id;            /* of its functions from the outermost on: its name for ever */
	uint64_t bytes, blocks; /* of it and all that it called */
	uint64_t most;          /* bytes of the largest site that ends here */
	uint32_t site;          /* innermost node of that; 0 = none ends here */
	uint32_t sites;         /* with something live, that end here */
	uint32_t parent;        /* branches number from their parents on; 0 = the root */
	uint32_t first, next;   /* children with something live, and siblings; 0 = none */
	uint32_t frame;         /* one of its frames */
	uint32_t node;          /* and the first node that had it */
	uint16_t part;          /* which of its logical frames, the innermost one is 0 */
	uint8_t open;           /* 0 = not decided yet, 1 = closed, 2 = open */
	bool chosen;            /* somebody opened or closed it */
	bool several;           /* frames of several lines */
};
struct trace_tree {
	MS_ARRAY(struct trace_branch) b;
	uint32_t *of_node; /* the branch that a node ends at */
	size_t nodes, node_room;
	struct ms_lookup by_id;
	uint64_t answers; /* names that it was made with */
	bool lines;       /* a branch for each place of a call, not for each function */
	uint32_t *rows;   /* branches in view order */
	uint64_t *ids;
	uint16_t *depth;
	size_t n, rows_room, ids_room, depth_room;
};

struct trace {
	struct ms_follow *follow;
	struct ms_names *names;
	struct past *past;
	struct save *save;
	struct recorder *recorder;        /* that we started, or NULL */
	const struct ms_recording *shown; /* of the latest look: follow->rec, or of the past */
	bool in_past, partial;            /* partial: of the past only what is live is known */
	uint64_t past_ns;                 /* wanted moment, when in_past */
	bool waiting;                     /* for it */

	enum trace_view view;
	struct list lists[TRACE_VIEWS];
	struct list frames; /* of the site that is open */
	bool in_site;

	struct trace_total total, before, base;
	struct trace_rates rates;
	struct trace_site *sites;
	size_t site_count, site_room;
	struct trace_sum *threads;
	size_t thread_count, thread_room;
	struct trace_sum sizes[MS_SIZE_CLASSES];
	bool has_base;
	struct trace_sum *base_sites; /* by number of the site in the followed recording */
	size_t base_count, base_room;

	bool ties_by_peak; /* of sites that hold the same at the end */
	bool full_names;   /* of functions, and no frame is folded */
	enum site_column sort;
	bool reverse;
	bool sort_open; /* nobody chose it: of a recording that is over, what is lost comes first */
	struct pattern filter;
	uint32_t *order; /* sites in view */
	uint64_t *ids;
	size_t rows, order_room, ids_room;
	size_t hidden; /* by the filter */
	uint64_t hidden_bytes;
	size_t trend_turn;
	struct {
		uint32_t *order;
		uint64_t *ids;
		size_t n, order_room, ids_room;
	} thread_rows;
	uint64_t size_ids[MS_SIZE_CLASSES];
	size_t size_rows;
	struct trace_tree tree;
	struct site_detail detail;
	struct site_thread *site_threads; /* by thread, while it is made */
	size_t site_threads_room;
	struct trace_trend whole; /* of all live bytes */
	struct forecast forecast; /* of the program, while it is recorded on this machine */

	uint64_t answers; /* of t->names, at the latest frame */
	uint64_t looks;
	/* what the sums are of, and how often they came out the same since */
	struct trace_seen {
		const struct ms_recording *rec;
		uint64_t position, verdicts, answers;
		enum ms_trace_state state;
		unsigned times;
	} seen;
	char process[256];
	char news[256]; /* to be told once */
};

/* ---- trace.c ---- */

/* `wrappers` is kept. NULL with `err` set. */
struct trace *trace_open(const char *path, const struct ms_wrappers *wrappers, struct ms_err *err);
/* Opens a trace as trace_open does, but waits for the first bytes of a recording that is only
 * beginning: as long as a recorder has the file open, and half a second for the file itself. */
struct trace *trace_open_begun(const char *path, const struct ms_wrappers *wrappers,
			       struct ms_err *err);
void trace_close(struct trace *t);
/* Reads on, for some 20 ms. 1: there is more; 0; -1 with `err` set. */
int trace_work(struct trace *t, struct ms_err *err);
/* Reads what has the file's name now, from its start. 0, or -1 with `err` set and nothing changed.
 */
int trace_again(struct trace *t, struct ms_err *err);
/* Waits for the names that were asked for. True: some came since *seen, so that what asks for names
 * is to be done again, and may ask for more. */
bool trace_names_came(struct trace *t, uint64_t *seen);
/* Makes the figures of a frame, of what was read. */
void trace_look(struct trace *t);
/* Differences count from now on. */
void trace_set_base(struct trace *t);
/* Change of a site's live bytes since then; 0 without a baseline. */
double trace_since_base(const struct trace *t, const struct trace_site *s);
/* Events that were lost: not those of pauses, or behind the end that was asked for. */
uint64_t trace_lost(const struct ms_recording *rec);
/* Was it not recorded for some time, because that was asked for? */
bool trace_paused(const struct ms_recording *rec);
/* Is it of ms-record --poll, which records no allocations? */
bool trace_is_polled(const struct ms_recording *rec);
/* Calls of a cell, and figures of the whole; of a sampled recording what the samples stand for. */
uint64_t trace_calls(const struct ms_replay *r, size_t cell);
struct trace_total trace_counts(const struct ms_replay *r);
/* Returns the site of that node in the frame; NULL = none. */
struct trace_site *trace_find(const struct trace *t, uint32_t node);
struct ms_trend trace_trend(const struct trace *t, struct trace_site *s);
/* Returns the trend of all live bytes, at the latest moment. */
struct ms_trend trace_whole_trend(struct trace *t);
/* Returns a word: growing, steady, flat, temporary... or what a scan found. */
const char *trace_verdict(const struct trace *t, struct trace_site *s);
/* Shows the moment `ns`; MS_NEVER: the latest again. */
void trace_travel(struct trace *t, uint64_t ns);
/* The step of time travel, in ns. */
uint64_t trace_step(const struct trace *t);
/* The moment of the latest frame, as ms-snap --at takes it. */
void trace_point(const struct trace *t, char *text, size_t room);
/* recording, ended, ...: a few words, and whether that is a trouble. */
const char *trace_state(const struct trace *t, bool *trouble);

/* ---- trace_rows.c ---- */

#define TRACE_TRENDS 200u /* looked at in turn, when rows are sorted by them */

void trace_rows(struct trace *t);
/* The column of that title which rows can be sorted by. -1 with `err` set. */
int site_column_find(const char *name, struct ms_err *err);
/* Is the recording over, and this its end? Then sites have what they held at the peak, too. */
bool trace_has_peak(const struct trace *t);
/* All that there is something to say in. */
struct column_set site_columns_shown(const struct trace *t);

/* ---- trace_tree.c ---- */

void tree_make(struct trace *t);
/* Rows are of functions, or of lines: the other of these from now on. */
void tree_lines(struct trace *t);
/* Opens or closes the branch at a row. False: it has none. */
bool tree_toggle(struct trace *t, size_t row);
/* The recording is going to be another one. */
void tree_forget(struct trace *t);
void tree_free(struct trace_tree *tree);

/* ---- trace_names.c ---- */

/* A logical frame of a call stack. Strings are borrowed; "" when there is none. */
struct trace_frame {
	const char *function; /* short, unless full names are wanted; NULL = unknown */
	const char *full;
	const char *file; /* NULL = unknown */
	const char *path; /* the same as it is shown, without the folder it was started in */
	uint32_t line;
	const char *module; /* file name; NULL = unknown */
	uint64_t address;   /* in the module's file */
	const char *note;   /* why frames are missing here; NULL = none are */
	bool inlined, runtime, wrapper, pending;
};
/* Calls `each` for the logical frames of a node's stack, innermost first, until it says false. */
void trace_each_frame(const struct trace *t, uint32_t node,
		      bool (*each)(void *arg, const struct trace_frame *f), void *arg);
/* Names a site as ms-report does: after the first frame of the user's own code. */
struct trace_site_name {
	struct trace_frame user;
	struct trace_frame called; /* the frame just inside of that */
	struct trace_frame caller; /* the one that called it, if that is the user's too */
	bool has_called, has_caller;
};
struct trace_site_name trace_site_name(const struct trace *t, uint32_t node);
/* One of the logical frames of a frame, the innermost one is 0; and how many it has. */
struct trace_frame trace_part(const struct trace *t, uint32_t frame, uint16_t part);
size_t trace_parts(const struct trace *t, uint32_t frame);
/* "Cache::insert", "libz.so.1+0x1234", "[frames cut]". */
const char *trace_frame_name(const struct trace_frame *f, char *text, size_t room);
/* "cache.cpp:77", "[libz.so.1]", "". */
const char *trace_frame_place(const struct trace_frame *f, char *text, size_t room);
/* Does some frame of the stack match, by function, file as it is shown (only its name, where that
 * is a whole path) or module? */
bool trace_node_matches(const struct trace *t, uint32_t node, const struct pattern *p);
const char *trace_thread_name(const struct trace *t, uint32_t thread, char *text, size_t room);

/* ---- trace_site.c ---- */

/* Makes t->detail that of the site, as of the latest look. */
void site_look(struct trace *t, uint32_t node);
/* A row of a stack: a logical frame, or, unless names are full, frames of the runtime that follow
 * each other, as the one that your code called, or that called it. */
struct trace_stack_row {
	struct trace_frame frame;
	size_t number; /* of that frame, from the innermost one on, which is 0 */
	size_t more;   /* frames that the row stands for besides */
};
/* Calls `each` for the rows of a node's stack, innermost first, until it says false. */
void trace_each_stack_row(const struct trace *t, uint32_t node,
			  bool (*each)(void *arg, const struct trace_stack_row *r), void *arg);

/* ---- past.c ---- */

/* The model at a moment, and the allocations of each of its sites one window earlier. */
struct past_state {
	struct ms_recording *rec; /* NULL: it could not be found */
	uint64_t ns;
	bool partial; /* read from a checkpoint on: only what is live is known */
	uint64_t window_ns;
	uint64_t *site_before,
		*thread_before; /* allocations, by number; fewer than there are now */
	size_t site_count, thread_count;
	struct trace_total before; /* then: what happened so far */
	char why[256];
};

struct past *past_new(void);
void past_free(struct past *p);
/* Asks for the moment `ns` of the trace at `path`. What was asked before is given up. `part`: it is
 * worth to begin at a checkpoint. */
void past_ask(struct past *p, const char *path, uint64_t ns, bool part);
/* The answer to the latest question, once: NULL when there is no new one. It is valid until there
 * is another, or past_drop. */
const struct past_state *past_get(struct past *p);
/* Forgets question and answer. */
void past_drop(struct past *p);

/* ---- record.c ---- */

/* The program of ours of that name which lies beside this one; else its name, for PATH. */
void program_find(const char *name, char *path, size_t room);

/* Starts ms-record -p PID; its trace is NAME.PID.trace in the working folder. NULL with `err` set.
 */
struct recorder *recorder_start(pid_t pid, const char *name, struct ms_err *err);
/* Its trace, once there is one; else NULL. */
const char *recorder_started(const struct recorder *r);
/* Is it at work? `r` may be NULL. */
bool recorder_works(const struct recorder *r);
/* True once, when it has ended by itself: `text` says what it said last. */
bool recorder_ended(struct recorder *r, char *text, size_t room);
/* Has it let go of the process (at most a few seconds), and frees `r`, which may be NULL. */
void recorder_stop(struct recorder *r);

/* ---- save.c ---- */

struct save *save_new(const struct ms_wrappers *wrappers);
/* Waits for what is being written. */
void save_free(struct save *s);
/* Begins. False: one is being written already, or there is no thread to be had. */
bool save_begin(struct save *s, const char *trace, const char *point);
/* True once after each: `text` says what came of it. */
bool save_ended(struct save *s, char *text, size_t room);
/* Is one being written? */
bool save_works(const struct save *s);
/* Writes a snapshot of what was read so far to `fd`. That is the end of the model: it is for a child
 * process, which has a copy, made while save_works says false. 0, or -1 with `err` set. */
int save_model(struct trace *t, const struct ms_wrappers *wrappers, int fd, struct ms_err *err);

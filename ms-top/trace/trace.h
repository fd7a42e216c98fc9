/* SPDX-License-Identifier: MIT
 * Follows a trace: the figures of a frame, from the same live-heap model as in ms-snap.
 *
 *   follow (libcommon)   the model of the trace as read so far
 *   past.c               the model at an earlier moment
 *   trace.c              sums of either: total, sites, threads, sizes; trends, forecasts
 *   trace_rows.c         sites in their order; trace_tree.c the tree of callers
 *   trace_names.c        what a call stack is called; trace_site.c all about one site
 *   trace_kept.c         what keeps blocks alive
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ms-top/rows/columns.h"
#include "ms-top/proc/limits.h"
#include "ms-top/rows/list.h"
#include "ms-top/rows/rows.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/lookup.h"
#include "libcommon/base/units.h"
#include "libcommon/names/keepers.h"
#include "libcommon/names/kept_fold.h"
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
	TRACE_KEPT,
	TRACE_VIEWS
};

/* Columns of a table of sites. */
enum site_column {
	SITE_LIVE,
	SITE_PEAK, /* shown for a finished recording */
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

/* Holds sums of cells. */
struct trace_sum {
	uint64_t live_bytes, live_blocks;
	uint64_t allocations, bytes, temporary;
	uint64_t frees;    /* frees by a thread; 0 = not known */
	uint64_t before;   /* `allocations` at the start of the window of rates */
	double per_second; /* allocations per second */
};

struct trace_site {
	struct trace_sum sum;
	uint64_t peak_bytes; /* bytes live at the peak of the whole heap */
	uint32_t node;       /* innermost stack node, which identifies the site */
	uint8_t scan;        /* result of a leak scan: enum ms_verdict + 1; 0 = none */
	struct trace_trend {
		struct ms_trend trend;
		uint64_t of; /* key of the samples used; 0 = none */
	} trend;             /* read it with trace_trend(), which updates it */
};

/* Holds the totals at a moment of the recording. */
struct trace_total {
	uint64_t ns; /* since the start of the recording */
	uint64_t live_bytes, live_blocks, peak_bytes, peak_ns;
	uint64_t allocations, frees, bytes, temporary, events;
	uint64_t rss; /* UINT64_MAX = not known */
};

/* Holds rates during a window of about a second, or the whole recording. */
struct trace_rates {
	double seconds;
	double allocations, frees, bytes, events; /* per second */
	double temporary;                         /* share of temporary allocations */
	bool average;                             /* the rates are over the whole recording */
};

/* Holds all details of a site; see trace_site.c. */
struct site_detail {
	uint32_t node;
	uint64_t of_look; /* number of the update that filled it in; 0 = none */
	uint64_t size_blocks[MS_SIZE_CLASSES], size_bytes[MS_SIZE_CLASSES]; /* live */
	uint64_t size_calls[MS_SIZE_CLASSES];
	uint64_t age_blocks[MS_AGES]; /* live blocks by age; 0 = not known */
	uint64_t lived[MS_AGES];      /* freed blocks by lifetime */
	struct site_thread {
		uint32_t thread;
		uint64_t live_bytes, allocations;
	} threads[8];        /* the largest threads, sorted */
	size_t thread_count; /* number of all threads of the site */
	uint64_t reallocations, failed;
	uint64_t ages_ns, next_ages_ns; /* time ages were determined, and time they may be again */
};

/* Describes a branch of the tree of callers; see trace_tree.c. */
struct trace_branch {
	uint64_t id;            /* hash of the branch's functions, outermost first: a stable id */
	uint64_t bytes, blocks; /* sums over the branch and all its callees */
	uint64_t most;          /* bytes of the largest site that ends here */
	uint32_t site;          /* innermost node of the largest site; 0 = no site ends here */
	uint32_t sites;         /* number of live sites that end here */
	uint32_t parent;        /* index of the parent, which is lower; 0 = the root */
	uint32_t first, next;   /* first live child, next live sibling; 0 = none */
	uint32_t frame;         /* one of the branch's frames */
	uint32_t node;          /* first node with `frame` */
	uint32_t line, depth;   /* line of the frame; number of ancestors below the root */
	uint16_t part;          /* index of the logical (inlined) frame, 0 = the innermost */
	uint8_t open;           /* 0 = not decided yet, 1 = closed, 2 = open */
	bool chosen;            /* the user has opened or closed the branch */
	bool several;           /* the branch has frames on several lines */
	bool runtime;           /* the branch is a run of runtime frames */
};
struct trace_tree {
	MS_ARRAY(struct trace_branch) b;
	uint32_t *of_node; /* by stack node: branch at which the stack ends */
	size_t nodes, node_room;
	struct ms_lookup by_id;
	uint64_t answers;        /* number of names known when the tree was made */
	bool lines;              /* a branch per call site instead of per function */
	MS_ARRAY(uint32_t) rows; /* visible branches, in order */
	uint64_t *ids;
	size_t ids_room;
};

/* Tells by how many roots a root is observed. */
struct kept_observed {
	uint32_t first; /* number of the first of them */
	size_t n;
};
struct trace_kept {
	const char *label; /* of the scan that is shown, "request"; NULL = there is none */
	uint64_t ns;       /* when it was made, since the start of the recording */
	size_t scan;       /* its index in the recording */
	const char *state; /* "done", or why it tells nothing */
	struct kept_observed *observed; /* by number of the root, of scan `observed_of` */
	size_t observed_of, observed_count, observed_room;
	struct ms_kept_tree tree;
	uint8_t *open; /* by number of a branch's first row: see is_open */
	size_t open_room;
	uint64_t made;           /* scan and number of names known when the tree was made */
	MS_ARRAY(uint32_t) rows; /* visible branches, in order */
	uint64_t *ids;
	size_t ids_room, top; /* top: number of keepers */
};

struct trace {
	struct ms_follow *follow;
	struct ms_names *names;
	struct past *past;
	struct save *save;
	struct recorder *recorder;  /* recorder that we started, or NULL */
	struct recorder *asking;    /* asks the recorder for a scan; NULL = none was asked for */
	struct ms_recording *shown; /* recording of the latest update: follow->rec, or an
					     earlier state */
	bool in_past, partial;      /* partial: only live figures are known of an earlier
					     moment */
	uint64_t past_ns;           /* requested moment, if in_past */
	bool waiting;               /* the requested moment is not available yet */

	enum trace_view view;
	struct list lists[TRACE_VIEWS];
	struct list frames; /* frames of the open site */
	bool in_site;

	struct trace_total total, before, base;
	struct trace_rates rates;
	struct trace_site *sites;
	size_t site_count, site_room;
	struct trace_sum *threads;
	size_t thread_count, thread_room;
	struct trace_sum sizes[MS_SIZE_CLASSES];
	bool has_base;
	struct trace_sum *base_sites; /* baseline by site number in the followed recording */
	size_t base_count, base_room;

	bool ties_by_peak; /* sites with equal bytes at the end are sorted by their peak */
	bool full_names;   /* full names of functions, and no folded frames */
	enum site_column sort;
	bool reverse;
	bool sort_open; /* no order was chosen; a finished recording lists lost blocks first */
	struct pattern filter;
	MS_ARRAY(uint32_t) rows; /* visible sites, sorted */
	uint64_t *ids;           /* node of each row */
	size_t ids_room;
	size_t hidden; /* number of sites hidden by the filter */
	uint64_t hidden_bytes;
	size_t trend_turn;
	MS_ARRAY(uint64_t) thread_rows, size_rows; /* threads and size classes, sorted */
	struct trace_tree tree;
	struct trace_kept kept;
	struct site_detail detail;
	struct site_thread *site_threads; /* scratch memory, by thread */
	size_t site_threads_room;
	struct trace_trend whole; /* trend of all live bytes */
	struct forecast forecast; /* forecast for the program while it is recorded on this
				     machine */

	uint64_t answers; /* number of answers of t->names at the latest screen update */
	uint64_t looks;
	/* State on which the sums depend; `times` = number of screen updates without a change. */
	struct trace_seen {
		const struct ms_recording *rec;
		uint64_t position, verdicts, answers;
		enum ms_trace_state state;
		unsigned times;
	} seen;
	char process[256];
	char news[256]; /* message to be shown once */
};

/* ---- trace.c ---- */

/* Opens a trace. `wrappers` must outlive it. Returns NULL with `err` set on failure. */
struct trace *trace_open(const char *path, const struct ms_wrappers *wrappers, struct ms_err *err);
/* Opens a trace as trace_open does, but waits for the first bytes of a new recording while a
 * recorder has the file open, and up to half a second for the file to be created. */
struct trace *trace_open_begun(const char *path, const struct ms_wrappers *wrappers,
			       struct ms_err *err);
void trace_close(struct trace *t);
/* Reads more of the trace, for about 20 ms. Returns 1 if there is more, 0 if there is not, or -1
 * with `err` set. */
int trace_work(struct trace *t, struct ms_err *err);
/* Reads the file that now has the name, from its start. Returns 0, or -1 with `err` set and nothing
 * changed. */
int trace_again(struct trace *t, struct ms_err *err);
/* Waits for requested names. True = names arrived since *seen; the caller must repeat its requests,
 * which may request further names. */
bool trace_names_came(struct trace *t, uint64_t *seen);
/* Computes the figures that the screen shows, from the events read so far. */
void trace_look(struct trace *t);
/* Sets the baseline to the present figures. */
void trace_set_base(struct trace *t);
/* Returns the change of a site's live bytes since the baseline; 0 without one. */
double trace_since_base(const struct trace *t, const struct trace_site *s);
/* Returns the resident memory in the latest sample up to `ns`; UINT64_MAX = not known. */
uint64_t trace_rss(const struct ms_recording *rec, uint64_t ns);
/* Tells whether the recording was paused for some time on request. */
bool trace_paused(const struct ms_recording *rec);
/* Returns the totals; in a sampled recording numbers of blocks are estimates. */
struct trace_total trace_counts(const struct ms_replay *r);
/* Returns the site with stack node `node`, as of the latest screen update; NULL = none. */
struct trace_site *trace_find(const struct trace *t, uint32_t node);
struct ms_trend trace_trend(const struct trace *t, struct trace_site *s);
/* Returns the trend of all live bytes, at the latest moment. */
struct ms_trend trace_whole_trend(struct trace *t);
/* Returns a word: growing, steady, flat, temporary... or the result of a leak scan. */
const char *trace_verdict(const struct trace *t, struct trace_site *s);
/* Shows the moment `ns`; MS_NEVER: the latest one again. */
void trace_travel(struct trace *t, uint64_t ns);
/* Returns the step of time travel, in ns. */
uint64_t trace_step(const struct trace *t);
/* Stores the moment that the screen shows, in the syntax of ms-snap --at, and returns `text`. */
char *trace_point(const struct trace *t, char text[MS_UNIT_BUF]);
/* Returns the state in a few words: recording, ended, ... *trouble: the state is a problem. */
const char *trace_state(const struct trace *t, bool *trouble);

/* ---- trace_rows.c ---- */

#define TRACE_TRENDS 200u /* trends renewed per screen update if rows are sorted by trend */

void trace_rows(struct trace *t);
/* Finds a column that rows can be sorted by, by its title. -1 with `err` set. */
int site_column_find(const char *name, struct ms_err *err);
/* Tells whether the end of a finished recording is shown; then sites also have their figures at the
 * peak. */
bool trace_has_peak(const struct trace *t);
/* Returns the columns that have figures. */
struct column_set site_columns_shown(const struct trace *t);

/* ---- trace_tree.c ---- */

void tree_make(struct trace *t);
/* Switches between rows of functions and rows of lines. */
void tree_lines(struct trace *t);
/* Opens or closes the branch at a row. Returns false if it has no children. */
bool tree_toggle(struct trace *t, size_t row);
/* Drops the tree, as the recording is about to be replaced. */
void tree_forget(struct trace *t);
void tree_free(struct trace_tree *tree);

/* ---- trace_kept.c ---- */

/* Holds what a keeper, or a set of them, keeps of a site. */
struct trace_keeper {
	uint32_t top;  /* number of its row */
	uint32_t most; /* number of the row of the site with most bytes */
	uint64_t bytes, blocks;
};

/* Chooses the last retention scan up to the moment that is shown, one that is done if any is. */
void kept_look(struct trace *t);
/* Makes the tree of what it tells. */
void kept_make(struct trace *t);
/* Opens or closes the branch at a row. Returns false if it has no children. */
bool kept_toggle(struct trace *t, size_t row);
/* Drops the scan, as the recording is about to be replaced. */
void kept_forget(struct trace *t);
void kept_free(struct trace_kept *k);
/* Finds what keeps the blocks of a site, most bytes first: fills `v` with at most `room` elements, and
 * sets *bytes to the sum of all. Returns the number of all. */
size_t kept_of_site(const struct trace *t, uint32_t node, struct trace_keeper *v, size_t room,
		    uint64_t *bytes);
/* Returns the head of the scan, NULL = there is none to show; kept_unknown: why it tells nothing, in
 * words, NULL = it does, or there is none. */
const char *kept_unknown(const struct trace *t);
const struct ms_retention_head *kept_head(const struct trace *t);
struct kept_observed kept_observed(const struct trace *t, uint64_t root);
/* Returns the stack node of a row or root, 0 = none; kept_row, kept_root: a row or a root of the
 * scan by its number. */
uint32_t kept_node(const struct trace *t, uint64_t stack);
const struct ms_retention_row *kept_row(const struct trace *t, uint64_t number);
const struct ms_retention_root *kept_root(const struct trace *t, uint64_t number);
/* Returns a root as a keeper; kept_name: what a row without parent stands for, with where it is
 * declared; of a set one of kind "shared", with the names of its keepers as its name, of the rest one
 * of kind "". `site` is the stack node. Texts are in the arena, or borrowed. */
struct keeper kept_keeper(const struct trace *t, struct ms_arena *a,
			  const struct ms_retention_root *root);
struct keeper kept_name(const struct trace *t, struct ms_arena *a,
			const struct ms_retention_row *row);

/* ---- trace_names.c ---- */

/* Describes a logical frame of a call stack. Strings are borrowed; "" when there is none. */
struct trace_frame {
	const char *function; /* short name, or full on request; NULL = unknown */
	const char *full;
	const char *file; /* NULL = unknown */
	const char *path; /* displayed form of `file`, without the program's initial folder */
	uint32_t line;
	const char *module; /* file name; NULL = unknown */
	uint64_t address;   /* address in the module's file */
	const char *note;   /* why frames are missing here; NULL = none are */
	bool inlined, runtime, wrapper, pending;
};
/* Walks over the logical frames of a call stack, innermost first. Begin with `t` and `node` set,
 * the rest 0. */
struct trace_stack {
	const struct trace *t;
	uint32_t node; /* node of the next frame */
	uint16_t part;
	bool in_user_code; /* used by trace_next_row: a row of user code was returned */
	size_t number;     /* used by trace_next_row: index of the next frame */
};
/* Stores the next frame in `f`. False = the walk is over. */
bool trace_next_frame(struct trace_stack *s, struct trace_frame *f);
/* Describes a row of a stack: a logical frame or, unless names are full, a run of runtime frames,
 * which is shown as its frame next to user code. */
struct trace_stack_row {
	struct trace_frame frame;
	size_t number; /* index of that frame, 0 = the innermost */
	size_t more;   /* number of further frames in the row */
};
/* Stores the next row in `r`. False = the walk is over. */
bool trace_next_row(struct trace_stack *s, struct trace_stack_row *r);
/* Names a site as ms-report does: after the first frame of user code. */
struct trace_site_name {
	struct trace_frame user;
	struct trace_frame called; /* next inner frame */
	struct trace_frame caller; /* caller of `user`, if that is user code, too */
	bool has_called, has_caller;
};
struct trace_site_name trace_site_name(const struct trace *t, uint32_t node);
/* Returns a logical (inlined) frame of a recorded frame; `part` 0 = the innermost. trace_parts
 * returns the number of logical frames. */
struct trace_frame trace_part(const struct trace *t, uint32_t frame, uint16_t part);
size_t trace_parts(const struct trace *t, uint32_t frame);
/* Returns a name: "Cache::insert", "libz.so.1+0x1234", "[frames cut]". */
const char *trace_frame_name(const struct trace_frame *f, char *text, size_t room);
/* Returns a place: "cache.cpp:77", "[libz.so.1]", "". */
const char *trace_frame_place(const struct trace_frame *f, char *text, size_t room);
/* Tells whether a frame of the stack matches by function, displayed file (only the base name of an
 * absolute path) or module. */
bool trace_node_matches(const struct trace *t, uint32_t node, const struct pattern *p);
const char *trace_thread_name(const struct trace *t, uint32_t thread, char *text, size_t room);

/* ---- trace_site.c ---- */

/* Fills t->detail with the site's details, as of the latest update. */
void site_look(struct trace *t, uint32_t node);

/* ---- past.c ---- */

/* Holds the model at a moment, and the allocations of each site one window earlier. */
struct past_state {
	struct ms_recording *rec; /* NULL = the moment could not be read */
	uint64_t ns;
	bool partial; /* read from a checkpoint on: only live figures are known */
	uint64_t window_ns;
	uint64_t *site_before,
		*thread_before; /* allocations by site or thread number; may be shorter than now */
	size_t site_count, thread_count;
	struct trace_total before; /* totals one window earlier */
	char why[256];
};

struct past *past_new(void);
void past_free(struct past *p);
/* Requests the moment `ns` of the trace at `path`, and abandons earlier requests. `part`: starting
 * at a checkpoint is worthwhile. */
void past_ask(struct past *p, const char *path, uint64_t ns, bool part);
/* Returns the result of the latest request, once; NULL = no new one. Valid until the next result,
 * or past_drop. */
const struct past_state *past_get(struct past *p);
/* Drops the latest request and its result. */
void past_drop(struct past *p);

/* ---- record.c ---- */

/* Finds a MemScope program in the folder of the running one. If it is not there, stores its name,
 * which is then looked up in PATH. */
void program_find(const char *name, char *path, size_t room);

/* Starts ms-record -p PID; its trace is NAME.PID.trace in the working folder. Returns NULL with
 * `err` set on failure. */
struct recorder *recorder_start(pid_t pid, const char *name, struct ms_err *err);
/* Starts ms-record --tell TRACE VERB; recorder_ended returns the line of its answer about process
 * `pid`. Returns NULL with `err` set on failure. */
struct recorder *recorder_tell(const char *trace, pid_t pid, const char *verb, struct ms_err *err);
/* Returns the path of the recorder's trace once the trace exists; else NULL. */
const char *recorder_started(const struct recorder *r);
/* Tells whether the recorder is running. `r` may be NULL. */
bool recorder_works(const struct recorder *r);
/* Returns true once, when the recorder has exited by itself; `text` receives its last message. */
bool recorder_ended(struct recorder *r, char *text, size_t room);
/* Makes the recorder detach from the process (within a few seconds), and frees `r`, which may be
 * NULL. */
void recorder_stop(struct recorder *r);

/* ---- save.c ---- */

struct save *save_new(const struct ms_wrappers *wrappers);
/* Waits for the snapshot being written, and frees `s`. */
void save_free(struct save *s);
/* Starts writing. Returns false if one is being written already, or no thread could be started. */
bool save_begin(struct save *s, const char *trace, const char *point);
/* Returns true once after each snapshot; `text` gets the result. */
bool save_ended(struct save *s, char *text, size_t room);
/* Tells whether a snapshot is being written. */
bool save_works(const struct save *s);
/* Writes a snapshot of the events read so far to `fd`. It consumes the model, so call it in a
 * forked child, created while save_works is false. Returns 0, or -1 with `err` set. */
int save_model(struct trace *t, const struct ms_wrappers *wrappers, int fd, struct ms_err *err);

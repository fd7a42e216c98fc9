/* SPDX-License-Identifier: MIT
 * Room model: what is asked of a snapshot's database, without a word about it.
 *   In:  an open snapshot database, and the moment that is wanted (model_load).
 *   Out: its rows as arrays with sums (this header); facts about all of it (facts.h).
 *   Used by: ms-report, ms-diff, ms-filter.
 *
 * A snapshot database as arrays, which do not change after they are read.
 */
#pragma once

#include "libcommon/base/arena.h"
#include "libcommon/snapshot/snapshot.h"
#include "libcommon/stats/estimate.h"
#include "snapshot_columns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_err;

/* A figure that is not known (null in the database). Never used in sums; shown as n/a or null. */
#define UNKNOWN UINT64_MAX
/* Stands for no element in members that are indices. */
#define NONE UINT32_MAX

/* Returns the figure at an offset in a struct. */
static inline uint64_t figure_at(const void *what, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)what + offset);
}
/* Returns a + b without overflow; UNKNOWN if either is. */
uint64_t figure_add(uint64_t a, uint64_t b);
/* Returns a - b, 0 if b is larger; UNKNOWN if either is. */
uint64_t figure_sub(uint64_t a, uint64_t b);
/* Returns 0 for a figure that is not known; figure_some() tells whether it is known and not 0. */
static inline uint64_t figure_or_0(uint64_t v)
{
	return v == UNKNOWN ? 0 : v;
}
static inline bool figure_some(uint64_t v)
{
	return figure_or_0(v) != 0;
}
/* Returns a column of the current row; UNKNOWN if it is not a non-negative number. */
uint64_t figure_in(sqlite3_stmt *st, int column);

/* ---- estimates of a sampled recording: estimate.c ---- */

/* Lists the figures that can be estimates. In pairs, bytes come first, then blocks or calls. */
enum est_figure {
	EST_ALLOCATED, /* bytes allocated over the whole run */
	EST_ALLOCATIONS,
	EST_END, /* live at the end */
	EST_END_BLOCKS,
	EST_PEAK, /* live at the peak */
	EST_PEAK_BLOCKS,
	EST_AT, /* live at the moment of --at */
	EST_AT_BLOCKS,
	EST_FREES,
	EST_COUNT
};

/* Holds the spreads of the estimated figures of a site, a thread, a process or all. Exact figures
 * have none. */
struct estimates {
	struct ms_spread of[EST_COUNT];
};

struct model;
/* Reads table estimate. Call after the other tables are read, before sums are computed. Returns 0,
 * or -1 with `err` set. */
int estimates_read(struct model *m, struct ms_err *err);

/* Returns the spread of a figure, or NULL. */
const struct ms_spread *est_of(const struct estimates *e, enum est_figure figure);
/* Returns the figure with that name in table estimate; EST_COUNT = none. */
enum est_figure est_figure_of(const char *name);

/* ---- rows ---- */

/* Declares a member for a column of columns.def: figures may be UNKNOWN, texts NULL. */
#define MODEL_MEMBER(name, type, adds) MODEL_TYPE_##type name;
#define MODEL_TYPE_COUNT uint64_t
#define MODEL_TYPE_BYTES uint64_t
#define MODEL_TYPE_TIME uint64_t
#define MODEL_TYPE_FLAG uint64_t
#define MODEL_TYPE_NUMBER uint64_t
#define MODEL_TYPE_TEXT const char *

struct module {
	int64_t id;
	uint32_t process;
	MS_MODULE_ROW(MODEL_MEMBER)
	uint64_t start, end; /* range of addresses in the process */
	uint64_t bias; /* address in the process - bias = address in the file; 0 = not known */
	/* Numbers of frames of this module in any stack: all, without a function name, with a
	 * function name but no line. */
	uint64_t frames, nameless, lineless;
	const char *sources; /* path of one source; begins with the folder of all; NULL = unknown */
	size_t sources_length; /* length of the folder in `sources` */
};

struct frame {
	int64_t id;
	uint64_t address; /* UNKNOWN = no address */
	const char *function, *file,
		*note;            /* note: why frames are missing here; NULL = not known */
	uint32_t process, module; /* indices or NONE */
	uint32_t line;            /* source line, 0 = not known */
	bool inlined, runtime;
};

/* Describes a row of a stack: its frame and its caller's row. Callers precede their callees in the
 * array, so walking outwards terminates. */
struct node {
	uint32_t parent; /* index of the caller, or NONE */
	uint32_t frame;  /* index in frames */
};

struct live {
	uint64_t bytes, blocks;
};

/* Holds the usable size of all live blocks, and the mapped address space, at a moment. */
struct mmap_usage {
	uint64_t usable, mapped;
};

struct site {
	int64_t id;
	uint32_t process;               /* index in processes */
	uint32_t stack;                 /* innermost node of the stack, or NONE */
	uint32_t user;                  /* node of the first frame of user code, or NONE */
	uint32_t thread;                /* id of the only thread that allocated here, if table
					   site_thread is empty; 0 = not known */
	const char *verdict, *one_time; /* verdict: result of the scan; one_time: kind of one-time
					   allocation; NULL = none */
	MS_FIGURES_OF_SITE(MODEL_MEMBER)
	struct live end, peak, at; /* at: at the moment of --at, else at the end */
	struct live lost;          /* unreachable blocks by the scan at the end */
	struct live direct, with;  /* direct: unreachable blocks that no other block retains; with:
				      blocks that these retain */
	struct live leak;          /* lost + with, minus blocks that other sites of the model
				      retain: adds up to all lost blocks */
	struct live late;          /* live at the end, allocated after the scan at the end */
	struct mmap_usage at_mmap; /* at the moment of --at */
	struct estimates *est;     /* estimates, NULL unless sampled */
	uint64_t rise_bytes;       /* rise of a site that is judged to grow; else 0 */
	struct ms_spread *rise_spread; /* spread of the rise in a sampled recording */
	uint32_t folded;               /* number of other sites merged into this one, see
					  recursion.h */
	const uint32_t *members;       /* indices of the merged sites and of this one */
};

/* Holds the mapped memory of a site at a snapshot. It is stored for all snapshots, because rows are
 * read before the moment of --at is known. */
struct site_mmap {
	uint32_t snapshot, site; /* indices in snapshots and sites */
	struct mmap_usage mmap;
};
/* Holds the blocks of a site with one result of a scan. It is stored for all scans, because rows
 * are read before the scan at the end is known. */
struct site_verdict {
	uint32_t scan, site; /* number of the scan, index of the site */
	enum verdict_kind { VERDICT_DIRECT, VERDICT_INDIRECT, VERDICT_LATE } kind;
	struct live live;
};
/* Holds the blocks of a site that unreachable blocks of the site `root` retain. */
struct lost_with {
	uint32_t scan, site, root; /* number of the scan; index of the site; index of the
				      retaining site, NONE = hidden */
	struct live live;
};

/* Holds the figures of a whole run, of one process or of all. */
struct totals {
	MS_TOTALS(MODEL_MEMBER)
	uint64_t late_bytes, late_blocks; /* live at the end, allocated after the scan at the end */
	uint64_t peak_rss_bytes, peak_rss_time_ns, end_rss_bytes; /* from /proc samples */
	/* unreachable bytes and blocks of the sites that are not hidden */
	uint64_t shown_unreachable_bytes, shown_unreachable_blocks;
	/* Growth in bytes per minute of the fastest-growing heap that could be judged (0 = none
	 * grows), and number of growing sites of all processes. */
	uint64_t growth_bytes_per_minute, growing_sites;
};

/* Describes how reliable the figures are. Numbers may be UNKNOWN. */
struct quality {
	bool complete, growing;
	MS_QUALITY(MODEL_MEMBER)
};

/* Holds what the user excluded from the recording, over all processes: sums of allocations and
 * events, maximum times. */
struct gaps {
	uint64_t paused_ns, paused_allocations, started_late_ns, dropped_events, dropped_until_ns;
	bool last; /* events were dropped by --keep=last */
};

/* Holds the blocks that forked processes inherited, which were live in the parents at the fork, and
 * the frees of such blocks. */
struct inherited {
	uint64_t processes, blocks, bytes, frees, freed_bytes;
};

/* Holds the blocks that attached processes had allocated before ms-record attached. */
struct before {
	uint64_t processes, blocks, bytes, largest, frees, freed_bytes;
	const char *state, *why; /* "whole", "part", "unknown"; NULL = no process was attached to */
};

/* Describes a scan at the end, with the settings made by the program's author. */
struct end_scan {
	int64_t id;        /* id of the scan that was done; -1 = none */
	const char *state; /* "done", or the reason why not; NULL = not requested */
	uint64_t align;    /* alignment in bytes of the words searched for pointers */
	const char *mask;  /* bits that are not part of an address; NULL = none */
	/* numbers of blocks marked by ms_ignore, of ranges marked by ms_root, and of ranges refused
	 * because there were too many; 0 = none */
	uint64_t ignored, roots, refused;
};

struct process {
	int64_t id;
	MS_PROCESS_ROW(MODEL_MEMBER)
	struct totals totals;
	struct quality quality;
	struct end_scan end_scan;
	int64_t became_row; /* id of the program image that replaced this one by exec, 0 = none */
	uint32_t became;    /* index of the program image that replaced this one, or NONE */
	struct estimates *est;
};

struct snapshot {
	int64_t id;
	uint32_t process;
	const char *label;
	uint64_t time_ns, rss_bytes;
	struct live live;
	struct mmap_usage mmap;
	struct estimates *est; /* only EST_AT is set */
};

struct thread {
	int64_t id;
	uint32_t process;
	MS_THREAD_ROW(MODEL_MEMBER)
	struct live peak, live;
	struct estimates *est; /* EST_AT equals EST_END */
};

/* Holds a point of the timeline. Times of points, samples and marks are on the clock shared by all
 * processes. */
struct point {
	MS_FIGURES_OF_TIMELINE(MODEL_MEMBER)
	uint32_t process;
};
struct sample {
	uint64_t time_ns, rss_bytes;
	uint32_t process;
};
struct mark {
	uint64_t time_ns;
	const char *name;
	uint32_t process;
};

/* Holds the blocks that all filter stages hid. */
struct hidden {
	MS_HIDDEN_ROW(MODEL_MEMBER)
	struct live end, peak, at, lost, late;
	struct mmap_usage at_mmap;
	const char *filters; /* texts of the filters, joined by "; "; NULL = no filter was used */
	struct estimates *est;
};

/* Lists the reasons why a requested scan at the end failed. */
enum unscanned {
	UNSCANNED_NOT,
	UNSCANNED_KILLED,
	UNSCANNED_TIME,
	UNSCANNED_UNREADABLE,
	UNSCANNED_THREADS,
	UNSCANNED_LOST,
	UNSCANNED_SAMPLED,
	UNSCANNED_MEMORY,
	UNSCANNED_STOPPED,
	UNSCANNED_FILES,
	UNSCANNED_COUNT
};

struct model {
	struct ms_arena arena;
	bool handed_over;    /* model_taker received the large tables, which are not read from the
				database */
	bool no_empty_texts; /* empty texts are read as NULL */
	bool no_texts;       /* all texts are read as NULL */
	sqlite3 *db;
	MS_ARRAY(struct module) modules;
	MS_ARRAY(struct frame) frames;
	MS_ARRAY(struct node) nodes;
	MS_ARRAY(int64_t) node_ids; /* ids of nodes; empty: 1, 2 and so on */
	MS_ARRAY(struct site) sites;
	MS_ARRAY(struct ms_gone_site)
	gone; /* sites that are not in `sites`, by id; only of a trace
					       whose rows model_taker received */
	MS_ARRAY(struct process) processes;
	MS_ARRAY(struct snapshot) snapshots;
	MS_ARRAY(struct thread) threads;
	MS_ARRAY(struct point) points;
	MS_ARRAY(struct sample) samples;
	MS_ARRAY(struct mark) marks;
	MS_ARRAY(struct site_mmap) mmaps;
	MS_ARRAY(struct site_verdict) verdicts;
	MS_ARRAY(struct lost_with) lost_with; /* sorted by root */
	/* Set by ms-report. folded: sites, without recursion in their stacks; diff: the comparison
	 * in the snapshot. */
	const struct site *const *folded;
	size_t folded_count;
	struct diff *diff; /* NULL = not compared */
	struct totals totals;
	struct quality quality;
	struct gaps gaps;
	struct inherited inherited;
	struct before before;
	struct hidden hidden;
	struct estimates *est; /* estimates of totals, end, peak and at */
	struct live end, peak,
		at;       /* live in all processes at the end, the peak and --at; UNKNOWN = no such
			     snapshot */
	struct live late; /* live in all processes at the end, allocated after the scans at the
			     end */
	struct mmap_usage at_mmap; /* all processes at the moment of --at */
	uint64_t at_time_ns, duration_ns;
	uint32_t images;     /* number of processes that exec replaced by another program image */
	uint32_t peak_image; /* index of the program image that held the whole peak; NONE = several
				did */
	uint32_t end_image;  /* index of the only program image that existed at the end; NONE =
				several */
	uint64_t sum_peak_bytes, sum_peak_time_ns; /* peak of the sum over all processes, and its
						      time on the shared clock */
	bool part; /* some process has events that --at, --from or --to excluded */
	uint64_t from_ns,
		to_ns;     /* range of events counted, on the shared clock; UNKNOWN = no limit */
	bool mapped_first; /* mappings were recorded, and most memory is not heap */
	uint64_t traces_unreadable; /* number of unreadable traces in a folder */
	/* Number of chains of interpreter frames that were not read, and the name of an unsupported
	 * interpreter, or NULL. */
	uint64_t chains_unread;
	const char *interpreter_unknown;
	const char *unreadable;    /* names of unreadable traces, with reasons; or NULL */
	const char *at_label;      /* "end" unless --at was given */
	const char *cwd;           /* working folder of the first process, or NULL */
	uint32_t modules_used;     /* number of modules with frames in any stack */
	uint32_t modules_nameless; /* number of modules in any stack with unnamed frames */
	uint64_t frames_nameless;  /* number of unnamed frames */
	uint32_t modules_unsound;  /* number of modules in any stack with damaged or incomplete
				      debug information */
	int proc_only; /* enum proc_only: if only /proc was observed, the heap is not known */
	enum unscanned unscanned;
	/* Set by kept_read (kept.h): what keeps blocks alive, and the number of the scan that was
	 * chosen; 0 = none. */
	const struct kept *kept;
	int64_t kept_scan;
};

/* Prepares a query, in sqlite3_mprintf format, for data that is not in the model. Returns NULL on
 * failure. */
sqlite3_stmt *model_ask(const struct model *m, const char *format, ...);
/* Returns the first column of the query's first row; UNKNOWN = no row, or not a non-negative
 * number. */
uint64_t model_number(const struct model *m, const char *format, ...);
/* Steps to the next row. False: there was none; *st is finalized and NULL. */
bool model_next(sqlite3_stmt **st);

/* Adds live bytes and blocks; unknown figures make the sum unknown. */
void live_add(struct live *to, struct live l);

/* Returns the index of the element with that id in an array sorted by id, the first member of each
 * element; NONE = none. */
uint32_t model_index(const void *v, size_t n, size_t size, int64_t id);
/* Returns the index of the element with that id in an array of the model, or NONE. */
#define MODEL_FIND(a, want) model_index((a).v, (a).n, sizeof *(a).v, want)
/* Return the number of all sites, and one of them by its number: those that are gone follow the
 * others. One that is gone is made in `room`; figures that it does not have are UNKNOWN. */
static inline size_t model_site_count(const struct model *m)
{
	return m->sites.n + m->gone.n;
}
const struct site *model_site_at(const struct model *m, size_t i, struct site *room);
/* Returns the frame that site number `i` is named after, an index or NONE. */
uint32_t model_frame_of_site(const struct model *m, size_t i);
/* Returns the index of the node with that id, or NONE; model_node_id returns the id of a node. */
uint32_t model_node(const struct model *m, int64_t id);
static inline int64_t model_node_id(const struct model *m, size_t node)
{
	return m->node_ids.n ? m->node_ids.v[node] : (int64_t)node + 1;
}
/* Returns the site with that id, or NULL; model_thread() returns a thread. */
const struct site *model_site(const struct model *m, int64_t id);
const struct thread *model_thread(const struct model *m, int64_t id);
/* Returns the number of threads, each counted once whatever its labels. */
size_t model_thread_count(const struct model *m);

/* Returns the node that a stack is named after: the first of user code, else the innermost. */
uint32_t model_user_node(const struct model *m, uint32_t stack);
/* Stores the frames of a stack, innermost first, in `frames`. Returns their number. */
size_t model_stack(const struct model *m, uint32_t stack, uint32_t *frames);
/* Returns the position of the frame of user code in a site's stack, 0 = innermost; UNKNOWN = none.
 */
uint64_t model_user_depth(const struct model *m, const struct site *s);
/* Returns the frame of a node, or NULL. */
static inline const struct frame *model_frame(const struct model *m, uint32_t node)
{
	return node == NONE ? NULL : &m->frames.v[m->nodes.v[node].frame];
}

/* Reads a text column of table site into the model's arena, in the order of m->sites; NULL =
 * null. */
const char **model_site_texts(struct model *m, const char *column);

/* ---- rows.c ---- */

/* Selects tables to read. References to rows of a table that was not read become NONE. */
enum model_part {
	MODEL_PROCESSES = 1 << 0,
	MODEL_SNAPSHOTS = 1 << 1,
	MODEL_MODULES = 1 << 2,
	MODEL_FRAMES = 1 << 3,
	MODEL_NODES = 1 << 4,
	MODEL_SITES = 1 << 5, /* tables site and site_stat, with figures at m->at_label, the end and
				 the peak */
	MODEL_SCANS = 1 << 6, /* results of scans by site */
	MODEL_THREADS = 1 << 7,
	MODEL_TIMES = 1 << 8, /* points of the timeline, samples, marks */
	MODEL_HIDDEN = 1 << 9
};
/* Reads tables of m->db, except those whose rows model_taker received. Returns 0, or -1 with `err`
 * set. */
int model_read(struct model *m, unsigned parts, struct ms_err *err);
/* Returns the taker that stores the rows of a trace directly in `m`, which must be zero; model_load
 * then does not read such rows from the database. */
struct ms_row_taker model_taker(struct model *m);

/* ---- load.c ---- */

/* Reads `db` (borrowed, used later for queries about one site) into `m`, which must be zero except
 * for rows that model_taker received. `at`: label of the snapshot for live figures, NULL = "end".
 * Returns 0, or -1 with `err` set: a broken table, or no snapshot of that label. In both cases the
 * model must be freed. */
int model_load(struct model *m, sqlite3 *db, const char *at, struct ms_err *err);
void model_free(struct model *m);

/* SPDX-License-Identifier: MIT
 * Room model: what is asked of a snapshot's database, without a word about it.
 *   In:  an open snapshot database, and the moment that is wanted (model_load).
 *   Out: its rows as arrays with sums (this header); facts about all of it (facts.h).
 *   Used by: ms-report, ms-diff, ms-filter.
 *
 * A snapshot database as arrays: read once, then only looked at.
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

/* A figure that is not known (null in the database). It is never added to, shown as n/a or null. */
#define UNKNOWN UINT64_MAX
/* "No such element" of the index fields below. */
#define NONE UINT32_MAX

/* The figure at an offset of a struct. */
static inline uint64_t figure_at(const void *what, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)what + offset);
}
/* a + b; unknown if either is, and never wraps. */
uint64_t figure_add(uint64_t a, uint64_t b);
/* a - b, 0 when b is larger; unknown if either is. */
uint64_t figure_sub(uint64_t a, uint64_t b);
/* A figure that is not known counts as 0; is it one that is known, and not 0? */
static inline uint64_t figure_or_0(uint64_t v)
{
	return v == UNKNOWN ? 0 : v;
}
static inline bool figure_some(uint64_t v)
{
	return figure_or_0(v) != 0;
}
/* A column of the current row; what is not a number that counts something is not known. */
uint64_t figure_in(sqlite3_stmt *st, int column);

/* ---- estimates of a sampled recording: estimate.c ---- */

/* Which figures are estimates. Those in pairs are bytes, then blocks or calls. */
enum est_figure {
	EST_ALLOCATED, /* of the whole run */
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
/* Reads table estimate. 0, or -1 with `err` set. After the other tables, before sums are made. */
int estimates_read(struct model *m, struct ms_err *err);

/* The spread of a figure, or NULL. */
const struct ms_spread *est_of(const struct estimates *e, enum est_figure figure);
/* The figure of that name, as columns and rows of table estimate call it; EST_COUNT = none of ours.
 */
enum est_figure est_figure_of(const char *name);

/* ---- rows ---- */

/* Members by the names of the columns that columns.def lists: a figure may be UNKNOWN, a text NULL. */
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
	uint64_t start, end; /* addresses in the process */
	uint64_t bias; /* address in the process - bias = address in the file; 0 = not known */
	/* Frames there that stand in some stack, those without a function, and those that have one
	 * but no line. */
	uint64_t frames, nameless, lineless;
	const char *sources; /* begins with the folder that its sources lie in; NULL = not known */
	size_t sources_length; /* of that */
};

struct frame {
	int64_t id;
	uint64_t address; /* UNKNOWN = none */
	const char *function, *file,
		*note;            /* NULL = not known; note: why frames are missing here */
	uint32_t process, module; /* indices or NONE */
	uint32_t line;            /* 0 = not known */
	bool inlined, runtime;
};

/* One row of a stack: its frame and its caller's row. Callers come first in the array, so walking
 * outwards ends. */
struct node {
	int64_t id;
	uint32_t parent; /* index or NONE */
	uint32_t frame;  /* index */
};

struct live {
	uint64_t bytes, blocks;
};

/* At a moment: the usable sizes of what is live, and mapped address space. */
struct mmap_usage {
	uint64_t usable, mapped;
};

struct site {
	int64_t id;
	uint32_t process; /* index */
	uint32_t stack;   /* innermost node, or NONE */
	uint32_t user;    /* node of the first frame of the user's own code, or NONE */
	const char *verdict, *one_time; /* NULL = none */
	MS_FIGURES_OF_SITE(MODEL_MEMBER)
	struct live end, peak, at; /* at: the moment of --at, else as end */
	struct live lost;          /* those that nothing points to, as of the scan at the end, */
	struct live direct, with;  /* and of these the direct ones; what is lost with those; */
	struct live leak;          /* lost, with what is lost with them, without what is lost with
					another site that is here: these add up to what is lost */
	struct live late;          /* at the end, those that came after that scan */
	struct mmap_usage at_mmap; /* at the moment of --at */
	struct estimates *est;     /* of a sampled recording; else NULL, here and below */
	uint64_t rise_bytes;       /* of one that is judged to grow; else 0 */
	struct ms_spread *rise_spread; /* of that, in a sampled recording */
	uint32_t folded;         /* sites that it stands for besides itself, see recursion.h; */
	const uint32_t *members; /* then all of them, indices */
};

/* Holds the mapped memory of a site at any snapshot, because rows are read before it is known
 * which one is that of --at. */
struct site_mmap {
	uint32_t snapshot, site; /* indices */
	struct mmap_usage mmap;
};
/* Holds blocks of a site by what any scan found of them, because rows are read before it is known
 * which scan is that of the end. */
struct site_verdict {
	uint32_t scan, site; /* number, index */
	enum verdict_kind { VERDICT_DIRECT, VERDICT_INDIRECT, VERDICT_LATE } kind;
	struct live live;
};
/* Indirect blocks of a site, and the site of the blocks that retain them. */
struct lost_with {
	uint32_t scan, site, root; /* number; index; index, or NONE: hidden */
	struct live live;
};

/* The whole-run figures of design section 2, of a process or of all. */
struct totals {
	MS_TOTALS(MODEL_MEMBER)
	uint64_t late_bytes, late_blocks; /* at the end, what came after the scan there */
	uint64_t peak_rss_bytes, peak_rss_time_ns, end_rss_bytes; /* from /proc samples */
	/* Unreachable bytes and blocks of the sites that filters left. */
	uint64_t shown_unreachable_bytes, shown_unreachable_blocks;
	/* Bytes per minute of the fastest-growing heap among those that could be judged, 0 = none
	 * grows; number of growing sites of all processes. */
	uint64_t growth_bytes_per_minute, growing_sites;
};

/* Tells how far the figures can be relied on. Numbers may be UNKNOWN. */
struct quality {
	bool complete, growing;
	MS_QUALITY(MODEL_MEMBER)
};

/* Holds what was left out on request, over all processes: sums of allocations and events, the
 * longest of times. */
struct gaps {
	uint64_t paused_ns, paused_allocations, started_late_ns, dropped_events, dropped_until_ns;
	bool last; /* dropped by --keep=last */
};

/* Holds what forked processes inherited: blocks live in their parents at the fork, and what they
 * freed of them. */
struct inherited {
	uint64_t processes, blocks, bytes, frees, freed_bytes;
};

/* Holds what attached processes had allocated before they were attached to. */
struct before {
	uint64_t processes, blocks, bytes, largest, frees, freed_bytes;
	const char *state, *why; /* "whole", "part", "unknown"; NULL = nobody was attached to */
};

/* A scan at the end, and how it differs from others by what the author of the program knows. */
struct end_scan {
	int64_t id;        /* of the one that was done; -1 = none was */
	const char *state; /* "done", or why not; NULL = nobody wanted one */
	uint64_t align;    /* words were looked for at its multiples */
	const char *mask;  /* bits that are no part of an address; NULL = none */
	/* Numbers of blocks by ms_ignore, and of ranges by ms_root, 0 where it was not called;
	 * number of ranges refused because they were too many. */
	uint64_t ignored, roots, refused;
};

struct process {
	int64_t id;
	MS_PROCESS_ROW(MODEL_MEMBER)
	struct totals totals;
	struct quality quality;
	struct end_scan end_scan;
	int64_t became_row; /* the image that followed it by exec, 0 = none, */
	uint32_t became;    /* and its index or NONE */
	struct estimates *est;
};

struct snapshot {
	int64_t id;
	uint32_t process;
	const char *label;
	uint64_t time_ns, rss_bytes;
	struct live live;
	struct mmap_usage mmap;
	struct estimates *est; /* EST_AT alone */
};

struct thread {
	int64_t id;
	uint32_t process;
	MS_THREAD_ROW(MODEL_MEMBER)
	struct live peak, live;
	struct estimates *est; /* EST_AT as EST_END */
};

/* Times of points, samples and marks are on the clock that all processes share. */
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

/* Holds what filters took away, all stages together. */
struct hidden {
	MS_HIDDEN_ROW(MODEL_MEMBER)
	struct live end, peak, at, lost, late;
	struct mmap_usage at_mmap;
	const char *filters; /* their texts, joined by "; "; NULL = no filter was used */
	struct estimates *est;
};

/* Why the scan at the end told nothing, if there was to be one. */
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
	bool handed_over;    /* the large tables were, by model_taker */
	bool no_empty_texts; /* such a text is read as null */
	sqlite3 *db;
	MS_ARRAY(struct module) modules;
	MS_ARRAY(struct frame) frames;
	MS_ARRAY(struct node) nodes;
	MS_ARRAY(struct site) sites;
	MS_ARRAY(struct process) processes;
	MS_ARRAY(struct snapshot) snapshots;
	MS_ARRAY(struct thread) threads;
	MS_ARRAY(struct point) points;
	MS_ARRAY(struct sample) samples;
	MS_ARRAY(struct mark) marks;
	MS_ARRAY(struct site_mmap) mmaps;
	MS_ARRAY(struct site_verdict) verdicts;
	MS_ARRAY(struct lost_with) lost_with; /* by root */
	/* Added by ms-report: its sites without recursion, and the comparison in the snapshot. */
	const struct site *const *folded;
	size_t folded_count;
	struct diff *diff; /* NULL = it was not compared */
	struct totals totals;
	struct quality quality;
	struct gaps gaps;
	struct inherited inherited;
	struct before before;
	struct hidden hidden;
	struct estimates *est; /* of totals, end, peak and at */
	struct live end, peak,
		at;       /* of all processes at these snapshots; UNKNOWN when there is none */
	struct live late; /* of all processes at the end: what came after the scans there */
	struct mmap_usage at_mmap; /* of all processes at the moment of --at */
	uint64_t at_time_ns, duration_ns;
	uint32_t images;     /* of them, those that became another one by exec */
	uint32_t peak_image; /* that held all of the peak of several; NONE = not one alone */
	uint32_t end_image;  /* that all of the end is of; NONE = not one alone */
	uint64_t sum_peak_bytes, sum_peak_time_ns; /* of all processes on one clock */
	bool part; /* of some process not every event was counted: --at, --from or --to */
	uint64_t from_ns,
		to_ns;     /* what was counted then, on the clock of all; UNKNOWN = no limit */
	bool mapped_first; /* most memory is no heap, and what is mapped was recorded */
	uint64_t traces_unreadable; /* of a folder */
	/* Number of chains of interpreter frames that were not read; name of an interpreter that
	 * is not known, or NULL. */
	uint64_t chains_unread;
	const char *interpreter_unknown;
	const char *unreadable;    /* which and why, or NULL */
	const char *at_label;      /* "end" unless --at said otherwise */
	const char *cwd;           /* of the first process, or NULL */
	uint32_t modules_used;     /* by any frame */
	uint32_t modules_nameless; /* of those: with frames that have no name, */
	uint64_t frames_nameless;  /* and how many */
	uint32_t modules_unsound;  /* of those: whose debug information is damaged, or not whole */
	int proc_only; /* enum proc_only: only /proc was looked at, so the heap is not known */
	enum unscanned unscanned;
};

/* Asks what is not read with the rows: a format as sqlite3_mprintf has it. NULL = it cannot be
 * asked. */
sqlite3_stmt *model_ask(const struct model *m, const char *format, ...);
/* The first column of its first row; UNKNOWN = there is none, or it is no number that counts. */
uint64_t model_number(const struct model *m, const char *format, ...);
/* To the next row of the answer. False: there is none, and *st is finalized and NULL. */
bool model_next(sqlite3_stmt **st);

/* Adds what is live; what is not known makes the sum not known. */
void live_add(struct live *to, struct live l);

/* Index of the element with that id, its first member, in an array sorted by it; or NONE. */
uint32_t model_index(const void *v, size_t n, size_t size, int64_t id);
/* Returns the index of the element with that id in an array of the model, or NONE. */
#define MODEL_FIND(a, want) model_index((a).v, (a).n, sizeof *(a).v, want)
/* The site, or the thread, of that number, or NULL. */
const struct site *model_site(const struct model *m, int64_t id);
const struct thread *model_thread(const struct model *m, int64_t id);

/* The node that a stack is named after: the first of the user's own code, else the innermost. */
uint32_t model_user_node(const struct model *m, uint32_t stack);
/* The frames of a stack, innermost first, into `frames`; returns how many. */
size_t model_stack(const struct model *m, uint32_t stack, uint32_t *frames);
/* Returns the position of the user's frame in a site's stack, 0 = innermost; UNKNOWN = it has
 * none. */
uint64_t model_user_depth(const struct model *m, const struct site *s);
/* The frame of a node, or NULL. */
static inline const struct frame *model_frame(const struct model *m, uint32_t node)
{
	return node == NONE ? NULL : &m->frames.v[m->nodes.v[node].frame];
}

/* A column of text of table site, in the order of m->sites; NULL = null. In the model's arena. */
const char **model_site_texts(struct model *m, const char *column);

/* ---- rows.c ---- */

/* Tables that can be read; what they refer to has to be read, too, or is NONE. */
enum model_part {
	MODEL_PROCESSES = 1 << 0,
	MODEL_SNAPSHOTS = 1 << 1,
	MODEL_MODULES = 1 << 2,
	MODEL_FRAMES = 1 << 3,
	MODEL_NODES = 1 << 4,
	MODEL_SITES = 1 << 5, /* with what they have at the moments m->at_label, end and peak */
	MODEL_SCANS = 1 << 6, /* what scans found of sites */
	MODEL_THREADS = 1 << 7,
	MODEL_TIMES = 1 << 8, /* points, samples, marks */
	MODEL_HIDDEN = 1 << 9
};
/* Reads tables of m->db, but those that were handed over. 0, or -1 with `err` set. */
int model_read(struct model *m, unsigned parts, struct ms_err *err);
/* Returns the taker that puts the rows of a trace into `m`, which is zero, so that model_load need
 * not read them from the database. */
struct ms_row_taker model_taker(struct model *m);

/* ---- load.c ---- */

/* Reads `db` (borrowed, kept for questions about one site) into `m`, which is zero but for what was
 * handed over. `at` is the label of the snapshot whose live blocks are wanted, NULL = "end". 0, or
 * -1 with `err` set: a broken table, or no snapshot of that label. On either the model must be
 * freed. */
int model_load(struct model *m, sqlite3 *db, const char *at, struct ms_err *err);
void model_free(struct model *m);

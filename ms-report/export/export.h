/* SPDX-License-Identifier: MIT
 * Room export: reports for programs.
 *   In:  a page, the model, views as tables.
 *   Out: JSON, CSV and folded stacks (formats.h); the formats of other programs (this header).
 *   Used by: cli.
 *
 * What the formats of other programs have in common: rows of figures with their call stacks, names
 * made harmless, and what a reader must be told of a recording.
 */
#pragma once

#include "ms-report/model/lists.h"
#include "ms-report/output/number_table.h"
#include "ms-report/output/out.h"
#include "ms-report/words/words.h"

struct ms_json;
struct out;
struct page;

/* The figures of a row. */
enum export_figure {
	EXPORT_ALLOCATIONS,
	EXPORT_ALLOCATED,
	EXPORT_LIVE_BLOCKS, /* at the end, or at the moment of --at */
	EXPORT_LIVE,
	EXPORT_PEAK_BLOCKS,
	EXPORT_PEAK,
	EXPORT_TEMPORARY,
	EXPORT_FIGURES
};
/* The figure that stands for a metric; EXPORT_FIGURES = none does. */
enum export_figure export_figure_of(enum metric metric);
/* "bytes allocated", "blocks live at the end": for people. */
const char *export_title(struct model *m, enum export_figure f);

/* One element of a stack: a frame, a process, or words that stand for either. Texts are cleaned:
 * valid UTF-8 in one line. */
struct place {
	const char *function;    /* never NULL: "libz.so.1+0x1a2b" where it is not known */
	const char *file, *path; /* of the source, of the module; NULL = not known */
	uint64_t address;        /* UNKNOWN = none: it is not a frame */
	uint32_t module;         /* index or NONE */
	uint32_t line;           /* 0 = not known */
	bool inlined, named;     /* into the next place outwards; `function` says what it is */
};

/* A site, or (site NULL) what belongs to no site, so that the rows add up to the totals. What is
 * not known is 0. */
struct export_row {
	const struct site *site;
	uint64_t v[EXPORT_FIGURES];
	uint32_t place; /* of such a row */
};

struct export
{
	struct model *m;
	struct place *places;
	size_t place_count;
	struct export_row *rows; /* those of the sites first, in their order */
	size_t n;
	uint64_t total[EXPORT_FIGURES];
	bool known[EXPORT_FIGURES];
	const char *command; /* of the first process, cleaned */
	const char *lacks;   /* of export_lacks */
	struct words notes;  /* whole sentences: who wrote it, and what the figures are worth */
	uint32_t *path;      /* as long as the longest stack */
	enum metric asked;   /* METRIC_COUNT = none was */
	enum metric metric;  /* that a format with one figure has */
	bool compress;       /* what the output is named after wants it */
	bool four_types;     /* of pprof: no more than Go has */
	bool full_names;     /* nothing is shortened where there is a place for the whole, too */
};

/* The places of a row's stack into x->path, innermost first, at least one. Returns how many. With
 * several processes the outermost one is the process. */
size_t export_stack(struct export *x, const struct export_row *r);
/* `first`, then the notes from number `from` on, for formats with one text: "a; b; c". */
const char *export_joined(struct export *x, const char *first, size_t from);
/* The rows, of the new run so far, become those of the comparison: what each place has more, in two's
 * complement what it has less. */
void export_differences(struct export *x);
/* Has the row any figure? */
bool export_any(const struct export_row *r);
/* "0x401000: main (main.c:31)", "0x7f00: deflate (in /usr/lib/libz.so.1)": as Valgrind's tools
 * write a frame. In the model's arena. */
const char *export_frame_text(struct export *x, const struct place *p);

/* Keeps the texts of places that were written: each different text once, numbered as they come.
 * Zeroed = none. */
struct export_texts {
	struct table_of_bytes texts;
	uint32_t *number; /* of a place's text + 1; 0 = not asked yet */
};
typedef void export_put(struct export *x, const struct place *p, struct out *o);
/* The number of what `put` writes of a place. */
uint32_t export_text(struct export *x, struct export_texts *t, uint32_t place, export_put *put);
/* An array of all of them, which are JSON. */
void export_text_array(const struct export_texts *t, struct ms_json *j, const char *key);
void export_texts_free(struct export_texts *t);

/* Live bytes of each row at a snapshot, into live[0..x->n): 0 for sites of other processes. What
 * the snapshot has beyond its sites is in the rows that belong to none. */
void export_live_at(struct export *x, const struct snapshot *s, uint64_t *live);
/* Its time on the clock of all processes; UNKNOWN = not known. */
uint64_t export_moment(const struct export *x, const struct snapshot *s);
/* Snapshots in the order of their moments, those of unknown time left out; in the model's arena.
 * Returns how many. */
size_t export_moments(struct export *x, const struct snapshot ***out);
/* Points of live bytes over time, each at the end of its span: of the process, or of the sum of
 * several. */
struct export_point {
	uint64_t time_ns, live_last;
};
size_t export_points(struct export *x, struct export_point **out);

/* Returns why this cannot be written, for a message; NULL = it can. */
const char *export_refuses(const struct page *p, const struct output *output);
/* Returns what `f` shows of the peak or the end that is not of it, as the snapshot does not hold
 * that moment; NULL = it has all that it needs. For a message, and in the file where the format has
 * a place for it. `asked` as below. */
const char *export_lacks(struct model *m, enum format f, enum metric asked);
/* Is it `f` that is written here? Then it was. `asked`: the metric that was asked for, METRIC_COUNT
 * = none was; `metric`: the one that a format with one figure has. */
bool export_write(struct page *p, enum format f, enum metric asked, enum metric metric,
		  struct out *o);

/* ---- formats ---- */

typedef void export_format(struct export *x, struct out *o);
export_format export_pprof, export_speedscope, export_gprof2dot, export_massif, export_dhat,
	export_heaptrack, export_callgrind, export_chrome;

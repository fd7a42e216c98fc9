/* SPDX-License-Identifier: MIT
 * Room export: reports for programs.
 *   In:  a page, the model, views as tables.
 *   Out: JSON and CSV (formats.h); the formats of other programs (this header).
 *   Used by: cli.
 *
 * What the formats of other programs have in common: rows of figures with their call stacks, names
 * made harmless, and what a reader must be told of a recording.
 */
#pragma once

#include "export_table.h"

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
	EXPORT_FIGURES,
	EXPORT_ALL
};
/* Figures in the order in which readers offer them. */
extern const enum export_figure export_order[EXPORT_FIGURES];
/* The figure that stands for a metric; EXPORT_FIGURES = none does. */
enum export_figure export_figure_of(enum metric metric);
/* Returns the enum diff_figure of a figure; -1 = there is none. */
int export_diff_figure(enum export_figure f);
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
	struct page *page;
	const struct export_kind *kind;
	enum metric asked;   /* METRIC_COUNT = none was */
	enum metric metric;  /* that a format with one figure has */
	const char *command; /* of the first process, cleaned */
	const char *lacks;   /* of export_lacks */
	struct words notes;  /* whole sentences: who wrote it, and what the figures are worth */
	bool known[EXPORT_FIGURES];
	void *state; /* of the format, for its export_put */

	/* EXPORT_SITES: */
	struct place *places;
	size_t place_count;
	struct export_row *rows; /* those of the sites first, in their order */
	size_t n;
	uint32_t *path; /* of the row that export_next returned, innermost first */
	size_t depth;   /* places in it, at least one */

	/* made as a format asks for them */
	struct table_of_bytes texts; /* of places: each different one once, as they come */
	uint32_t *text_of;           /* by place: number of its text + 1; 0 = not asked yet */
	struct key_tree stacks;      /* of numbers of texts */
};

/* Returns the next row behind `r` (NULL = the first) that has the figure, with its stack in x->path;
 * NULL = there is none. EXPORT_FIGURES: with any figure; EXPORT_ALL: without one, too. With several
 * processes the outermost place is the process. */
const struct export_row *export_next(struct export *x, const struct export_row *r,
				     enum export_figure f);
/* Fills x->path with the stack of a row. */
void export_take_stack(struct export *x, const struct export_row *r);
/* Returns where the frame that begins at x->path[at] ends: behind those that are inlined into it. */
size_t export_frame_end(const struct export *x, size_t at);
/* Joins `first` and the notes from number `from` on, for formats with one text: "a; b; c". */
const char *export_joined(struct export *x, const char *first, size_t from);
/* Makes the rows, of the new run so far, those of the comparison: what each place has more, in two's
 * complement what it has less. */
void export_differences(struct export *x);
/* Returns whether the row has any figure. */
bool export_any(const struct export_row *r);
/* Returns "0x401000: main (main.c:31)", "0x7f00: deflate (in /usr/lib/libz.so.1)": a frame as
 * Valgrind's tools write it. In the model's arena. */
const char *export_frame_text(struct export *x, const struct place *p);

/* Writes what a format has of a place; always the same function in one format. */
typedef void export_put(struct export *x, const struct place *p, struct out *o);
/* Returns the number of what `put` writes of a place, in x->texts. */
uint32_t export_text(struct export *x, uint32_t place, export_put *put);
/* Returns the node of x->path in x->stacks, whose keys are numbers of texts; node 0 is above its
 * outermost place, or, with `up`, above its innermost one. */
uint32_t export_stack(struct export *x, bool up, export_put *put);
/* Writes an array of the numbers of x->path, innermost first or last. */
void export_path(struct export *x, struct ms_json *j, const char *key, bool innermost_first,
		 export_put *put);
/* Writes an array of all texts, which are JSON. */
void export_text_array(const struct export *x, struct ms_json *j, const char *key);

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

/* ---- which format ---- */

enum export_trait {
	EXPORT_SITES = 1,   /* is made of rows of sites */
	EXPORT_MOMENTS = 2, /* has figures of the peak or the end */
	EXPORT_METRIC = 4,  /* has the figure of --metric, or shows it first */
	EXPORT_ONE = 8,     /* has only that one, which a list view chooses, too */
	EXPORT_RUN = 16,    /* cannot show a comparison, nor figures of /proc */
	EXPORT_BYTES = 32,  /* is nothing that a terminal shows */
	EXPORT_EVENTS = 64, /* has a line for each allocation; compressed if its file ends in .gz */
	EXPORT_TYPES = 128, /* can leave out the types of figures that Go's profiles lack */
};

typedef void export_format(struct export *x, struct out *o);

struct export_kind {
	const char *name;
	export_format *write;
	struct file_kind file;
	unsigned traits;
	const char *help;
	/* what is shown where a snapshot lacks the moment; NULL = as in most formats, "" = nothing
	 * is missing */
	const char *peakless, *endless;
};

#define EXPORT_DECLARE(name, function, ...) extern export_format export_##function;
EXPORT_FORMATS(EXPORT_DECLARE)

/* Returns the format whose name is the first `n` bytes of a text; NULL = there is none. */
const struct export_kind *export_find(const char *name, size_t n);
/* Returns the names of the formats that have all those traits, with `between` between two. */
const char *export_names(struct ms_arena *a, unsigned traits, const char *between);
/* Returns all names, a line each with what it is for. */
const char *export_list(struct ms_arena *a);
/* Returns why this cannot be written, for a message; NULL = it can. */
const char *export_refuses(const struct page *p, const struct output *output);
/* Returns what the format shows of the peak or the end that is not of it, as the snapshot does not
 * hold that moment; NULL = it has all that it needs. For a message, and in the file where the format
 * has a place for it. `asked` as below. */
const char *export_lacks(struct model *m, const struct export_kind *kind, enum metric asked);
/* Writes a format. `asked`: the metric that was asked for, METRIC_COUNT = none was; `metric`: the one
 * that a format with one figure has. */
void export_write(struct page *p, const struct export_kind *kind, enum metric asked,
		  enum metric metric, struct out *o);

/* SPDX-License-Identifier: MIT
 * Room export: reports for programs.
 *   In:  a page, the model, views as tables.
 *   Out: JSON and CSV (formats.h); the formats of other programs (this header).
 *   Used by: cli.
 *
 * Parts shared by the formats of other programs: rows of figures with call stacks, names without
 * harmful characters, and notes on the quality of the recording.
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

/* Lists the figures of a row. */
enum export_figure {
	EXPORT_ALLOCATIONS,
	EXPORT_ALLOCATED,
	EXPORT_LIVE_BLOCKS, /* live at the end, or at the moment of --at */
	EXPORT_LIVE,
	EXPORT_PEAK_BLOCKS,
	EXPORT_PEAK,
	EXPORT_TEMPORARY,
	EXPORT_FIGURES,
	EXPORT_ALL
};
/* Lists the figures in the order in which formats write several of them. */
extern const enum export_figure export_order[EXPORT_FIGURES];
/* Returns the figure that a metric shows; EXPORT_FIGURES = none. */
enum export_figure export_figure_of(enum metric metric);
/* Returns the enum diff_figure of a figure; -1 = none. */
int export_diff_figure(enum export_figure f);
/* Returns a title for people: "bytes allocated", "blocks live at the end". */
const char *export_title(struct model *m, enum export_figure f);

/* Describes one element of a stack: a frame, a process, or a text in place of either. Strings are
 * valid UTF-8 without line breaks. */
struct place {
	const char *function;    /* never NULL: "libz.so.1+0x1a2b" if the name is not known */
	const char *file, *path; /* paths of the source file and of the module; NULL = not known */
	uint64_t address;        /* UNKNOWN = not a frame */
	uint32_t module;         /* index of the module, or NONE */
	uint32_t line;           /* source line, 0 = not known */
	bool inlined, named;     /* inlined: into the next outer place; named: the name is known */
};

/* Holds the figures of a site, or (site NULL) of everything outside all sites, so that the rows add
 * up to the totals. Unknown figures are 0. */
struct export_row {
	const struct site *site;
	uint64_t v[EXPORT_FIGURES];
	uint32_t place; /* for a row without a site: index in `places` */
};

struct export
{
	struct model *m;
	struct page *page;
	const struct export_kind *kind;
	enum metric asked;   /* metric requested by the user; METRIC_COUNT = none */
	enum metric metric;  /* metric for a format with one figure */
	const char *command; /* command line of the first process, cleaned */
	const char *lacks;   /* result of export_lacks */
	struct words notes;  /* whole sentences: the program that wrote the file, and how
				reliable the figures are */
	bool known[EXPORT_FIGURES];
	void *state; /* private state of the format, for its export_put */

	/* set for formats with EXPORT_SITES */
	struct place *places;
	size_t place_count;
	struct export_row *rows; /* rows of the sites first, in the order of the sites */
	size_t n;
	uint32_t *path; /* places of the row that export_next returned, innermost first */
	size_t depth;   /* number of places in path, at least 1 */

	/* filled on request by a format */
	struct table_of_bytes texts; /* different texts of places, each once, in order of first
					use */
	uint32_t *text_of;           /* by place: index in `texts` + 1; 0 = no text yet */
	struct key_tree stacks;      /* call tree whose keys are numbers of texts */
};

/* Returns the next row after `r` (NULL = the first) whose figure `f` is not 0, and stores its stack
 * in x->path; NULL = no more rows. `f` EXPORT_FIGURES: rows with any nonzero figure; EXPORT_ALL:
 * all rows. With several processes the outermost place is the process. */
const struct export_row *export_next(struct export *x, const struct export_row *r,
				     enum export_figure f);
/* Fills x->path with the stack of a row. */
void export_take_stack(struct export *x, const struct export_row *r);
/* Returns the end of the frame that begins at x->path[at]: the index after its inlined functions.
 */
size_t export_frame_end(const struct export *x, size_t at);
/* Returns `first` and the notes from index `from` on as one text: "a; b; c". */
const char *export_joined(struct export *x, const char *first, size_t from);
/* Replaces the rows, which are made from the new run, by the rows of the comparison, whose figures
 * are changes in two's complement. */
void export_differences(struct export *x);
/* Tells whether the row has any nonzero figure. */
bool export_any(const struct export_row *r);
/* Returns a frame in the format of Valgrind's tools: "0x401000: main (main.c:31)", "0x7f00: deflate
 * (in /usr/lib/libz.so.1)". In the model's arena. */
const char *export_frame_text(struct export *x, const struct place *p);

/* Writes a place as a format needs it; a format always uses the same function. */
typedef void export_put(struct export *x, const struct place *p, struct out *o);
/* Returns the number, in x->texts, of the text that `put` writes for a place. */
uint32_t export_text(struct export *x, uint32_t place, export_put *put);
/* Returns the node of x->path in x->stacks, a tree whose keys are numbers of texts. Node 0 is above
 * the outermost place, or with `up` above the innermost one. */
uint32_t export_stack(struct export *x, bool up, export_put *put);
/* Writes an array of the text numbers of x->path. */
void export_path(struct export *x, struct ms_json *j, const char *key, bool innermost_first,
		 export_put *put);
/* Writes an array of all texts, which must be JSON. */
void export_text_array(const struct export *x, struct ms_json *j, const char *key);

/* Stores the live bytes of each row at a snapshot in live[0..x->n): 0 for sites of other processes.
 * Live bytes outside all sites are in the rows without a site. */
void export_live_at(struct export *x, const struct snapshot *s, uint64_t *live);
/* Returns the time of the snapshot on the shared clock, in ns; UNKNOWN = not known. */
uint64_t export_moment(const struct export *x, const struct snapshot *s);
/* Lists the snapshots of known time in order, in the model's arena. Returns their number. */
size_t export_moments(struct export *x, const struct snapshot ***out);
/* Holds the live bytes at the end of a span of time, of one process or summed over several. */
struct export_point {
	uint64_t time_ns, live_last;
};
size_t export_points(struct export *x, struct export_point **out);

/* ---- choosing a format ---- */

enum export_trait {
	EXPORT_SITES = 1,   /* consists of rows of sites */
	EXPORT_MOMENTS = 2, /* shows figures of the peak or the end */
	EXPORT_METRIC = 4,  /* shows the figure of --metric, or shows it first */
	EXPORT_ONE = 8,     /* shows one figure only, which a list view can choose too */
	EXPORT_RUN = 16,    /* cannot show a comparison or figures of /proc */
	EXPORT_BYTES = 32,  /* binary: not for a terminal */
	EXPORT_EVENTS = 64, /* has one line per allocation; compressed if the file name ends in
			       .gz */
	EXPORT_TYPES = 128, /* can omit the sample types that Go's profiles lack */
};

typedef void export_format(struct export *x, struct out *o);

struct export_kind {
	const char *name;
	export_format *write;
	struct file_kind file;
	unsigned traits;
	const char *help;
	/* Texts that describe the figures shown if the snapshot lacks the peak or the end; NULL =
	 * the usual text, "" = no figure is missing. */
	const char *peakless, *endless;
};

#define EXPORT_DECLARE(name, function, ...) extern export_format export_##function;
EXPORT_FORMATS(EXPORT_DECLARE)

/* Returns the format whose name is the first `n` bytes of a text; NULL = none. */
const struct export_kind *export_find(const char *name, size_t n);
/* Returns the names of the formats that have all given traits, separated by `between`. */
const char *export_names(struct ms_arena *a, unsigned traits, const char *between);
/* Returns all names, one per line with a description. */
const char *export_list(struct ms_arena *a);
/* Returns the reason why this output cannot be written, for a message; NULL = it can. */
const char *export_refuses(const struct page *p, const struct output *output);
/* Returns a text for the user if the format shows figures of the peak or the end that are taken
 * from another moment, because the snapshot lacks the right one; else NULL. The text is printed,
 * and written to the file if the format allows. `asked` as in export_write. */
const char *export_lacks(struct model *m, const struct export_kind *kind, enum metric asked);
/* Writes a format. `asked`: metric requested by the user, METRIC_COUNT = none; `metric`: the metric
 * for a format with one figure. */
void export_write(struct page *p, const struct export_kind *kind, enum metric asked,
		  enum metric metric, struct out *o);

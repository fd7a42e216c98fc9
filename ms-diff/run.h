/* SPDX-License-Identifier: MIT
 * One run of a program as it is compared: its snapshot as arrays.
 */
#pragma once

#include "libcommon/base/arena.h"
#include "libcommon/model/comparison.h"
#include "libcommon/model/model.h"

struct ms_err;

enum side { OLD, NEW };
extern const char *const side_names[2];

/* Figures of a whole run, by the names of "totals" in the JSON report; then what the sites add up
 * to. */
enum total_index {
#define X(name, unit, adds) TOTAL_##name,
	MS_TOTALS(X)
#undef X
		TOTAL_peak_rss_bytes,
	TOTAL_end_rss_bytes,
	TOTAL_live_bytes,
	TOTAL_live_blocks,
	TOTAL_own_peaks_bytes,
	TOTAL_own_peaks_blocks,
	TOTALS
};
extern const struct total {
	const char *name;
	bool bytes;
	bool flow; /* counts what happened in the run, so that it grows with the work done */
} totals[TOTALS];
/* The total that a figure of the sites adds up to. */
int total_of(enum diff_figure f);
struct run;
int64_t run_total(const struct run *r, const char *name);

/* How a module is called in every build, and whether a run of the other side has the same build of
 * it. */
struct build {
	uint32_t name; /* number of its name without folders and version */
	bool shared;
};

struct run_site {
	int64_t id;
	uint32_t process; /* index */
	uint32_t stack;   /* innermost node, or NONE */
	uint32_t user;    /* node that the site is named after, or NONE */
	int64_t figures[DIFF_FIGURES];
	double allocations, bytes; /* over the whole run, whatever is compared */
	int64_t most_bytes;        /* that it ever held */
	struct limits *sampled;    /* DIFF_FIGURES of them, or NULL */
	uint32_t spot;             /* where it was put, see spots.h */
	const char *verdict, *key; /* as recorded, or NULL */
};

/* Arrays in order of id. */
struct run {
	enum side side;
	const char *name;  /* as typed */
	const char *label; /* of the moment whose live blocks are compared */
	bool at_end;       /* that is the end of the run, and no other was asked for */
	bool missing;      /* there is no such file, and that is allowed */
	sqlite3 *db;
	bool borrowed;  /* the same database as that of another run */
	struct model m; /* processes, moments, modules, frames and stacks */
	/* Numbers of names, the same in all runs, by process, module and frame; the program of the
	 * first process is called "". */
	uint32_t *programs, *tokens;
	struct build *builds;
	bool threaded; /* several processes or threads allocated */
	MS_ARRAY(struct run_site) sites;
	int64_t totals[TOTALS];
	int64_t sampled_peak_rss; /* where the total is the kernel's; else DELTA_UNKNOWN */
	struct limits sampled_totals[TOTALS];
	int64_t hidden[DIFF_FIGURES], hidden_sites;
	int64_t operations; /* of --per; DELTA_UNKNOWN = not asked */
	int64_t sampled_bytes, events_lost, started_ns;
	bool complete;
	const char *filters; /* NULL = none */
};

static inline uint32_t run_token(const struct run *r, const struct frame *f)
{
	return r->tokens[f - r->m.frames.v];
}

/* Reads r->db into the arrays. `flows`: figures of the whole run are compared too; else they are
 * not known. 0, or -1 with `err` set. */
int run_load(struct run *r, bool flows, struct ms_err *err);
/* Gives all runs the sampled peak of RSS, where the kernel's account of it is not known of all. */
void runs_level_rss(struct run *const *runs, size_t n);
/* Sets r->operations to how often the run did what --per names: "allocations", or "mark:NAME". 0,
 * or -1 with `err` set: never. */
int run_count(struct run *r, const char *per, struct ms_err *err);
/* Brings what happened in the run to that of `operations` operations, so that sums still add up. */
void run_scale(struct run *r, int64_t operations);
void run_free(struct run *r);

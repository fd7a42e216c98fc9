/* SPDX-License-Identifier: MIT
 * Reads a run of a program for a comparison: its snapshot as arrays.
 */
#pragma once

#include "libcommon/base/arena.h"
#include "libcommon/model/comparison.h"
#include "libcommon/model/model.h"

struct ms_err;

enum side { OLD, NEW };
extern const char *const side_names[2];

/* Lists the totals of a whole run, named as in "totals" of the JSON report, then the sums over its
 * sites. */
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
	bool flow; /* counts events of the run, so it grows with the work done */
} totals[TOTALS];
/* Returns the index of the total that sums this figure over all sites. */
int total_of(enum diff_figure f);
struct run;
int64_t run_total(const struct run *r, const char *name);

/* Describes a module: its normalized name, and whether some run of the other side has the same
 * build of the module. */
struct build {
	uint32_t name; /* number of the name, without folders and version */
	bool shared;
};

struct run_site {
	int64_t id;
	uint32_t process; /* index in the model's processes */
	uint32_t stack;   /* innermost node of the call stack, or NONE */
	uint32_t user;    /* node that the site is named after, or NONE */
	int64_t figures[DIFF_FIGURES];
	double allocations, bytes; /* over the whole run, even if moments are compared */
	int64_t most_bytes;        /* maximum live bytes */
	struct limits *sampled;    /* DIFF_FIGURES intervals, or NULL */
	uint32_t spot;             /* index of the site's spot (place that allocates, see
				      spots.h) */
	const char *verdict, *key; /* verdict and key of the stack as recorded, or NULL */
};

/* Holds a run. Its arrays are sorted by id. */
struct run {
	enum side side;
	const char *name;  /* name as typed */
	const char *label; /* label of the moment whose live blocks are compared */
	bool at_end;       /* label is the end of the run, and no other moment was requested */
	bool missing;      /* the file does not exist, which is allowed */
	sqlite3 *db;
	bool borrowed;  /* db belongs to another run */
	struct model m; /* processes, moments, modules, frames and stacks of the run */
	/* Numbers of interned names, equal in all runs: program names by process, function names by
	 * frame. The program of the first process is called "". */
	uint32_t *programs, *tokens;
	struct build *builds;
	bool threaded; /* several processes or threads allocated */
	MS_ARRAY(struct run_site) sites;
	int64_t totals[TOTALS];
	int64_t sampled_peak_rss; /* largest RSS sample if the total is the kernel's peak value;
				     else DELTA_UNKNOWN */
	struct limits sampled_totals[TOTALS];
	int64_t hidden[DIFF_FIGURES], hidden_sites;
	int64_t operations; /* number of --per operations; DELTA_UNKNOWN = not counted */
	int64_t sampled_bytes, events_lost, started_ns;
	bool complete;
	const char *filters; /* texts of the filters applied to the run; NULL = none */
};

static inline uint32_t run_token(const struct run *r, const struct frame *f)
{
	return r->tokens[f - r->m.frames.v];
}

/* Reads r->db into the arrays. `flows`: figures of the whole run are compared too; otherwise they
 * are not known. Returns 0, or -1 with `err` set. */
int run_load(struct run *r, bool flows, struct ms_err *err);
/* Unless the kernel's peak RSS is known for all runs, replaces it in all runs by the largest RSS
 * sample. */
void runs_level_rss(struct run *const *runs, size_t n);
/* Sets r->operations to the number of --per events in the run: "allocations" or "mark:NAME".
 * Returns 0, or -1 with `err` set: there were none. */
int run_count(struct run *r, const char *per, struct ms_err *err);
/* Scales the figures that count events of the run to `operations` operations, so that sums still
 * add up. */
void run_scale(struct run *r, int64_t operations);
void run_free(struct run *r);

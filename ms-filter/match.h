/* SPDX-License-Identifier: MIT
 * Decides which sites of a snapshot meet the conditions, and which call stacks the kept sites need.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"
#include "libcommon/model/model.h"
#include "options.h"

struct ms_err;
struct sqlite3;

struct match_site {
	int64_t id;
	uint64_t found;      /* KEEP() and DROP() bits of conditions met */
	uint64_t leaks;      /* leaked blocks, counted if a suppression has a maximum */
	const char *verdict; /* result of the scan; NULL = none */
	uint32_t stack;      /* index in the model's nodes, or NONE */
	uint32_t rule;       /* number in matches.rules, from 1, of the suppressing rule; 0 =
				none */
	bool hidden;
};

/* Describes a line of a suppression file, and the sites that match it. */
struct rule {
	const char *file, *text;
	unsigned line;
	size_t sites, names, verdicts; /* numbers of sites: matching; undecided without names;
					  undecided without a verdict */
	uint64_t most, met;            /* maximum number of blocks that the rule may hide
					  (MS_SUPPRESS_ANY = any number); number of blocks that
					  match */
	size_t over;                   /* number of matching sites not hidden, because the
					  maximum is exceeded */
};

/* Holds the results for all sites, in ascending order of id. */
struct matches {
	struct model model; /* modules, frames and nodes; with texts if sites may be suppressed */
	MS_ARRAY(struct match_site) sites;
	/* current condition's tests of frames: enum truth by node of the model */
	MS_ARRAY(unsigned char *) tests;
	bool *needed; /* by node of the model: some visible site needs it, for its stack, or for
			 a stack that frees its blocks */
	MS_ARRAY(struct rule) rules;
	size_t hidden;            /* number of sites with `hidden` set */
	size_t unknown[SUBJECTS]; /* by subject: number of sites without a known figure */
};

/* Evaluates the conditions of `o`. `point`: the moment for --min, --min-blocks and similar
 * conditions, NULL = any. `m` is zeroed by the caller; call matches_free also after a failure.
 * Returns 0, or -1 with `err` set. */
int matches_find(struct matches *m, struct sqlite3 *db, const struct options *o, const char *point,
		 struct ms_err *err);
void matches_free(struct matches *m);

/* ---- for the files that evaluate conditions ---- */

/* Returns the bit of a condition. */
uint64_t match_bit(const struct condition *c);
/* Returns the site with that id, or NULL. */
struct match_site *match_site_of(struct matches *m, int64_t id);
/* Returns for each node the greatest of the values of its frame and of its callers' frames, given
 * by frame. The caller frees the array. */
unsigned char *match_stacks(const struct model *model, const unsigned char *frames);
/* Returns the part of a program's path that is compared with a pattern: its base name, unless the
 * pattern has a slash. */
const char *match_exe(const char *pattern, const char *exe);
/* Tells whether `pattern`, which may have wildcards, matches `name`, or is `number` in decimal. */
bool match_names(const char *pattern, const char *name, int64_t number);

/* ---- conditions.c: conditions evaluated by database queries ---- */

/* Sets the bits of the conditions that the sites of `m` meet, except those of SUPPRESSED, and
 * counts in m->unknown the sites for which that is not known. `point`: the moment for live figures,
 * NULL = any. Returns 0, or -1 with `err` set. */
int conditions_ask(struct matches *m, struct sqlite3 *db, const struct options *o,
		   const char *point, struct ms_err *err);
/* Adds the functions that conditions need; `m` may be NULL if they are conditions on frames. */
void conditions_functions(struct sqlite3 *db, struct matches *m);
/* Queries whether frames meet a condition on frames: 1, 0, or null = not known; then each frame's
 * address, process and note. In order of id. NULL with `err` set. */
struct sqlite3_stmt *conditions_frames(struct sqlite3 *db, struct ms_arena *a,
				       const struct condition *c, size_t test, struct ms_err *err);

/* ---- suppressions.c: the sites that each line of a suppression file hides ---- */

/* Sets DROP(SUPPRESSED) and the first matching rule of each suppressed site. Call after the other
 * conditions; needs names. Returns 0, or -1 with `err` set. */
int suppressions_apply(struct matches *m, struct sqlite3 *db, const struct options *o,
		       struct ms_err *err);
/* Sets DROP(SUPPRESSED) and `rule` of sites whose live blocks at the end are all indirect leaks,
 * retained by blocks of suppressed sites. Returns 0, or -1 with `err` set. */
int suppressions_retained(struct matches *m, struct sqlite3 *db, struct ms_err *err);
/* Writes the rows of the table `suppression` for stage `stage`. Call while the sites in temp.gone
 * are still in `db`. Returns 0, or -1 with `err` set. */
int suppressions_note(struct sqlite3 *db, const struct matches *m, int64_t stage,
		      struct ms_err *err);
/* Prints, for each suppression of the latest stage, which sites it has hidden. */
void suppressions_say(struct sqlite3 *db, const struct ms_cli *cli);

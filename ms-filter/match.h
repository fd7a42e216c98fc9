/* SPDX-License-Identifier: MIT
 * Which sites of a snapshot meet the conditions, and which call stacks they need.
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

/* A row of the model's stacks: whether frames are met counts its own and all its callers'. */
struct match_stack {
	uint64_t found; /* KEEP() and DROP() bits that hold for it */
	bool user;      /* one of these frames is of the user's own code, or may be */
	bool needed;    /* by a site that is kept, also where its blocks were freed */
};

struct match_site {
	int64_t id;
	uint64_t found;      /* KEEP() and DROP() bits that hold */
	uint64_t leaks;      /* blocks that a suppression's maximum counts, where one has any */
	const char *verdict; /* NULL = none */
	uint32_t stack;      /* index in the model's nodes, or NONE */
	uint32_t rule;       /* of matches.rules, from 1, that suppresses it; 0 = none */
	bool hidden;
};

/* A line of a suppression file, and what it met. */
struct rule {
	const char *file, *text;
	unsigned line;
	size_t sites, names, verdicts; /* sites it met; that lack a name, or a verdict, for it */
	uint64_t most, met;            /* blocks it may hide, MS_SUPPRESS_ANY: all; that it met */
	size_t over;                   /* sites that it met and left, since these are too many */
};

/* Sites are in ascending order of id. */
struct matches {
	struct model model; /* its frames and nodes; frames have texts if `named` */
	const struct options *o;
	MS_ARRAY(struct match_site) sites;
	MS_ARRAY(uint64_t) frames;  /* KEEP() and DROP() bits that hold for each of the model's */
	struct match_stack *stacks; /* of each of the model's nodes */
	MS_ARRAY(struct rule) rules;
	bool named;               /* somebody asks for names: they are kept */
	size_t hidden;            /* number of sites with `hidden` set */
	size_t unknown[SUBJECTS]; /* sites of which a condition's figure is not known */
};

/* Evaluates the conditions of `o`. `point` is the moment that --min, --min-blocks and the like are
 * restricted to, or NULL. `m` is zeroed by the caller and given back with matches_free, also after
 * a failure. 0, or -1 with `err` set. */
int matches_find(struct matches *m, struct sqlite3 *db, const struct options *o, const char *point,
		 struct ms_err *err);
void matches_free(struct matches *m);
/* Reads frames and stacks alone: `found` of these is set. */
int matches_stacks(struct matches *m, struct sqlite3 *db, const struct options *o,
		   struct ms_err *err);

/* ---- for the files that evaluate conditions ---- */

/* The bit of a condition. */
uint64_t match_bit(const struct condition *c);
/* Returns the site of that id, or NULL. */
struct match_site *match_site_of(struct matches *m, int64_t id);
/* Returns the path of the module that a frame lies in, or NULL. */
const char *match_module(const struct matches *m, const struct frame *f);
/* Returns the part of a program's path that a pattern is matched with: its name alone, unless the
 * pattern has a slash. */
const char *match_exe(const char *pattern, const char *exe);
/* Tells whether `pattern`, with wildcards, matches that name or is the number itself. */
bool match_names(const char *pattern, const char *name, int64_t number);

/* ---- conditions.c: on what the database says of a site, as questions to it ---- */

/* Sets the bits of the conditions that the sites of `m` meet, but for those on frames, and counts
 * in m->unknown the sites of which that is not known. `point`: the moment that live figures are
 * of, or NULL. 0, or -1 with `err` set. */
int conditions_ask(struct matches *m, struct sqlite3 *db, const struct options *o,
		   const char *point, struct ms_err *err);

/* ---- suppressions.c: which line of which file takes which sites away ---- */

/* Sets DROP(SUPPRESSED) and the rule of the sites that a suppression meets, the first of several.
 * After the sites' other conditions, with names. 0, or -1 with `err` set. */
int suppressions_apply(struct matches *m, struct sqlite3 *db, const struct options *o,
		       struct ms_err *err);
/* Sets DROP(SUPPRESSED) and the rule of the sites whose live blocks at the end are all lost with
 * sites that are suppressed. 0, or -1 with `err` set. */
int suppressions_retained(struct matches *m, struct sqlite3 *db, struct ms_err *err);
/* Writes the rows of the table `suppression`, before the sites in temp.gone go. 0, or -1 with `err`
 * set. */
int suppressions_note(struct sqlite3 *db, const struct matches *m, int64_t stage,
		      struct ms_err *err);
/* Remarks for the latest stage what each took away. */
void suppressions_say(struct sqlite3 *db, const struct ms_cli *cli);

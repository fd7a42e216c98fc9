/* SPDX-License-Identifier: MIT
 * Matches the spots of the old runs with those of the new ones.
 */
#pragma once

#include "libcommon/base/arena.h"
#include "spots.h"

/* Lists the ways in which the two sides of a row were matched, the most certain first. */
enum matched {
	MATCHED_NONE,    /* one side only */
	MATCHED_EXACT,   /* same chain, same lines or the same build */
	MATCHED_LINES,   /* same chain, lines shifted: equally many calls, in the same order */
	MATCHED_CHAIN,   /* same chain, but different numbers of calls: summed up */
	MATCHED_MODULE,  /* same functions, in other modules */
	MATCHED_FRAMES,  /* frames added or removed */
	MATCHED_RENAMED, /* a function was renamed */
	MATCHED_MOVED,   /* one function replaced by another, equal figures */
	MATCHED_FIGURES, /* one side has no names; equal modules and figures */
	MATCHED_COUNT
};
extern const char *const matched_names[MATCHED_COUNT];

struct row {
	enum matched matched;
	bool weak;            /* matched by frames without names */
	bool hidden;          /* not matched, but one side has no names, so it may be unchanged */
	const char *evidence; /* a description, or NULL */
};

/* Counts the frames of all modules that have one name. */
struct name_count {
	size_t frames[2][2]; /* by side: frames without and with a function name */
	bool nameless;       /* one side has names and the other does not, see nameless.c */
};

struct matching {
	struct spots *s;
	struct ms_arena arena;
	MS_ARRAY(struct name_count) names; /* by number in spots->names */
	MS_ARRAY(struct row) rows;
};

/* Assigns each spot (place that allocates, see spots.h) to a row. Rows with both sides come
 * first. */
void match(struct matching *m);
void match_free(struct matching *m);

/* In match_left.c: matches the spots that could not be matched by equal names, and assigns them to
 * rows. */
void match_left_over(struct matching *m);
/* Joins two rows with related stacks if the increase of one equals the decrease of the other. Call
 * when all spots have rows. May leave rows without spots. */
void match_balance(struct matching *m);

/* ---- nameless.c: modules with function names on one side only, for instance because one build was
 * stripped; there the names in a stack do not help to match it ---- */

/* Finds modules with function names on one side only, and marks their entries in m->names. */
void nameless_find(struct matching *m);
/* Pairs spots in modules with names on one side only. Equal builds are matched by address, which is
 * exact; other builds if the stacks have the same modules and the figures are equal. */
void nameless_match(struct matching *m);
/* Tells whether an unmatched spot may exist on the other side, unrecognized because names are
 * missing there. */
bool nameless_hides(const struct matching *m, const struct spot *p);
/* Returns the names of the modules without function names on a side, such as "app, libx.so"; NULL =
 * none. In m->arena. */
const char *nameless_modules(struct matching *m, enum side side);

/* ---- shared by the files of this module ---- */

/* Adds a row with these spots. */
void match_row(struct matching *m, enum matched how, const char *evidence, const uint32_t *spots,
	       size_t n);
/* Receives the `n` spots with the same key, sorted by number; the first `old` of them are of the
 * old side. match_groups() calls it for each key, in order. `keys` is indexed by spot; NONE = the
 * spot has no key. */
typedef void match_take(struct matching *m, void *arg, uint32_t *spots, size_t old, size_t n);
void match_groups(struct matching *m, const uint32_t *keys, match_take *take, void *arg);
/* Returns the key of a spot's chain. match_by() pairs spots without a row whose keys are equal. */
typedef uint32_t match_key(void *context, const struct spot *p);
void match_by(struct matching *m, match_key *key, void *context, enum matched how,
	      const char *evidence);
/* Context of match_functions_key: the key is the chain without modules, with old names replaced by
 * new ones if `to` is not NULL. */
struct match_functions {
	const struct spots *s;
	uint32_t *to; /* new name by old name */
	struct intern keys;
};
match_key match_functions_key;

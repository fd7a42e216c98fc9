/* SPDX-License-Identifier: MIT
 * Which spots of the old runs are which of the new ones.
 */
#pragma once

#include "libcommon/base/arena.h"
#include "spots.h"

/* How the two sides of a row were found to be the same code, surest first. */
enum matched {
	MATCHED_NONE,    /* it has one side only */
	MATCHED_EXACT,   /* same chain, same lines or the same build */
	MATCHED_LINES,   /* same chain, lines shifted: as many in the same order */
	MATCHED_CHAIN,   /* same chain, but not as many: taken together */
	MATCHED_MODULE,  /* same functions in other modules */
	MATCHED_FRAMES,  /* frames more or fewer */
	MATCHED_RENAMED, /* a function has another name */
	MATCHED_MOVED,   /* one function is another, the figures are the same */
	MATCHED_FIGURES, /* one side has no names; the modules and the figures are the same */
	MATCHED_COUNT
};
extern const char *const matched_names[MATCHED_COUNT];

struct row {
	enum matched matched;
	bool weak;            /* it rests on frames without names */
	bool hidden;          /* not matched, but one side has no names: it may be no change */
	const char *evidence; /* in words, or NULL */
};

/* Frames of the modules of one name. */
struct name_count {
	size_t frames[2][2]; /* by side: without and with a function's name */
	bool nameless;       /* one side has names where the other has none, see nameless.c */
};

struct matching {
	struct spots *s;
	struct ms_arena arena;
	MS_ARRAY(struct name_count) names; /* by number in names */
	MS_ARRAY(struct row) rows;
};

/* Gives every spot a row. The first rows are those with both sides. */
void match(struct matching *m);
void match_free(struct matching *m);

/* match_left.c: what the same names do not show. Rows for spots without one. */
void match_left_over(struct matching *m);
/* When all have one: makes one row of those of which one has as much more as the other has less, in
 * related stacks. A row may be left without spots. */
void match_balance(struct matching *m);

/* ---- nameless.c: modules whose functions have names on one side only, as when one build was
 * stripped: there the names of a stack say nothing of what is the same ---- */

/* Finds them, into m->names. */
void nameless_find(struct matching *m);
/* Pairs spots in them that names could not: of one build by addresses, which is exact, else where
 * the modules of the stack and what was allocated are equal. */
void nameless_match(struct matching *m);
/* Can nobody tell whether a spot that was not matched is new? */
bool nameless_hides(const struct matching *m, const struct spot *p);
/* The modules that lack names on a side, "app, libx.so"; NULL = none. In m->arena. */
const char *nameless_modules(struct matching *m, enum side side);

/* ---- among the files of this module ---- */

/* A new row of these spots. */
void match_row(struct matching *m, enum matched how, const char *evidence, const uint32_t *spots,
	       size_t n);
/* Calls `take` for the spots of each key, in order of keys: `n` of them, the `old` first of which
 * are of the old side, in order of their numbers. `keys` is by spot; NONE: left out. */
typedef void match_take(struct matching *m, void *arg, uint32_t *spots, size_t old, size_t n);
void match_groups(struct matching *m, const uint32_t *keys, match_take *take, void *arg);
/* Matches spots without a row whose keys are equal; a key is what `key` makes of a spot's chain. */
typedef uint32_t match_key(void *context, const struct spot *p);
void match_by(struct matching *m, match_key *key, void *context, enum matched how,
	      const char *evidence);
/* A key: the chain without the modules of its functions, and those of the old side by the names
 * that they have now, if `to` is not NULL. */
struct match_functions {
	const struct spots *s;
	uint32_t *to; /* by name */
	struct intern keys;
};
match_key match_functions_key;

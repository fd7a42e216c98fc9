/* SPDX-License-Identifier: MIT
 * What can be told apart of where programs allocate, in terms that hold for every build.
 *
 * A stack as recorded is brought to a chain of names, innermost first: frames of the runtime and of
 * allocators are left out (unless there are no others), inlined frames count like real ones, one
 * that calls itself counts once. Sites of all runs of one side with the same stack to the line are
 * one spot; a spot's key is its chain.
 */
#pragma once

#include "libcommon/base/arena.h"
#include "intern.h"
#include "run.h"

/* A link of a chain: a frame, or first of all the program. */
struct link {
	uint32_t module, function; /* numbers in names */
};

struct spot {
	enum side side;
	uint32_t key;    /* number in chains: struct link, the program, then innermost first */
	uint32_t whole;  /* number in wholes: every frame with its line */
	uint32_t lines;  /* number in lines: of the chain, uint64_t, outermost first */
	uint32_t inner;  /* number in wholes: names of the runtime's frames inside the chain */
	bool same_build; /* both sides have the same builds of all modules of the chain */
	bool weak;       /* frames of the chain have no names */
	int64_t (*figures)[DIFF_FIGURES]; /* by run of its side; 0 where a run does not have it */
	bool *seen;                       /* by run of its side */
	double allocations, bytes; /* of the whole run, on average over the runs of its side */
	uint32_t row;              /* see match.h; NONE = not matched */
};

struct spots {
	struct ms_arena arena;
	bool by_key; /* the old runs have keys of stacks, not stacks: a key is the chain */
	struct intern names, chains, wholes, lines;
	MS_ARRAY(struct spot) all;
	MS_ARRAY(struct run *) runs[2], every; /* by side; the same, the old ones first */
	MS_ARRAY(uint8_t) sides; /* by number in names: sides that have a function of that name */
};

/* Puts each site of the runs, which `s` holds and must go on living, into its spot. */
void spots_make(struct spots *s);
void spots_free(struct spots *s);

/* A spot's chain without the program, innermost first, and how many links it has. */
const struct link *spot_chain(const struct spots *s, const struct spot *p, size_t *n);
/* Tells whether the frame has the name of a function, which says more than that there is some
 * frame. */
bool link_is_named(const struct spots *s, const struct link *l);
/* Returns where the frame's code is in the file, if that is known; else the address. */
uint64_t frame_offset(const struct run *r, const struct frame *f);
/* Returns the name that a number stands for. */
const char *spot_name(const struct spots *s, uint32_t name);

/* SPDX-License-Identifier: MIT
 * Identifies the places where programs allocate, in terms that are equal in every build.
 *
 * A recorded stack is converted to a chain of names, innermost first: frames of the runtime and of
 * allocators are omitted (unless there are no others), inlined frames count like real ones, and a
 * function that calls itself counts once. Sites of all runs of one side whose stacks are equal
 * including the lines form one spot; the key of a spot is its chain.
 */
#pragma once

#include "libcommon/base/arena.h"
#include "intern.h"
#include "run.h"

/* Describes a link of a chain: a frame, or the program as the first link. */
struct link {
	uint32_t module, function; /* numbers of the names in `names` of struct spots */
};

struct spot {
	enum side side;
	uint32_t key;    /* number of the chain in spots.chains: an array of struct link, the
			    program first, then frames from innermost to outermost */
	uint32_t whole;  /* number in spots.wholes: all frames with their lines */
	uint32_t lines;  /* number in spots.lines: line of each link (uint64_t), outermost first */
	uint32_t inner;  /* number in spots.wholes: names of the runtime's frames that the chain
			    omits, inside it */
	bool same_build; /* both sides have the same build of each module in the chain */
	bool weak;       /* some frames of the chain have no names */
	int64_t (*figures)[DIFF_FIGURES]; /* by run of the spot's side; 0 in runs without the
					     spot */
	bool *seen;                       /* by run of the spot's side: the run has the spot */
	double allocations, bytes;        /* over the whole run, mean over the runs of the spot's
					     side */
	uint32_t row;                     /* index of the spot's row, see match.h; NONE = not
					     matched */
};

struct spots {
	struct ms_arena arena;
	bool by_key; /* the old runs have keys instead of stacks; spots are matched by key */
	struct intern names, chains, wholes, lines;
	MS_ARRAY(struct spot) all;
	MS_ARRAY(struct run *) runs[2], every; /* runs by side; all runs, the old ones first */
	MS_ARRAY(uint8_t) sides; /* by name number: bit set of sides with this function */
};

/* Assigns each site of the runs in `s` to a spot. The runs must outlive `s`. */
void spots_make(struct spots *s);
void spots_free(struct spots *s);

/* Returns the chain of a spot without the program, innermost link first; `n` receives its length.
 */
const struct link *spot_chain(const struct spots *s, const struct spot *p, size_t *n);
/* Tells whether the link has a function name, which is stronger evidence than a frame without one.
 */
bool link_is_named(const struct spots *s, const struct link *l);
/* Returns the frame's offset in its file, if that is known; else its address. */
uint64_t frame_offset(const struct run *r, const struct frame *f);
/* Returns the name with that number. */
const char *spot_name(const struct spots *s, uint32_t name);

/* SPDX-License-Identifier: MIT
 * Sites merged into a call tree: from the program's entry down, or from the allocating function up.
 */
#pragma once

#include "lists.h"

/* Describes a branch. Frames with the same function and module (or address, if the function is not
 * known) share a branch. */
struct branch {
	uint32_t parent, first_child,
		next;      /* indices of branches, or NONE; children are in descending order */
	uint32_t frame;    /* index; NONE = a process, an allocator function or a site without a
			      stack */
	uint32_t process;  /* if frame is NONE: index of a process, or NONE */
	const char *entry; /* if frame is NONE: the allocator function that was called, or NULL */
	bool several;      /* frames of several lines share this branch */
	bool repeated;     /* recursive calls of this function were left out */
	struct pair sum;   /* over all sites at or below this branch */
	struct pair self;  /* over the sites whose stack ends at this branch */
};

struct tree {
	enum metric metric;
	bool up;
	struct branch *v; /* v[0] is the root; a parent precedes its children */
	size_t n;
	struct pair total, hidden, other; /* total = v[0].sum + hidden + other */
};

/* Lists the frames that a tree for people leaves out. */
enum tree_fold {
	TREE_WHOLE,  /* nothing */
	TREE_ROUNDS, /* all rounds of a recursion but the first, also of functions that call each
			other */
	TREE_OWN,    /* also the runtime's frames, except those that user code calls */
};

/* Makes a tree in the model's arena. `entry`: the innermost level is the allocator function that
 * was called. */
struct tree tree_make(struct model *m, enum metric metric, bool up, enum tree_fold fold,
		      bool entry);

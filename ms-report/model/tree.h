/* SPDX-License-Identifier: MIT
 * Sites merged into a call tree: from the program's entry down, or from the allocating function up.
 */
#pragma once

#include "lists.h"

/* Frames are the same when function and module are (address, where the function is not known). */
struct branch {
	uint32_t parent, first_child,
		next;      /* indices of branches or NONE; children: largest first */
	uint32_t frame;    /* index, or NONE: a process or a site without stack */
	uint32_t process;  /* when frame is NONE: index, or NONE */
	const char *entry; /* then: the allocator's function that was called, or NULL */
	bool several;      /* frames of several lines were merged */
	bool repeated;     /* calls that came back to it were left out */
	struct pair sum;   /* of all sites below and of its own */
	struct pair self;  /* of sites whose stack ends here */
};

struct tree {
	enum metric metric;
	bool up;
	struct branch *v; /* v[0] is above all; a parent comes before its children */
	size_t n;
	struct pair total, hidden, other; /* total = v[0].sum + hidden + other */
};

/* Lists what is left out of a tree for people. */
enum tree_fold {
	TREE_WHOLE, /* nothing */
	TREE_ROUNDS, /* of functions that call themselves, or each other in turn, one round is kept */
	TREE_OWN, /* that, and the runtime's frames but for those that the user's own code calls */
};

/* In the model's arena. `entry`: which function of the allocator was called is the innermost level. */
struct tree tree_make(struct model *m, enum metric metric, bool up, enum tree_fold fold,
		      bool entry);

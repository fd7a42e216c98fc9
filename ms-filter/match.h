/* SPDX-License-Identifier: MIT
 * Which sites of a snapshot meet the conditions, and which call stacks they need.
 */
#ifndef MATCH_H
#define MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_err;
struct options;
struct sqlite3;

struct site {
	int64_t id, stack; /* stack 0 = none */
	uint32_t found;    /* KEEP() and DROP() bits that hold */
	bool hidden;
};

struct stack {
	int64_t id, parent; /* 0 = none */
	uint32_t found;     /* bits of its own frame and of all its callers' */
	bool user;          /* one of these frames is of the user's own code, or may be */
	bool needed;        /* by a site that is kept, also where its blocks were freed */
};

/* Both in ascending order of id. */
struct matches {
	struct {
		struct site *v;
		size_t n, cap;
	} sites;
	struct {
		struct stack *v;
		size_t n, cap;
	} stacks;
	size_t hidden; /* number of sites with `hidden` set */
};

/* Evaluates the conditions of `o`. `point` is the moment that --min and --min-blocks are restricted
 * to, or NULL. `m` is zeroed by the caller and given back with matches_free, also after a failure.
 * 0, or -1 with `err` set. */
int matches_find(struct matches *m, struct sqlite3 *db, const struct options *o, const char *point,
		 struct ms_err *err);
void matches_free(struct matches *m);

#endif

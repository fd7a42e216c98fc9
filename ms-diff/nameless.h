/* SPDX-License-Identifier: MIT
 * Modules whose functions have names on one side only, as when one build was stripped: there the
 * names of a stack say nothing of what is the same.
 */
#pragma once

#include "match.h"

/* Finds such modules, into m->nameless. */
void nameless_find(struct matching *m);
/* Pairs spots in them that names could not: of one build by addresses, which is exact, else where
 * the modules of the stack and what was allocated are equal. */
void nameless_match(struct matching *m);
/* Can nobody tell whether a spot that was not matched is new? */
bool nameless_hides(const struct matching *m, const struct spot *p);
/* The modules that lack names on a side, "app, libx.so"; NULL = none. In m->arena. */
const char *nameless_modules(struct matching *m, enum side side);

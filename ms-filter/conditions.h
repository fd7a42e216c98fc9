/* SPDX-License-Identifier: MIT
 * Conditions on what the database says of a site, as questions to it.
 */
#pragma once

struct matches;
struct ms_err;
struct options;
struct sqlite3;

/* Sets the bits of the conditions that the sites of `m` meet, but for those on frames, and counts
 * in m->unknown the sites of which that is not known. `point`: the moment that live figures are
 * of, or NULL. 0, or -1 with `err` set. */
int conditions_ask(struct matches *m, struct sqlite3 *db, const struct options *o,
		   const char *point, struct ms_err *err);

/* SPDX-License-Identifier: MIT
 * --suppress: which line of which file takes which sites away, and what that comes to.
 */
#pragma once

#include <stdint.h>

struct matches;
struct ms_cli;
struct ms_err;
struct options;
struct sqlite3;

/* Sets DROP(SUPPRESSED) and the rule of the sites that a suppression meets, the first of several.
 * After the sites' other conditions, with names. */
void suppressions_apply(struct matches *m, const struct options *o);
/* Writes the rows of the table `suppression`, before sites go. 0, or -1 with `err` set. */
int suppressions_note(struct sqlite3 *db, const struct matches *m, int64_t stage,
		      struct ms_err *err);
/* Remarks for the latest stage what each took away. */
void suppressions_say(struct sqlite3 *db, const struct ms_cli *cli);

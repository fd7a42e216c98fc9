/* SPDX-License-Identifier: MIT
 * Taking sites out of a snapshot while its sums go on adding up.
 */
#pragma once

struct matches;
struct ms_err;
struct sqlite3;

/* Removes the hidden sites of `m` from `db`, with their figures and the stacks and frames that no
 * other site needs. Adds to the table `hidden`, as one more stage, what went: a row per process for
 * the run (snapshot null) and one per moment. Names `filter` in meta. Totals of processes, threads
 * and moments stay. 0, or -1 with `err` set. */
int hide(struct sqlite3 *db, const struct matches *m, const char *filter, struct ms_err *err);

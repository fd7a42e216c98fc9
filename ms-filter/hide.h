/* SPDX-License-Identifier: MIT
 * Removes sites from a snapshot so that its sums still add up.
 */
#pragma once

struct matches;
struct ms_err;
struct sqlite3;

/* Removes the hidden sites of `m` from `db`, with their figures and with stacks and frames that no
 * other site needs. Adds the sums of what was removed to the table `hidden`, under a new stage
 * number: one row per process for the whole run (snapshot null), and one row per moment. Adds
 * `filter` to the filters in meta. Totals of processes, threads and moments are unchanged. Returns
 * 0, or -1 with `err` set. */
int hide(struct sqlite3 *db, const struct matches *m, const char *filter, struct ms_err *err);

/* SPDX-License-Identifier: MIT
 * Compares what keeps blocks alive: variables, frames of threads and so on, by their names.
 */
#pragma once

#include "match.h"
#include "open.h"

/* Writes table kept_diff into the database of the new run shown, if both runs shown have a
 * retention scan up to the moment that is compared. Returns 0, or -1 with `err` set. */
int kept_compare(const struct matching *m, const struct opened *runs, struct ms_err *err);

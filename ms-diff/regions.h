/* SPDX-License-Identifier: MIT
 * Compares the memory regions of two snapshots.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "run.h"

struct ms_err;

/* Fills table region_diff of new->db if both sides have regions. Regions are matched by process
 * name, kind and path; addresses and pids may differ. Returns 0, or -1 with `err` set. */
int regions_compare(const struct run *old, const struct run *new, struct ms_err *err);
/* Tells whether private memory (or address space, if that is not known) grew by more than
 * `min_change` bytes. */
bool regions_grew(sqlite3 *db, int64_t min_change);

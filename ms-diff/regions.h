/* SPDX-License-Identifier: MIT
 * What changed between two snapshots of regions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "run.h"

struct ms_err;

/* Fills table region_diff of new->db, where both sides have regions: by process name, kind and
 * path, so that other addresses and other pids do not matter. 0, or -1 with `err` set. */
int regions_compare(const struct run *old, const struct run *new, struct ms_err *err);
/* Did private memory (address space, where nothing else is known) grow by more than so many bytes?
 */
bool regions_grew(sqlite3 *db, int64_t min_change);

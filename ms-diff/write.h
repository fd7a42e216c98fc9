/* SPDX-License-Identifier: MIT
 * Writes the tables of a comparison into the snapshot of the new run.
 */
#pragma once

#include "changes.h"

/* Adds the comparison to the database of runs->shown[NEW], which then contains more than that run:
 * the tables diff*, site_diff*, and the old run's gone sites with their stacks. Returns 0, or -1
 * with `err` set. */
int write_changes(const struct changes *c, struct matching *m, const struct opened *runs,
		  const struct options *o, struct ms_err *err);

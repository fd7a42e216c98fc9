/* SPDX-License-Identifier: MIT
 * The names of the figures, as in the columns old_*, new_* and delta_*.
 */
#include "figures.h"

const char *const figure_names[FIGURES] = {"live_bytes",      "live_blocks", "peak_bytes",
					   "peak_blocks",     "allocations", "frees",
					   "allocated_bytes", "temporary"};

/* SPDX-License-Identifier: MIT
 * Prints the summary at the end of the run.
 */
#pragma once

#include <stdbool.h>

struct control;

/* Prints to standard error what was recorded, its cost, the files, and the next command to type. */
void summary_print(const struct control *c);
/* Prints only which traces could not be written, and why. */
void summary_failures(const struct control *c);
/* Runs ms-report on the trace. Its output goes to standard error, because standard output is the
 * command's. */
void summary_report(const struct control *c);
/* Tells whether the command's heap grows faster than this rate, as ms-report judges it, and if so,
 * reports the growth. If growth cannot be judged, reports that, unless `quiet`. */
bool summary_grows(const struct control *c, double bytes_per_second, bool quiet);

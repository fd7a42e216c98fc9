/* SPDX-License-Identifier: MIT
 * What is said at the end.
 */
#pragma once

#include <stdbool.h>

struct control;

/* Says on standard error what was recorded, what it cost, where it is and what to type next. */
void summary_print(const struct control *c);
/* Says only which traces could not be written, and why. */
void summary_failures(const struct control *c);
/* Runs ms-report on the trace, which goes to standard error: standard output is the command's. */
void summary_report(const struct control *c);
/* Does the heap of the command grow faster, as ms-report judges it? Then that is said; so is why it
 * cannot be told, unless `quiet`. */
bool summary_grows(const struct control *c, double bytes_per_second, bool quiet);

/* SPDX-License-Identifier: MIT
 * What is said at the end.
 */
#pragma once

struct control;

/* Says on standard error what was recorded, what it cost, where it is and what to type next. */
void summary_print(const struct control *c);
/* Runs ms-report on the trace, which goes to standard error: standard output is the command's. */
void summary_report(const struct control *c);

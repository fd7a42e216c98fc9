/* SPDX-License-Identifier: MIT
 * What is said at the end.
 */
#pragma once

struct control;

/* Says on standard error what was recorded, what it cost, where it is and what to type next. */
void summary_print(const struct control *c);

/* SPDX-License-Identifier: MIT
 * Metrics as text, for Prometheus and those that read what it reads: OpenMetrics 1.0, and the older
 * text format 0.0.4. They differ in what a counter's family is called, in the end, and in what the
 * older one ignores.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* TYPE, UNIT and HELP of memscope_NAME, whose type is gauge or counter. `unit`: its name ends in it;
 * NULL = it has none. `open`: it is OpenMetrics, where the family of a counter lacks the "_total" that
 * its samples have. */
void ms_metrics_family(FILE *f, bool open, const char *name, const char *type, const char *unit,
		       const char *help);
/* A label's value between its quotes: what is no UTF-8, or a control character, is a question mark. */
void ms_metrics_value(FILE *f, const char *s);

/* SPDX-License-Identifier: MIT
 * Writes metrics as text for Prometheus and compatible readers: OpenMetrics 1.0 and the older text
 * format 0.0.4. They differ in the name of a counter's family, in the end marker, and in lines that
 * the older one ignores.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Writes TYPE, UNIT and HELP of memscope_NAME; `type` is gauge or counter. `unit`: suffix of the
 * name; NULL = none. `open`: OpenMetrics, where the family of a counter has no "_total", unlike its
 * samples. */
void ms_metrics_family(FILE *f, bool open, const char *name, const char *type, const char *unit,
		       const char *help);
/* Writes the value of a label, without its quotes: invalid UTF-8 and control characters become
 * question marks. */
void ms_metrics_value(FILE *f, const char *s);

/* SPDX-License-Identifier: MIT
 * Lines of the summary, for the files that print it.
 */
#pragma once

#include "libcommon/base/units.h"

struct control;
struct image;

/* Number of traces and processes that are named; the others are counted. */
#define LOST_NAMED 3u

/* Format a value as text; the text lives until the end of the block around the call. */
#define SIZE(bytes) ms_format_size((char[MS_UNIT_BUF]){0}, bytes)
#define COUNT(n) ms_format_count((char[MS_UNIT_BUF]){0}, n)
#define DURATION(ns) ms_format_duration((char[MS_UNIT_BUF]){0}, ns)
#define PLURAL(n) ((n) == 1 ? "" : "s")

/* Prints a line of the summary. Names of another process may contain any bytes. */
void summary_line(const char *label, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- what was not recorded: summary_trouble.c ---- */

/* Prints how complete the trace is. */
void summary_quality(const struct control *c, const struct image *m);
/* Prints how many events were lost, and what can be done about that. */
void summary_losses(const struct control *c, const struct image *m);
/* Print which traces were lost, why recording of this image stopped early, and how many others were
 * not fully recorded. */
void summary_lost(const struct control *c);
void summary_trouble(const struct image *m);
void summary_other_trouble(const struct control *c, const struct image *said);

/* SPDX-License-Identifier: MIT
 * Runs ms-top: reads figures, handles keys and shows frames in turn.
 */
#pragma once

struct ms_err;
struct options;

/* Runs on a terminal until the user quits. Returns the exit status, or -1 with `err` set. */
int app_run(const struct options *o, struct ms_err *err);
/* Serves the trace without a screen until a signal ends it. */
int app_serve(const struct options *o, struct ms_err *err);
/* Prints plain frames (screens as text) to standard output. */
int app_print(const struct options *o, struct ms_err *err);

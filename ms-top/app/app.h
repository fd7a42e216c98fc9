/* SPDX-License-Identifier: MIT
 * ms-top at work: looks, keys and frames in turn.
 */
#pragma once

struct ms_err;
struct options;

/* On a terminal, until the user leaves. The exit status, or -1 with `err` set. */
int app_run(const struct options *o, struct ms_err *err);
/* Without a screen: serves the trace until a signal ends it. */
int app_serve(const struct options *o, struct ms_err *err);
/* Plain frames to standard output. */
int app_print(const struct options *o, struct ms_err *err);

/* SPDX-License-Identifier: MIT
 * A core dump instead of a trace, which ms-record makes of it.
 */
#pragma once

struct ms_err;
struct options;

/* Replaces the input of `o` by the trace of the core dump o->core: a file without a name. Returns 0, or
 * -1 with `err` set. */
int core_read(struct options *o, struct ms_err *err);

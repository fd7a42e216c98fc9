/* SPDX-License-Identifier: MIT
 * Sessions begin.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct attach;
struct control;
struct ms_err;
struct output;
struct session;

/* The next image of the run is that session's, whose output is there: its first records and its
 * first sample; from now on it is one of the control thread's. `parent`: image + 1, 0 = none. */
void begin_image(struct control *c, struct session *s, uint32_t parent);
/* Its process records, or is about to: the other threads get it. */
void begin_draining(struct control *c, struct session *s);
/* Maps the guest into the process that `a` has looked at, and begins its session, which keeps `out`.
 * NULL with `err` set. */
struct session *begin_attached(struct control *c, struct attach *a, struct output *out,
			       uint32_t parent, struct ms_err *err);

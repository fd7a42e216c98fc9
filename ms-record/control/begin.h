/* SPDX-License-Identifier: MIT
 * Sessions begin.
 */
#ifndef BEGIN_H
#define BEGIN_H

#include <stdbool.h>
#include <stdint.h>

struct control;
struct ms_err;
struct session;

/* The next image of the run is that session's, whose output is there: its first records. `parent`:
 * image + 1, 0 = none. */
void begin_image(struct control *c, struct session *s, uint32_t parent);
/* It is one of the control thread's from now on, and has its first sample. */
void begin_watching(struct control *c, struct session *s);
/* Maps the guest into the process that c->attach has looked at, and begins its session, with
 * c->first as its output. NULL with `err` set. */
struct session *begin_attached(struct control *c, uint32_t parent, struct ms_err *err);

#endif

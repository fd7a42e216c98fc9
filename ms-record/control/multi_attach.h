/* SPDX-License-Identifier: MIT
 * The processes of -p, one or several: each is attached to by itself, all are recorded in one run.
 *
 * The first that can be had gets FILE, each further one a trace in FILE.d/. One that cannot is kept
 * with its reason, and costs the others nothing. c->attach is the first.
 */
#pragma once

#include <stdbool.h>

struct control;
struct ms_err;

/* Looks at each of them, which none notices. 0, or -1 with `err` set: none can be had; c->attach is
 * the first that can. */
int multi_attach_look(struct control *c, struct ms_err *err);
/* Maps the guest into each of them. The same. */
int multi_attach_prepare(struct control *c, struct ms_err *err);
/* Replaces the entries in each of them: from here on it is recorded. The same. */
int multi_attach_go(struct control *c, struct ms_err *err);
/* Detaches from all of them. */
void multi_attach_detach(struct control *c);
/* Have all of them ended? */
bool multi_attach_ended(const struct control *c);
void multi_attach_free(struct control *c);

/* SPDX-License-Identifier: MIT
 * Lists of a process's mappings, for its guest: how far a stack may be read, and what is code.
 */
#pragma once

#include <stdbool.h>

struct session;

/* Has the guest asked for a list that it can have now? */
bool ranges_due(const struct session *s);

/* The draining thread's, once a round: reads /proc/PID/maps when the guest has asked for it, or was
 * never told. What the guest has stays when it cannot be read. */
void ranges_look(struct session *s);

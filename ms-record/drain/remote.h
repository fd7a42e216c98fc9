/* SPDX-License-Identifier: MIT
 * Unwinds stacks that the guest could not: it sends registers and a copy of the stack.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader;
struct remote;
struct session;

#define REMOTE_FRAMES 2048u

/* Unwinds the stack copy of reader `r` into `frames`, which has REMOTE_FRAMES entries, innermost
 * first; interrupted instructions have MG_EXACT_IP. Omits frames inside the guest. *whole is set if
 * the outermost frame was reached. Returns the number of frames. */
size_t remote_unwind(struct session *s, struct reader *r, uint64_t *frames, bool *whole);
/* Tells whether there is a call instruction before address `ip`. True also if the code cannot be
 * read. */
bool remote_called(struct session *s, uint64_t ip);
void remote_free(struct remote *m);

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

/* Unwinds the reader's copy into `frames` (REMOTE_FRAMES entries, innermost first, MG_EXACT_IP
 * on an interrupted instruction), without frames inside the guest. *whole: the outermost frame
 * was reached. Returns the number of frames. */
size_t remote_unwind(struct session *s, struct reader *r, uint64_t *frames, bool *whole);
/* Tells whether a call instruction precedes this address; true also if its code cannot be read. */
bool remote_called(struct session *s, uint64_t ip);
void remote_free(struct remote *m);

/* SPDX-License-Identifier: MIT
 * Stacks that the guest could not step through: sent as registers and a copy of the stack, unwound
 * here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader;
struct remote;
struct session;

#define REMOTE_FRAMES 2048u

/* Unwinds the reader's copy into `frames` (REMOTE_FRAMES entries, innermost first, MG_EXACT_IP on
 * an interrupted instruction), without frames inside the guest. *whole: the root was reached.
 * Returns how many. */
size_t remote_unwind(struct session *s, struct reader *r, uint64_t *frames, bool *whole);
/* Is there a call in front of this address? Yes also where that cannot be seen. */
bool remote_called(struct session *s, uint64_t ip);
void remote_free(struct remote *m);

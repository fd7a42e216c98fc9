/* SPDX-License-Identifier: MIT
 * How threads of the recorder wake each other.
 */
#pragma once

#include <stdint.h>

/* Counts the rounds of a thread that sleeps between them, and wakes it. */
struct wake {
	uint32_t rounds; /* atomic: made so far */
	unsigned word;   /* futex: changes when it is to look */
};

/* Something changed (an image ended): look at once. */
void wake_up(struct wake *w);
/* Changes a futex of shared memory, and wakes that many who wait for it. */
void wake_shared(uint32_t *word, uint32_t threads);
/* Rounds that it has made: after two more it has seen all that was there before. */
uint32_t wake_rounds(const struct wake *w);
/* Waits until it has, a tenth of a second at most. */
void wake_settle(struct wake *w);
/* Sets an eventfd, that somebody polls. */
void wake_event(int event);

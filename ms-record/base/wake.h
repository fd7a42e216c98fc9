/* SPDX-License-Identifier: MIT
 * Wakes threads of the recorder and of the target.
 */
#pragma once

#include <stdint.h>

/* Counts the rounds of a thread that works in rounds and sleeps in between, and serves to wake
 * it. */
struct wake {
	uint32_t rounds; /* atomic: rounds so far */
	unsigned word;   /* futex: changes when a round is needed */
};

/* Wakes the thread because something changed, for instance because a process has ended. */
void wake_up(struct wake *w);
/* Changes a futex in shared memory and wakes at most `threads` threads that wait for it. */
void wake_shared(uint32_t *word, uint32_t threads);
/* Returns the number of rounds that the thread has made. Two rounds later, it has seen everything
 * that existed before this call. */
uint32_t wake_rounds(const struct wake *w);
/* Waits until the thread has made two rounds, at most 0.1 s. */
void wake_settle(struct wake *w);
/* Sets an eventfd that a thread polls. */
void wake_event(int event);

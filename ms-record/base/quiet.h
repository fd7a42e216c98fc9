/* SPDX-License-Identifier: MIT
 * The recorder's own threads keep off the processors while threads of a target stand still.
 *
 * A thread has to get a processor once before it stops. If one of ours computes there, it waits for
 * the rest of our turn, which is milliseconds; and all others stand still so much longer.
 */
#pragma once

/* In the recorder, before it starts a helper process: that one can ask for it then. */
void quiet_prepare(void);
/* In the helper: threads of the recorder that compute wait from here on, until quiet_end or for
 * 100 ms. In any other process they do nothing. */
void quiet_begin(void);
void quiet_end(void);
/* A thread of the recorder that is about to compute waits, too. */
void quiet_wait(void);

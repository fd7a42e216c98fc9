/* SPDX-License-Identifier: MIT
 * Keeps the recorder's threads off the processors while threads of a target are stopped.
 *
 * A thread needs a processor once more before it stops. If one of our threads computes there, it
 * has to wait for the rest of our time slice, some milliseconds, during which all other threads
 * are stopped, too.
 */
#pragma once

/* Prepares the recorder for quiet_begin. Call it before starting a helper process. */
void quiet_prepare(void);
/* Called in the helper: makes threads of the recorder that use the processor wait until quiet_end,
 * at most 100 ms. quiet_begin and quiet_end do nothing in other processes. */
void quiet_begin(void);
void quiet_end(void);
/* Waits while quiet_begin is in effect. A thread of the recorder calls it before long
 * computations. */
void quiet_wait(void);
